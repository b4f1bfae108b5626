"""special_functions: a dispatch is bound by exp, division or their like, not by bytes or products.

What it checks: where the vector unit is what a dispatch waits for, which function takes most of
its cycles on this target. It simulates the dispatch with each cheaper form of it, and with the
function in a narrower type where the unit packs that, conversions included.
Why it matters: such a function costs several to dozens of plain operations an element.
Example: a GELU by erf at 32 cycles where tanh takes 24.
What to do: the form that the remark gives; only one that holds for the divisor or exponent in the
IR is proposed. What compilers do by themselves, such as x^2 as a product or an integer divided by
a constant as a multiplication, is counted so from the start. Results round differently: check
accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.ceilings import unit_ps
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.element_type import bits, is_float
from xpu_shark.simulator.nest_cost import times
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units import vector
from xpu_shark.simulator.workload import Work

NAME = "special_functions"
CATEGORY = "xpu-shark.tiling"
MOST_FACTORS = 16  # an exponent beyond that is rare, and rounds ever worse

Form = Callable[[BoundNest, Work], tuple[Work, ...]]


def ceiling(run: KernelRun, target: Target) -> int:
    return unit_ps(run, "vector")


def propose(case: Case) -> Iterator[Proposal]:
    """The cheapest form of the function that takes most cycles."""
    cycles = cycles_by_kind(case.kernel, case.target)
    special = {kind: each for kind, each in cycles.items() if kind in FORMS}
    if not special:
        return
    kind = max(special, key=lambda kind: (special[kind], kind))
    share = special[kind] / sum(cycles.values())
    found = []
    for text, form in (*FORMS[kind], *_narrower(case.target, kind)):
        kernel = replaced(case.kernel, kind, form)
        found.append((sum(cycles_by_kind(kernel, case.target).values()), text, kernel))
    least, text, kernel = min(found, key=lambda each: each[0], default=(0.0, "", case.kernel))
    if text and least < sum(cycles.values()):
        yield Proposal(
            condition=f"{kind}{_by(case.kernel, kind)}, {100 * share:.0f} % of the vector unit's "
            "cycles",
            suggestion=text,
            launches=((kernel, case.tiling(kernel)),),
            confidence="low",
        )


def _by(kernel: BoundKernel, kind: str) -> str:
    """The constant divisor or exponent, where all operations of the kind have the same."""
    found = {work.by for nest in kernel.nests for work in nest.work if work.kind == kind}
    number = found.pop() if len(found) == 1 else None
    return "" if number is None else f" by {number:g}"


def cycles_by_kind(kernel: BoundKernel, target: Target) -> dict[str, float]:
    """Cycles of the vector unit in one launch by kind of operation, as if no lane were masked."""
    cycles: dict[str, float] = {}
    for nest in kernel.nests:
        for work in nest.work:
            if nest.contraction is None and work.kind != "index":
                count = work.count * times(work, nest.extents, nest.points) * nest.trips
                cost = vector.op_cycles(target.vector, work.kind, work.element)
                cycles[work.kind] = cycles.get(work.kind, 0.0) + count * cost
    return cycles


def replaced(kernel: BoundKernel, kind: str, form: Form) -> BoundKernel:
    """The kernel with every operation of `kind` in another form."""

    def work(nest: BoundNest) -> tuple[Work, ...]:
        return tuple(
            item for old in nest.work for item in (form(nest, old) if old.kind == kind else (old,))
        )

    nests = tuple(msgspec.structs.replace(nest, work=work(nest)) for nest in kernel.nests)
    return msgspec.structs.replace(kernel, nests=nests)


def _ops(**counts: int) -> Form:
    """Other operations of the same type, `counts` of each for one."""

    def form(_: BoundNest, old: Work) -> tuple[Work, ...]:
        return tuple(
            msgspec.structs.replace(old, kind=kind, count=old.count * count)
            for kind, count in counts.items()
        )

    return form


def _reciprocal(nest: BoundNest, old: Work) -> tuple[Work, ...]:
    """A division a row and a multiplication an element, if the divisor is the same along the row;
    that of a constant is a constant."""
    inner = len(nest.extents) - 1
    if old.loops is not None or old.by_loops is None or old.by_loops > inner:
        return (old,)
    product = msgspec.structs.replace(old, kind="mul")
    if old.by is not None:
        return (product,)
    return (product, msgspec.structs.replace(old, loops=old.by_loops))


def _known(nest: BoundNest, old: Work) -> tuple[Work, ...]:
    """A multiplication, if the divisor is a constant: so is its reciprocal."""
    return (old,) if old.by is None else (msgspec.structs.replace(old, kind="mul"),)


def _halves(nest: BoundNest, old: Work) -> tuple[Work, ...]:
    """Products for a whole exponent, one more with the square root for a half: as many as squaring
    takes (Knuth, The Art of Computer Programming, 4.6.3), and a division if it is negative."""
    if old.by is None or 2 * old.by != int(2 * old.by) or not 1 <= abs(old.by) <= MOST_FACTORS:
        return (old,)
    whole, half = int(abs(old.by)), abs(old.by) % 1 > 0
    products = whole.bit_length() - 1 + whole.bit_count() - 1 + half
    counts = {"mul": products, "sqrt": int(half), "div": int(old.by < 0)}
    return _ops(**{kind: count for kind, count in counts.items() if count})(nest, old)


def _by_logarithm(nest: BoundNest, old: Work) -> tuple[Work, ...]:
    """For an exponent that is no whole number: as x^y itself it has no value for x < 0."""
    if old.by is None or old.by == int(old.by):
        return (old,)
    return _ops(exp=1, log=1, mul=1)(nest, old)


def _narrower(target: Target, kind: str) -> Iterator[tuple[str, Form]]:
    """The function in the types that the vector unit packs, between two conversions."""
    for element in target.vector.packed:
        if is_float(element):

            def form(_: BoundNest, old: Work, element: str = element) -> tuple[Work, ...]:
                if not is_float(old.element) or bits(old.element) <= bits(element):
                    return (old,)
                convert = msgspec.structs.replace(old, kind="convert", count=2 * old.count)
                return (msgspec.structs.replace(old, element=element), convert)

            yield f"{kind} in {element}", form


# Forms in use elsewhere: GELU's tanh form (Hendrycks and Gimpel, 2016), tanh by exp as
# 1 - 2 / (exp(2x) + 1), x^y as exp(y log x), a quotient by a reciprocal.
FORMS: dict[str, tuple[tuple[str, Form], ...]] = {
    "div": (
        ("a multiplication by the reciprocal", _known),
        ("the reciprocal once a row, then multiplications", _reciprocal),
    ),
    "erf": (("tanh(x (a + b x^2)), as in GELU's tanh form", _ops(tanh=1, mul=2, madd=1)),),
    "tanh": (("1 - 2 / (exp(2x) + 1)", _ops(exp=1, div=1, add=2, mul=1)),),
    "pow": (
        ("products of x, and of its square root where the exponent is a half", _halves),
        ("exp(y log x)", _by_logarithm),
    ),
    "sqrt": (("x rsqrt(x), but for x = 0,", _ops(rsqrt=1, mul=1)),),
    "rem": (),
    "int_div": (),  # by a constant the bridge counts what compilers make of it
    "exp": (),
    "log": (),
    "rsqrt": (),
    "sin": (),
    "cos": (),
}

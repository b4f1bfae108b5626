"""What one execution of a body costs: scalar op name to the kinds of work it stands for.

The vocabulary, shared with target files (`vector.cycles_per_op`): madd, add, mul, div, rem,
int_div, max, compare, select, logic, shift, convert, round, exp, log, sqrt, rsqrt, tanh, erf,
sin, pow, index. `index` is address arithmetic. Ops that only name a value cost nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping

from iree.compiler import ir

from xpu_shark.passes.bridge.by_constant import constant, simpler
from xpu_shark.simulator.workload import Work

_ARITH = {
    "add": "addf addi subf subi negf addui_extended",
    "mul": "mulf muli mulsi_extended mului_extended",
    "div": "divf",
    "rem": "remf",
    "int_div": "divsi divui ceildivsi ceildivui floordivsi remsi remui",
    "max": "maximumf minimumf maxnumf minnumf maxsi maxui minsi minui",
    "compare": "cmpf cmpi",
    "select": "select",
    "logic": "andi ori xori",
    "shift": "shli shrsi shrui",
    "convert": "extf extsi extui truncf trunci sitofp uitofp fptosi fptoui "
    "scaling_extf scaling_truncf convertf",
    "index": "index_cast index_castui",
}
_MATH = {
    "madd": "fma",
    "add": "absf absi",
    "compare": "isnan isinf isfinite isnormal",
    "logic": "copysign ctlz cttz ctpop",
    "round": "floor ceil round roundeven trunc",
    "exp": "exp exp2 expm1 sinh cosh",
    "log": "log log2 log10 log1p acosh asinh atanh",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "tanh": "tanh",
    "erf": "erf erfc",
    "sin": "sin cos tan asin acos atan atan2 sincos",
    "pow": "powf fpowi ipowi cbrt",
}
# On the parts of a complex number, as the schoolbook formulas count them.
_COMPLEX = {
    "add": {"add": 2},
    "sub": {"add": 2},
    "neg": {"add": 2},
    "conj": {"add": 1},
    "mul": {"mul": 4, "add": 2},
    "div": {"mul": 6, "add": 3, "div": 2},
    "abs": {"mul": 2, "add": 1, "sqrt": 1},
    "angle": {"sin": 1},
    "exp": {"exp": 1, "sin": 2, "mul": 2},
    "expm1": {"exp": 1, "sin": 2, "mul": 2, "add": 1},
    "log": {"mul": 2, "add": 1, "sqrt": 1, "log": 1, "sin": 1},
    "log1p": {"mul": 2, "add": 2, "sqrt": 1, "log": 1, "sin": 1},
    "sqrt": {"mul": 2, "add": 3, "sqrt": 3},
    "rsqrt": {"mul": 2, "add": 3, "sqrt": 3, "div": 2},
    "sin": {"exp": 2, "sin": 2, "mul": 4, "add": 2},
    "cos": {"exp": 2, "sin": 2, "mul": 4, "add": 2},
    "tanh": {"exp": 2, "sin": 2, "mul": 4, "add": 3, "div": 2},
    "pow": {"exp": 1, "log": 1, "sin": 3, "mul": 6, "add": 3, "sqrt": 1},
    "eq": {"compare": 2, "logic": 1},
    "neq": {"compare": 2, "logic": 1},
}
KINDS: dict[str, dict[str, int]] = {
    **{f"arith.{op}": {kind: 1} for kind, ops in _ARITH.items() for op in ops.split()},
    **{f"math.{op}": {kind: 1} for kind, ops in _MATH.items() for op in ops.split()},
    **{f"complex.{op}": kinds for op, kinds in _COMPLEX.items()},
    **{f"affine.{op}": {"index": 1} for op in ("apply", "min", "max")},
    "affine.linearize_index": {"index": 1},
    "affine.delinearize_index": {"index": 1},
    "math.clampf": {"max": 2},
}
FREE = frozenset(
    (
        *("arith.constant", "arith.bitcast", "math.constant"),
        *("linalg.index", "linalg.yield", "iree_linalg_ext.index", "iree_linalg_ext.yield"),
        *("complex.create", "complex.re", "complex.im", "complex.constant", "complex.bitcast"),
        *("tensor.extract", "memref.load", "memref.store", "tensor.dim", "memref.dim"),
        *("scf.if", "scf.yield", "cf.assert", "util.assume.int", "tensor.yield"),
        *("iree_codegen.index_hint", "ub.poison", "builtin.unrealized_conversion_cast"),
    )
)
_BY = frozenset(("arith.divf", "math.powf"))  # whose second operand advice has to know
_CONSTANTS = frozenset(("arith.constant", "math.constant", "complex.constant"))
_VARYING = frozenset(("linalg.index", "iree_linalg_ext.index", "tensor.extract", "memref.load"))
_WIDENING = frozenset(("arith.extf", "arith.extsi", "arith.extui"))
_FLOAT = re.compile(r"(b|t)?f\d+\w*")
_CAST = _WIDENING | {"arith.truncf", "arith.trunci"}
_CONTRACTING = ("arith.addf", "arith.subf")
_SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli", "complex.add": "complex.mul"}


def body_ops(block: ir.Block) -> Iterator[ir.Operation]:
    """The ops of `block`, nested regions included, in order."""
    for view in block.operations:
        op = view.operation
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from body_ops(inner)


def count_work(
    block: ir.Block,
    fused: Container[ir.Value] = (),
    reach: Mapping[ir.Value, int] | None = None,
    only: Container[ir.Operation] | None = None,
) -> tuple[Work, ...]:
    """Work of one execution of `block`, kinds in order of appearance.

    `fused` holds the results of multiplications that `accumulation` found to be half of a
    multiply-add; a float product that only one sum takes is half of another, as code generators
    contract them. `reach` says for each argument of the block how many leading loops it varies
    with, counting up to the innermost of them; the work of ops that no loop inside moves is told
    apart. With `only`, other ops count nothing. Raises `KeyError` with the op's name where there
    is no kind for it.
    """
    counts: Counter[tuple[str, str, int | None, float | None, int | None]] = Counter()
    inside = None if reach is None else dict(reach)
    contracted: set[ir.Value] = set()
    for op in body_ops(block):
        product = _contracted(op, fused)
        contracted |= {product} if product is not None else set()
    for op in body_ops(block):
        loops = None if inside is None else _depth(op, inside)
        if op.name in FREE or (op.name in _SUMS.values() and op.results[0] in fused):
            continue
        if only is not None and op not in only:
            continue
        if op.name == "arith.mulf" and op.results[0] in contracted:
            continue
        element = _element(op)
        kinds = {"index": 1} if element == "index" else simpler(op)
        by: tuple[float | None, int | None] = (None, None)
        if kinds is None:
            kinds = KINDS[op.name]
            by = _by(op, inside or {}) if op.name in _BY else by
        if op.name in _SUMS and any(_strip(value) in fused for value in op.operands):
            kinds = {"madd": 4 if op.name == "complex.add" else 1}
        elif op.name in _CONTRACTING and any(value in contracted for value in op.operands):
            kinds = {"madd": 1}
        for kind, count in kinds.items():
            counts[kind, element, loops, *by] += count
    return tuple(
        Work(kind=kind, element=element, count=count, loops=loops, by=by, by_loops=by_loops)
        for (kind, element, loops, by, by_loops), count in counts.items()
    )


def _by(op: ir.Operation, reach: Mapping[ir.Value, int]) -> tuple[float | None, int | None]:
    """The divisor or exponent if it is a constant, and how many leading loops it varies with."""
    value = op.operands[1]
    number = constant(value)
    return None if number is None else float(number), _reach(value, reach)


def _contracted(op: ir.Operation, fused: Container[ir.Value]) -> ir.Value | None:
    """The product that sum `op` takes into a multiply-add, if it is the only one to use it."""
    if op.name not in _CONTRACTING or any(_strip(value) in fused for value in op.operands):
        return None
    for value in op.operands:
        if _producer(value) == "arith.mulf" and value not in fused and len(list(value.uses)) == 1:
            return value
    return None


def scalar_work(block: ir.Block) -> tuple[Work, ...]:
    """Work of the float ops that stand in `block` itself and make one number.

    Integers are left out: in the body of a loop they steer it.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for op in (view.operation for view in block.operations):
        element = _element(op) if op.name in KINDS else ""
        if _FLOAT.fullmatch(element):
            counts.update({(kind, element): count for kind, count in KINDS[op.name].items()})
    return tuple(Work(kind=k, element=e, count=count) for (k, e), count in counts.items())


def _depth(op: ir.Operation, reach: dict[ir.Value, int]) -> int | None:
    """Leading loops that `op` varies with, None for all; its results are added to `reach`."""
    if op.name in _VARYING or list(op.regions):
        return None
    depths = [_reach(value, reach) for value in op.operands]
    known = [depth for depth in depths if depth is not None]
    if len(known) < len(depths):
        return None
    depth = max(known, default=0)
    reach.update((result, depth) for result in op.results)
    return depth


def _reach(value: ir.Value, reach: Mapping[ir.Value, int]) -> int | None:
    """What is computed outside the body does not vary; what is inside and not known does."""
    if value in reach:
        return reach[value]
    if isinstance(value, ir.BlockArgument):
        return None
    return 0 if value.owner.operation.name in _CONSTANTS else None


def accumulation(block: ir.Block, result: int, accumulator: ir.BlockArgument) -> ir.Value | None:
    """The product that result number `result` adds to `accumulator`, or None."""
    *_, last = block.operations
    total = _strip(last.operation.operands[result])
    product_name = _SUMS.get(_producer(total))
    if product_name is None:
        return None
    for value, other in _both_ways(total.owner.operation.operands):
        product = _strip(value)
        if _strip(other) == accumulator and _producer(product) == product_name:
            return product
    return None


def widened(value: ir.Value) -> ir.Value:
    """`value` before any widening, which a matrix unit does by itself."""
    while _producer(value) in _WIDENING:
        value = value.owner.operation.operands[0]
    return value


def _element(op: ir.Operation) -> str:
    """Type that the op works in: its result's, or its operands' for a comparison."""
    value = op.operands[0] if "compare" in KINDS.get(op.name, ()) else op.results[0]
    text = str(value.type)
    return text[len("complex<") : -1] if text.startswith("complex<") else text


def _producer(value: ir.Value) -> str:
    return "" if isinstance(value, ir.BlockArgument) else str(value.owner.operation.name)


def _strip(value: ir.Value) -> ir.Value:
    while _producer(value) in _CAST:
        value = value.owner.operation.operands[0]
    return value


def _both_ways(operands: ir.OpOperandList) -> tuple[tuple[ir.Value, ir.Value], ...]:
    first, second = operands
    return (first, second), (second, first)

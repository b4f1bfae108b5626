"""standalone_conversion: a dispatch only converts what another one reads.

What it checks: whether a dispatch does nothing but convert an operand, with the scale and the zero
point of a dequantisation at most, and hands the result to others through memory. It simulates the
conversion inside each reader, as vector work of its own ahead of the reader's, on the bytes as
they are stored; and, where a wide operand comes from outside, the readers with it stored narrow,
or as they use it where they would convert it at every multiply-add.
Why it matters: narrow bytes are loaded, wide ones stored and loaded again. That takes longer than
a product with few rows, and the bytes that narrow storage saves are moved after all.
Example: 4-bit weights that are widened to 64 MiB of f32 ahead of a product with one row.
What to do: give the product the operand as it is stored, by an op with the conversion in its body.
`--iree-opt-level=O2` fuses some: `--xpu-effort=high` tries it, and the rule `fusion` takes the
place of this one where it does. What nobody fuses (a barrier or a region between them) convert
once, outside of what runs each time. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from xpu_shark.passes.advise.dataflow import Change, Dataflow, Place
from xpu_shark.passes.advise.on_the_fly import on_the_fly
from xpu_shark.passes.advise.rules.standalone_copy import only_moves
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.element_type import bits, is_float
from xpu_shark.simulator.nest_cost import matrix_element
from xpu_shark.simulator.target import Target

NAME = "standalone_conversion"
CATEGORY = "xpu-shark.precision"
CONVERTS = "convert"
SCALES = frozenset(("add", "mul", "madd"))  # by the scale and the zero point of a dequantisation
MOST_READERS = 4  # what is done again in each of more is no small thing
replace = msgspec.structs.replace


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """Each conversion in its readers, and its operand stored as they use it."""
    for number, step in enumerate(flow.steps):
        if step.kernel is None or (types := converted(step.kernel)) is None:
            continue
        (write,) = step.kernel.nests[0].writes
        place = (number, write.tensor)
        readers = _readers(flow, place)
        if not readers:
            continue
        stored, used = types
        steps = (number, *readers)
        names = " and ".join(_names(flow, steps[1:]))
        condition = f"a dispatch that converts {stored} to {used} for others to read"
        fused = [on_the_fly(step.kernel, kernel, passed) for kernel, passed in readers.values()]
        if all(fused):
            suggestion = (
                f"converted as it is loaded, in {names} (an op that takes {stored} and converts it "
                "in its body, or --iree-opt-level=O2 where that fuses the two)"
            )
            kernels = tuple(kernel for kernel in fused if kernel)
            yield Change(steps, kernels, condition, suggestion)
        narrows = is_float(stored) and is_float(used) and bits(used) < bits(stored)
        again = any(_on_vector(kernel, target) for kernel, _ in readers.values())
        if (narrows or again) and _from_outside(flow, number):
            suggestion = f"stored as {used}, the type in which {names} read{_s(len(readers))} it"
            kernels = tuple(_loading(kernel, passed) for kernel, passed in readers.values())
            yield Change(steps, kernels, condition, suggestion)


def _readers(flow: Dataflow, place: Place) -> dict[int, tuple[BoundKernel, list[int]]]:
    """The kernel of each step that reads a result, and which of its tensors that is. None where
    somebody else sees it, where a copy does, or where another step has to run in between."""
    found: dict[int, tuple[BoundKernel, list[int]]] = {}
    for step, tensor in flow.readers.get(place, ()):
        kernel = flow.steps[step].kernel
        if kernel is None or only_moves(kernel) or not flow.convex((place[0], step)):
            return {}
        found.setdefault(step, (kernel, []))[1].append(tensor)
    return found if flow.private(place) and len(found) <= MOST_READERS else {}


def converted(kernel: BoundKernel) -> tuple[str, str] | None:
    """The types of the largest operand and of the result of a kernel that only converts it; None
    for any other kernel."""
    if len(kernel.nests) != 1:
        return None
    nest = kernel.nests[0]
    kinds = {work.kind for work in nest.work}
    picks = any(index.indirect for each in (*nest.reads, *nest.writes) for index in each.map)
    if CONVERTS not in kinds or not all(nest.parallel) or nest.contraction is not None or picks:
        return None
    if len(nest.writes) != 1 or not nest.reads:
        return None
    result = kernel.tensors[nest.writes[0].tensor]
    main = max((kernel.tensors[each.tensor] for each in nest.reads), key=lambda t: prod(t.shape))
    widens = bits(main.element) < bits(result.element)
    if not kinds <= ({CONVERTS, "index"} | (SCALES if widens else set())):
        return None
    return None if main.element == result.element else (main.element, result.element)


def _s(readers: int) -> str:
    return "s" if readers == 1 else ""


def _names(flow: Dataflow, steps: Sequence[int]) -> list[str]:
    found = [flow.steps[step].dispatch for step in steps]
    return list(dict.fromkeys(dispatch.name for dispatch in found if dispatch))


def _on_vector(kernel: BoundKernel, target: Target) -> bool:
    """Whether it has a product that no matrix unit takes: that converts at every multiply-add."""
    products = [nest.contraction for nest in kernel.nests if nest.contraction is not None]
    return any(matrix_element(target, each) is None for each in products)


def _from_outside(flow: Dataflow, number: int) -> bool:
    """Whether everything that a launch reads was there before the function began."""
    versions = [each.version for each in flow.readings if each.place[0] == number]
    return bool(versions) and max(versions) < 0 and not flow.needs[number]


def _loading(kernel: BoundKernel, tensors: Sequence[int]) -> BoundKernel:
    """The kernel with `tensors` in main memory, from where it has to load them."""
    kinds = (
        replace(kind, resident=kind.resident and number not in tensors)
        for number, kind in enumerate(kernel.tensors)
    )
    return replace(kernel, tensors=tuple(kinds))

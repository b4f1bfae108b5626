"""The code of one nest in one tile: its instructions, and who hands over to whom."""

from __future__ import annotations

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.emit import Bodies, Emitter
from xpu_shark.simulator.footprint import accesses, region
from xpu_shark.simulator.gang import Variant
from xpu_shark.simulator.nest_cost import ops, units
from xpu_shark.simulator.program import Instruction
from xpu_shark.simulator.target import PS_PER_S, Target

COPIER = "vector"  # the stream that copies inside the memory beside the core
Path = tuple[object, ...]


def emit(
    emitter: Emitter,
    kernel: BoundKernel,
    target: Target,
    nest: BoundNest,
    variants: tuple[Variant, ...],
    path: Path,
    *,
    copies: bool,
) -> Bodies:
    """One instruction a unit, as long as the slowest of the variants; a nest that only `copies`
    resident data is one on the memory that holds it."""
    if copies:
        return {COPIER: [_copy(emitter, kernel, target, nest, variants)]}
    bodies: Bodies = {}
    costs = [ops(kernel, nest, target, tile(nest, variant)) for variant in variants]
    names = units(nest, target)
    for position, unit in enumerate(names):
        service = max(cost[position].cost.service_ps for cost in costs)
        latency = max(cost[position].cost.latency_ps for cost in costs)
        instruction = Instruction(emitter.resource(unit), service)
        if position:
            _hand_over(emitter, bodies, names[position - 1], unit, path)
        bodies.setdefault(unit, []).append(instruction)
        if position:
            emitter.post(bodies, unit, emitter.channel((*path, "free"), "buffer", 2))
        if position + 1 < len(names):
            emitter.post(bodies, unit, emitter.channel((*path, "data"), unit), latency)
    return bodies


def tile(nest: BoundNest, variant: Variant) -> list[int]:
    """Extents of the nest's loop dims in one tile."""
    return [variant.extents[axis] for axis in nest.axes]


def _hand_over(emitter: Emitter, bodies: Bodies, source: str, unit: str, path: Path) -> None:
    """`unit` takes what `source` prepared; `source` waits for room first."""
    start: Bodies = {}
    emitter.wait(start, source, emitter.channel((*path, "free"), "buffer", 2))
    bodies[source][:0] = start[source]
    emitter.wait(bodies, unit, emitter.channel((*path, "data"), source))


def _copy(
    emitter: Emitter,
    kernel: BoundKernel,
    target: Target,
    nest: BoundNest,
    variants: tuple[Variant, ...],
) -> Instruction:
    level = target.memory[-1]
    size = max(
        sum(
            region(kernel.tensors[access.tensor], access, tile(nest, variant)).bytes
            for access, _ in accesses(nest)
        )
        for variant in variants
    )
    service = int(-(-size * PS_PER_S // level.bytes_per_s))
    return Instruction(emitter.resource(level.name), service, bytes=size)

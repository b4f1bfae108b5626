"""Vector work on the results of a systolic array while the array goes on.

The array hands over its results a row at a time, and one instruction stream feeds both units, so
compilers let elementwise work that follows a product run beside the rest of that product. Here
they advance together, a block of results as large as the array at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.emit import Bodies, Emitter, extend, loop
from xpu_shark.simulator.head_layout import LANES, moves_ps
from xpu_shark.simulator.nest_cost import Op, matrix_element, ops, units
from xpu_shark.simulator.program import Instruction
from xpu_shark.simulator.target import Systolic, Target
from xpu_shark.simulator.units.cost import Cost, ceildiv


def takes_results(
    kernel: BoundKernel,
    target: Target,
    numbers: tuple[int, ...],
    number: int,
    *,
    fused: bool = False,
) -> bool:
    """Whether nest `number` works on what nests `numbers`, a product and others of its kind,
    compute, as it leaves the array: elementwise work, or in a `fused` attention also the softmax
    of its rows and the product behind it. That they share every axis is for the caller to see to.
    """
    product, nest = kernel.nests[numbers[0]], kernel.nests[number]
    if not isinstance(target.matrix, Systolic) or not units(nest, target):
        return False
    if matrix_element(target, product.contraction) is None or nest.trips != product.trips:
        return False
    if not (kernel.online and fused) and (nest.contraction is not None or not all(nest.parallel)):
        return False
    written = {access.tensor for n in numbers for access in kernel.nests[n].writes}
    return any(access.tensor in written for access in nest.reads)


def prepares(nest: BoundNest, target: Target) -> bool:
    """Whether a product of a systolic array has vector work on its operands, which goes on beside
    the array."""
    return isinstance(target.matrix, Systolic) and units(nest, target) == ("vector", "matrix")


def emit(
    emitter: Emitter,
    kernel: BoundKernel,
    target: Target,
    tiles: Mapping[int, Sequence[int]],
    path: tuple[object, ...],
    *,
    serial: bool = False,
) -> Bodies:
    """The code of one tile: `tiles[n]` are the extents of nest n, the product's first. A product
    behind vector work has a loop of its own: the array has taken all blocks of the one before.
    Tiles of a `serial` attention wait for the last result of the one before."""
    numbers = tuple(tiles)
    path = (*path, "flow", numbers[0])
    nests = [kernel.nests[n] for n in numbers]
    blocks = _blocks(nests, target, tiles[numbers[0]])
    work = [op for n in numbers for op in ops(kernel, kernel.nests[n], target, tiles[n])]
    fused = any(nest.contraction is not None for nest in nests[1:])
    if fused:
        work = _with_moves(work, kernel, target, tiles)
    code: Bodies = {}
    turn = emitter.channel((*path, "turn"), "block", 1) if fused and serial else -1
    if turn >= 0:
        emitter.wait(code, work[0].unit, turn)
    bodies: Bodies = {}
    for place, op in enumerate(work):
        follows = place > 0 and work[place - 1].unit != op.unit
        leads = place + 1 < len(work) and work[place + 1].unit != op.unit
        if follows and op.unit in bodies:
            extend(code, loop(bodies, blocks, emitter.tag((*path, place))))
            bodies = {}
        part: Bodies = {}
        service = ceildiv(op.cost.service_ps, blocks)
        if leads:  # two blocks wait to be taken; what is still in the array has its place there
            depth = 2 + ceildiv(op.cost.latency_ps, max(service, 1))
            depth = max(depth, blocks) if work[place + 1].unit in bodies else depth
            room = emitter.channel((*path, place + 1, "free"), "buffer", depth)
            emitter.wait(part, op.unit, room)
        if follows:
            data = emitter.channel((*path, place, "data"), work[place - 1].unit)
            emitter.wait(part, op.unit, data)
        instruction = Instruction(emitter.resource(op.unit), service)
        part.setdefault(op.unit, []).append(instruction)
        if follows:
            room = emitter.channel((*path, place, "free"), "buffer", 2)
            emitter.post(part, op.unit, room)
        if leads:
            data = emitter.channel((*path, place + 1, "data"), op.unit)
            emitter.post(part, op.unit, data, op.cost.latency_ps)
        extend(bodies, part)
    extend(code, loop(bodies, blocks, emitter.tag(path)))
    if turn >= 0:
        emitter.post(code, work[-1].unit, turn, work[-1].cost.latency_ps)
    return code


def _blocks(nests: Sequence[BoundNest], target: Target, tile: Sequence[int]) -> int:
    """Of results that are handed over at a time. A softmax takes whole rows, no exponential before
    the row's maximum: as many as a register has lanes for one number of each."""
    dims, unit = nests[0].contraction, target.matrix
    assert dims is not None
    assert isinstance(unit, Systolic)
    batch, rows, cols = (prod(tile[dim] for dim in group) for group in (dims.batch, dims.m, dims.n))
    if any(nest.contraction is None and not all(nest.parallel) for nest in nests):
        return max(1, batch * ceildiv(rows, LANES))
    return max(1, batch * ceildiv(rows, unit.rows) * ceildiv(cols, unit.cols))


def _with_moves(
    work: Sequence[Op],
    kernel: BoundKernel,
    target: Target,
    tiles: Mapping[int, Sequence[int]],
) -> list[Op]:
    """`work` of a fused attention, whose products wait while their operands are moved."""
    moves = [
        moves_ps(kernel, kernel.nests[number], target, tile)
        for number, tile in tiles.items()
        if kernel.nests[number].contraction is not None
    ]
    result = []
    for op in work:
        extra = moves.pop(0) if op.unit == "matrix" else 0
        result.append(Op(op.unit, Cost(op.cost.service_ps + extra, op.cost.latency_ps)))
    return result

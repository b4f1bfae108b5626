"""Targets with one constant changed: relaxed to see what it costs, moved to see what holds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.nest_cost import units
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import time_ps
from xpu_shark.simulator.target import Core, Memory, Mma, Systolic, Target, Vector
from xpu_shark.simulator.units.launch import launch_ps

FAST = 1000.0  # a resource this much faster no longer limits anything


def relaxed(target: Target) -> Iterator[tuple[str, Target]]:
    """(what is relaxed, the target with that one resource practically free)."""
    for place, level in enumerate(target.memory[:-1]):
        yield f"{level.name} bandwidth", _memory(target, place, faster(level, FAST))
        yield f"{level.name} latency", _memory(target, place, replace(level, latency_ns=0.0))
    if target.matrix is not None:
        yield "matrix unit", replace(target, matrix=matrix(target.matrix, FAST))
    yield "vector unit", _compute(target, FAST)
    yield "launch", replace(target, launch_ns=0.0)
    yield "transfer set-up", replace(target, dma=replace(target.dma, setup_ns=0.0))


def time_after(launch: tuple[BoundKernel, Tiling], base: tuple[Target, int], target: Target) -> int:
    """Picoseconds of one launch on `target`, given its time on `base`, both by `relaxed`, `moved`
    or the same change of those.

    Simulated only where what differs matters: a launch comes before everything else and shifts
    the whole run, and a unit that the kernel does not use leaves it as it was.
    """
    (kernel, tiling), (old, known_ps) = launch, base
    if old.core is not None or target.memory != old.memory or target.dma != old.dma:
        return time_ps(kernel, tiling, target)
    used = {unit for nest in kernel.nests for unit in units(nest, old)}
    if target.matrix is not old.matrix and "matrix" in used:
        return time_ps(kernel, tiling, target)
    if target.vector is not old.vector and "vector" in used:
        return time_ps(kernel, tiling, target)
    if kernel.running:  # no launch of its own
        return known_ps
    return known_ps + launch_ps(target) - launch_ps(old)


def moved(target: Target) -> Iterator[Target]:
    """The target with each uncertain constant at either end of its stated range."""
    return (each for _, each in named_moves(target))


def named_moves(target: Target) -> Iterator[tuple[str, Target]]:
    """(what is uncertain, the target with it at one end of its stated range)."""
    spread = target.uncertainty
    for sign in (-1.0, 1.0):
        rate, delay = 1 + sign * spread.bandwidth, 1 + sign * spread.latency
        levels = [faster(level, rate) for level in target.memory]
        yield "memory bandwidth", replace(target, memory=tuple(levels))
        slow = [replace(level, latency_ns=level.latency_ns * delay) for level in target.memory]
        yield "memory latency", replace(target, memory=tuple(slow))
        launch_ns = target.launch_ns * (1 + sign * spread.launch)
        yield "launch cost", replace(target, launch_ns=launch_ns)
        compute = 1 + sign * spread.compute
        unit = None if target.matrix is None else matrix(target.matrix, compute)
        yield "matrix rate", replace(target, matrix=unit)
        yield "vector rate", _compute(target, compute)


def faster(level: Memory, factor: float) -> Memory:
    """The level with all its rates scaled."""

    def scaled(rate: float | None) -> float | None:
        return None if rate is None else rate * factor

    return replace(
        level,
        bytes_per_s=level.bytes_per_s * factor,
        peak_bytes_per_s=scaled(level.peak_bytes_per_s),
        core_bytes_per_s=scaled(level.core_bytes_per_s),
        line_ns=level.line_ns / factor,
        few_line_ns=None if level.few_line_ns is None else level.few_line_ns / factor,
        set_line_ns=None if level.set_line_ns is None else level.set_line_ns / factor,
    )


def matrix(unit: Systolic | Mma, factor: float) -> Systolic | Mma:
    """The unit with every type's rate scaled."""
    if isinstance(unit, Systolic):
        cycles = {name: cost / factor for name, cost in unit.cycles_per_row.items()}
        weights = unit.weight_cycles_per_row / factor
        return replace(unit, cycles_per_row=cycles, weight_cycles_per_row=weights)
    rates = {name: rate * factor for name, rate in unit.macs_per_cycle.items()}
    return replace(unit, macs_per_cycle=rates)


def vector(unit: Vector, factor: float) -> Vector:
    """The unit with every operation's rate scaled."""
    cycles = {kind: cost / factor for kind, cost in unit.cycles_per_op.items()}
    return replace(unit, cycles_per_op=cycles)


def core(unit: Core, factor: float) -> Core:
    """The core with every cost of its instructions scaled."""
    costs: dict[str, object] = {}
    for name in unit.__struct_fields__:
        if name.endswith("_cycles"):
            value = getattr(unit, name)
            if isinstance(value, dict):
                costs[name] = {key: cost / factor for key, cost in value.items()}
            elif value is not None:
                costs[name] = value / factor
    return msgspec.structs.replace(unit, **costs)


def _compute(target: Target, factor: float) -> Target:
    """The target with its vector unit, or the core that has it, so much faster."""
    cpu = None if target.core is None else core(target.core, factor)
    return replace(target, vector=vector(target.vector, factor), core=cpu)


def _memory(target: Target, place: int, level: Memory) -> Target:
    levels = (*target.memory[:place], level, *target.memory[place + 1 :])
    return replace(target, memory=levels)


replace = msgspec.structs.replace

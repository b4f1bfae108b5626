"""Least times: what each resource alone would need for the kernel's work, whatever the schedule.

The bound is the largest of them, the serial time their sum (speed-of-light analysis, and the
[bound, serial] interval: where a time falls in it says how well work overlaps).
"""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.nest_cost import FREE, matrix_element, times
from xpu_shark.simulator.peaks import bytes_per_s
from xpu_shark.simulator.target import PS_PER_S, Target
from xpu_shark.simulator.units import matrix, vector
from xpu_shark.simulator.units.launch import launch_ps
from xpu_shark.simulator.work import compulsory_bytes, resident_bytes


class Bounds(msgspec.Struct, frozen=True):
    """Picoseconds by resource: main memory, "matrix", "vector", "launch"; and the scratchpad for a
    launch that only moves data that is there."""

    least_ps: dict[str, int]

    @property
    def bound_ps(self) -> int:
        return max(self.least_ps.values())

    @property
    def serial_ps(self) -> int:
        return sum(self.least_ps.values())


def attainable_ps(least: Bounds, target: Target) -> int:
    """The bound at the rates that the target sustains, where these are known to be below the peaks:
    main memory's and the clock. No schedule does the same work in less."""
    if target.core is not None:
        return least.bound_ps  # from measured rates
    outer = target.memory[0]
    slower = {outer.name: (outer.peak_bytes_per_s or outer.bytes_per_s) / outer.bytes_per_s}
    clock = target.clock_hz / (target.sustained_clock_hz or target.clock_hz)
    slower |= {"matrix": clock, "vector": clock}
    return max(int(ps * slower.get(name, 1.0)) for name, ps in least.least_ps.items())


def bounds(kernel: BoundKernel, target: Target) -> Bounds:
    """Compulsory bytes at the main memory's rate, useful operations at all cores' peaks. On a CPU
    the nearest caches may have all operands."""
    outer = target.memory[0]
    least = {
        outer.name: 0,
        "matrix": 0,
        "vector": 0,
        "launch": launch_ps(target, 0 if kernel.running else 1),
    }
    rate = outer.peak_bytes_per_s or outer.bytes_per_s
    least[outer.name] = int(compulsory_bytes(kernel) * PS_PER_S / rate)
    cycles = {"matrix": 0.0, "vector": 0.0}
    if target.core is not None:
        from xpu_shark.simulator import core_cost  # of CPUs only

        spread = target.uncertainty  # measured rates: the machine may be that much faster
        nearest = bytes_per_s(target, target.memory[-1].name) * (1 + spread.bandwidth)
        least[outer.name] = int(compulsory_bytes(kernel) * PS_PER_S / nearest)
        needed = sum(core_cost.least_cycles(nest, target) * nest.trips for nest in kernel.nests)
        quick = target.cores * target.clock_hz * (1 + spread.compute)
        least["vector"] = int(needed * PS_PER_S / quick)
        least["launch"] = int(least["launch"] / (1 + spread.launch))
        return Bounds(least)
    for nest in kernel.nests:
        element = matrix_element(target, nest.contraction)
        for work in nest.work:
            points = times(work, nest.extents, nest.points) * nest.trips
            if element is not None and work.kind == "madd":
                rate = matrix.macs_per_cycle(target, element)
                cycles["matrix"] += points * work.count / rate
            elif element is None and work.kind not in FREE:
                cost = vector.op_cycles(target.vector, work.kind, work.element)
                cycles["vector"] += points * work.count * cost / target.vector.lanes
    for unit, needed in cycles.items():
        least[unit] = int(needed / target.cores * PS_PER_S / target.clock_hz)
    if not any(cycles.values()) and kernel.held:  # it only moves what is beside the core
        inner = target.memory[-1]
        least[inner.name] = int(resident_bytes(kernel) * PS_PER_S / inner.bytes_per_s)
    return Bounds(least)

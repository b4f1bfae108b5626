"""Lowers a bound kernel to a program for a CPU: workgroups in waves, one a core.

The loads of a core are its own instructions and run ahead of its arithmetic, so the streams of a
wave run side by side and meet at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import msgspec

from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.cache_traffic import Traffic, traffic
from xpu_shark.simulator.core_cost import copies, cycles
from xpu_shark.simulator.emit import Bodies, Emitter, extend, loop
from xpu_shark.simulator.gang import Variant, Wave, pack, waves
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.program import Instruction, Program
from xpu_shark.simulator.reservations import turns
from xpu_shark.simulator.target import PS_PER_S, Memory, Target
from xpu_shark.simulator.units.cost import picoseconds
from xpu_shark.simulator.units.launch import launch_ps


class Part(msgspec.Struct, frozen=True):
    """What one level does in a wave: `foreseen_ps` of transfers beside the cores, and all the
    `bytes` that it delivers."""

    level: Memory
    foreseen_ps: int
    bytes: int


def lower(kernel: BoundKernel, tiling: Tiling, target: Target) -> Program:
    """The program of one launch; `target.core` must be there."""
    emitter = Emitter()
    work = _Work(kernel, target, traffic(kernel, tiling, target))
    bodies: Bodies = {}
    for number, wave in enumerate(_waves(work, tiling)):
        body = _wave(work, emitter, wave.variants)
        extend(bodies, loop(body, wave.count, emitter.tag(("wave", number))))
    posts, starts = [], Bodies()
    for stream in bodies:
        channel = emitter.channel(("launch", stream), "launch")
        posts.append((channel, 1))
        emitter.wait(starts, stream, channel)
    launch = Instruction(emitter.resource("launch"), launch_ps(target), posts=tuple(posts))
    return emitter.program({"launch": [launch], **bodies}, starts)


def estimate(kernel: BoundKernel, tiling: Tiling, target: Target) -> tuple[int, int]:
    """(time in ps, bytes of main memory) of that program, in closed form."""
    work = _Work(kernel, target, traffic(kernel, tiling, target))
    time = launch_ps(target) + sum(
        wave.count * work.wave_ps(wave.variants) for wave in _waves(work, tiling)
    )
    name = target.memory[0].name
    return int(time), work.flow.bytes.get(name, 0) + work.flow.held_bytes.get(name, 0)


class _Work:
    """What a launch costs, shared out over its workgroups by the points that they execute."""

    def __init__(self, kernel: BoundKernel, target: Target, flow: Traffic) -> None:
        self.kernel, self.target, self.flow = kernel, target, flow
        self._total = max(1, sum(prod(nest.extents) * nest.trips for nest in kernel.nests))

    def core_ps(self, variant: Variant) -> int:
        """One workgroup on one core: in each nest its arithmetic, or the lines that come one by
        one, as a core runs ahead of what it waits for."""
        share, busy = self._share(variant), 0
        for number, nest in enumerate(self.kernel.nests):
            extents = [variant.extents[axis] for axis in nest.axes]
            times = nest.trips * copies(self.kernel, number, extents)
            each = self.target.ps(cycles(self.kernel, nest, self.target, extents) * times)
            waits = sum(
                max(0.0, wait.ps * share - each * wait.share) for wait in self.flow.waits[number]
            )
            busy += each - int(-waits // 1)
        return busy

    def parts(self, variants: tuple[Variant, ...]) -> Iterator[Part]:
        """What the levels behind the nearest cache do in a wave."""
        largest = max(map(self._share, variants))
        spread = sum(self._share(variant) * variant.cores for variant in variants)
        for level in self.target.memory[:-1]:
            foreseen = self.flow.bytes.get(level.name, 0)
            size = foreseen + self.flow.held_bytes.get(level.name, 0)
            if size:
                service = _service_ps(level, foreseen, largest, spread)
                yield Part(level, service, -int(-size * spread // 1))

    def wave_ps(self, variants: tuple[Variant, ...]) -> int:
        times = [self.core_ps(variant) for variant in variants]
        return max(times + [part.foreseen_ps for part in self.parts(variants)])

    def _share(self, variant: Variant) -> float:
        points = sum(
            prod(variant.extents[axis] for axis in nest.axes) * nest.trips
            for nest in self.kernel.nests
        )
        return points / self._total


def _service_ps(level: Memory, size: int, largest: float, spread: float) -> int:
    """One core's part at its own rate, or all of a shared level's at the level's."""
    if not level.shared:
        return -int(-size * largest * PS_PER_S // level.bytes_per_s)
    own = level.core_bytes_per_s or level.bytes_per_s
    return -int(-max(size * spread / level.bytes_per_s, size * largest / own) * PS_PER_S // 1)


def _waves(work: _Work, tiling: Tiling) -> Iterator[Wave]:
    """Waves of one workgroup for each core that has work."""
    target = work.target
    assert target.core is not None
    queue = [Variant(w.variants[0].extents, w.count) for w in waves(work.kernel, tiling, 1)]
    if not queue:
        return
    each = max(1, work.wave_ps((Variant(queue[0].extents, 1),)))
    count = sum(variant.cores for variant in queue)
    for number, cores in turns(count, target.cores, each, picoseconds(target.core.wake_ns)):
        yield from pack(_take(queue, number * cores), cores)


def _take(queue: list[Variant], count: int) -> list[Variant]:
    """The next `count` workgroups, which leave the queue."""
    taken = []
    while count:
        first = queue.pop(0)
        part = min(count, first.cores)
        taken.append(Variant(first.extents, part))
        if part < first.cores:
            queue.insert(0, Variant(first.extents, first.cores - part))
        count -= part
    return taken


def _wave(work: _Work, emitter: Emitter, variants: tuple[Variant, ...]) -> Bodies:
    """Memory levels and cores at work on one workgroup a core; they meet at its end."""
    bodies: Bodies = {}
    waits, posts = [], []
    for part in work.parts(variants):
        stream = f"load.{part.level.name}"
        start = emitter.channel(("start", stream), "buffer", 1)
        done = emitter.channel(("done", stream), part.level.name)
        waits.append((done, 1))
        posts.append((start, 1))
        place = emitter.resource(part.level.name)
        move = Instruction(place, part.foreseen_ps, 0, ((start, 1),), ((done, 1),), part.bytes)
        bodies[stream] = [move]
    busy = max(map(work.core_ps, variants))
    work_item = Instruction(emitter.resource("vector"), busy)
    meet = Instruction(emitter.resource("vector.issue"), 0, 0, tuple(waits), tuple(posts))
    bodies["vector"] = [work_item, meet]
    return bodies

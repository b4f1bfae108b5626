"""Lowers a bound kernel with its tiling to a program for one target.

Operand tiles are loaded where the innermost loop that they depend on turns, so that a tile
stays for all loops inside; results are stored likewise. Buffers are channels: their depth is the
number of tiles that fit, a load waits for a free one and a unit for a full one. Results pass
from unit to unit the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from xpu_shark.simulator import apart, flow, nest_code
from xpu_shark.simulator.bind import BoundKernel, BoundNest
from xpu_shark.simulator.emit import Bodies, Emitter, extend, loop
from xpu_shark.simulator.gang import Variant, Wave, grid, waves
from xpu_shark.simulator.nest_cost import ops, units
from xpu_shark.simulator.plan import Phase, Tiling, phases
from xpu_shark.simulator.program import Instruction, Program
from xpu_shark.simulator.residency import Residency, depends_on, level_of, produced_before
from xpu_shark.simulator.steps import Step, group
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.traffic import transfer
from xpu_shark.simulator.units.cost import ceildiv
from xpu_shark.simulator.units.launch import launch_ps
from xpu_shark.simulator.workgroups import start_each
from xpu_shark.simulator.workload import Access

Path = tuple[object, ...]


class Use(msgspec.Struct):
    """One operand at one place: which steps of the body use it first and last, a stream each."""

    nest: int
    access: Access
    first: dict[str, int]
    last: dict[str, int]


def lower(kernel: BoundKernel, tiling: Tiling, target: Target) -> Program:
    """The program of one launch."""
    if target.core is not None:
        from xpu_shark.simulator import lower_core  # of CPUs only

        return lower_core.lower(kernel, tiling, target)
    kernel = apart.recomputing(kernel) if tiling.apart else kernel
    return _Lowering(kernel, tiling, target).program()


class _Lowering:
    def __init__(self, kernel: BoundKernel, tiling: Tiling, target: Target) -> None:
        self.kernel, self.tiling, self.target = kernel, tiling, target
        self.spread = target.execution == "waves"
        self.phases = phases(kernel, tiling, distributed=self.spread)
        self.residency = Residency(kernel, tiling, target, self.phases)
        if tiling.apart:
            self.kernel = apart.narrowed(kernel, frozenset(self.residency.out))
        self.copies = {nest for n, nest in enumerate(kernel.nests) if self.residency.stays(n)}
        self.emitter = Emitter()
        self.grid = grid(kernel, tiling, target.cores) if self.spread else None
        shared = target.memory[:-1]
        self.loads = [f"load.{level.name}" for level in shared]
        self.stores = [f"store.{level.name}" for level in reversed(shared)]
        self.levels = list(shared)

    def program(self) -> Program:
        bodies: Bodies = {}
        for number, wave in enumerate(self._waves()):
            body = self._body(self.phases, 0, wave.variants, ("wave",))
            start_each(self.emitter, body, wave, self.target)
            extend(bodies, loop(body, wave.count, self.emitter.tag(("wave", number))))
        workgroups = bodies.pop("launch", [])
        launch, starts = self._launch(bodies)
        return self.emitter.program({"launch": [launch, *workgroups], **bodies}, starts)

    def _waves(self) -> tuple[Wave, ...]:
        if self.spread:
            return waves(self.kernel, self.tiling, self.target.cores)
        extents = tuple(axis.extent for axis in self.kernel.axes)
        return (Wave(1, (Variant(extents, 1),)),)

    def _launch(self, bodies: Bodies) -> tuple[Instruction, Bodies]:
        """Every stream starts when the launch is done."""
        emitter, posts = self.emitter, []
        starts: Bodies = {}
        for stream, items in bodies.items():
            if items:
                channel = emitter.channel(("launch", stream), "launch")
                posts.append((channel, 1))
                emitter.wait(starts, stream, channel)
        cost = launch_ps(self.target, 0 if self.kernel.running else 1)
        launch = Instruction(emitter.resource("launch"), cost, posts=tuple(posts))
        return launch, starts

    # One body: the code of every stream inside `depth` common loops of `members`.

    def _body(
        self, members: tuple[Phase, ...], depth: int, variants: tuple[Variant, ...], path: Path
    ) -> Bodies:
        steps = group(self.kernel, self.target, members, depth)
        place = {nest: number for number, step in enumerate(steps) for nest in step.nests}
        before: list[Bodies] = [{} for _ in steps]
        after: list[Bodies] = [{} for _ in steps]
        self._order_spills(place, before, after, path)
        self._pass_locals(place, variants, before, after, path)
        for key, use in self._uses(members, depth, place, written=False).items():
            self._load(use, variants, before, after, (*path, "load", key))
        for key, use in self._uses(members, depth, place, written=True).items():
            self._store(use, variants, before, after, (*path, "store", key))
        bodies: Bodies = {}
        for step, first, last in zip(steps, before, after, strict=True):
            extend(bodies, first)
            extend(bodies, self._step(step, depth, variants, path))
            extend(bodies, last)
        return bodies

    def _step(self, step: Step, depth: int, variants: tuple[Variant, ...], path: Path) -> Bodies:
        if step.axis is None:
            if len(step.nests) == 1 and not flow.prepares(
                self.kernel.nests[step.nests[0]], self.target
            ):
                nest = self.kernel.nests[step.nests[0]]
                place = (*path, "op", step.nests[0])
                return nest_code.emit(
                    self.emitter,
                    self.kernel,
                    self.target,
                    nest,
                    variants,
                    place,
                    copies=nest in self.copies,
                )
            tiles = {
                number: nest_code.tile(self.kernel.nests[number], variants[0])
                for number in step.nests
            }
            serial = self.tiling.serial
            return flow.emit(self.emitter, self.kernel, self.target, tiles, path, serial=serial)
        tag = self.emitter.tag((*path, step.axis, step.nests[0]))
        inner = (*path, tag)
        if step.axis < 0:  # the trips of a loop around the phase
            body = self._body(step.phases, depth + 1, variants, inner)
            return loop(body, step.phases[0].trips, tag)
        extent = variants[0].extents[step.axis]
        if depth < len(step.phases[0].moving):
            tile = self.tiling.transfer[step.axis]
            whole, edge = divmod(extent, tile)
        else:
            tile, edge = self.tiling.tile[step.axis], 0
            whole = ceildiv(extent, tile)
        bodies: Bodies = {}
        for size, count in ((tile, whole), (edge, 1)):
            if size and count:
                sized = tuple(_resize(variant, step.axis, size) for variant in variants)
                body = self._body(step.phases, depth + 1, sized, inner)
                extend(bodies, loop(body, count, tag))
        return bodies

    # Operands.

    def _uses(
        self, members: tuple[Phase, ...], depth: int, place: dict[int, int], *, written: bool
    ) -> dict[Path, Use]:
        """Operands that come from or go to memory in this body, once each."""
        found: dict[Path, Use] = {}
        for phase in members:
            for number in phase.nests:
                nest = self.kernel.nests[number]
                for access in nest.writes if written else nest.reads:
                    if not self.residency.moves(number, access, written=written):
                        continue
                    if level_of(self.kernel, nest, access, phase.moving) != depth:
                        continue
                    key = (access.tensor, *depends_on(nest, access))
                    use = found.setdefault(key, Use(number, access, {}, {}))
                    use.nest = number if written else use.nest
                    streams = self._streams(number)
                    for stream in streams[-1:] if written else streams:
                        use.first.setdefault(stream, place[number])
                        use.last[stream] = place[number]
        return found

    def _streams(self, number: int) -> tuple[str, ...]:
        """Streams that a nest's instructions are on. A nest without work only stores, but where
        what it writes stays."""
        nest = self.kernel.nests[number]
        if names := units(nest, self.target):
            return names
        leaves = any(self.residency.moves(number, access, written=True) for access in nest.writes)
        return (self.stores[0] if leaves and nest not in self.copies else nest_code.COPIER,)

    def _load(
        self,
        use: Use,
        variants: tuple[Variant, ...],
        before: list[Bodies],
        after: list[Bodies],
        key: Path,
    ) -> None:
        emitter, start = self.emitter, min(use.first.values())
        depth = self._depth(key, self.residency.buffers)
        for hop in range(len(self.loads)):
            self._load_hop(use, variants, before[start], (key, hop, depth))
        for reader in use.first:
            data = emitter.channel((*key, reader, "data"), self.levels[-1].name)
            free = emitter.channel((*key, reader, "free"), "buffer", depth)
            emitter.wait(before[use.first[reader]], reader, data)
            emitter.post(after[use.last[reader]], reader, free)

    def _load_hop(
        self,
        use: Use,
        variants: tuple[Variant, ...],
        bodies: Bodies,
        place: tuple[Path, int, int],
    ) -> None:
        """One transfer of a tile, from the memory `hop` levels inside main memory. It waits for
        the hop before and for room at whoever takes the tile next."""
        emitter, (key, hop, depth) = self.emitter, place
        stream, level = self.loads[hop], self.levels[hop]
        nest, part = self.kernel.nests[use.nest], self._part(use, hop)
        cost = transfer(self.kernel, nest, use.access, self.target, level, variants, part)
        last = hop == len(self.loads) - 1
        readers = list(use.first) if last else [self.loads[hop + 1]]
        waits, posts = [], []
        if hop:
            waits.append((emitter.channel((*key, hop, "data"), self.levels[hop - 1].name), 1))
            posts.append((emitter.channel((*key, hop, "free"), "buffer", 2), 1))
        takers = [(*key, reader) if last else (*key, hop + 1) for reader in readers]
        for taker in takers:
            room = depth if last else self.target.dma.stages
            waits.append((emitter.channel((*taker, "free"), "buffer", room), 1))
        resource = emitter.resource(level.name)
        load = Instruction(resource, cost.service_ps, 0, tuple(waits), tuple(posts), cost.bytes)
        bodies.setdefault(stream, []).append(load)
        for taker in takers:
            data = emitter.channel((*taker, "data"), level.name)
            emitter.post(bodies, stream, data, cost.latency_ps)

    def _store(
        self,
        use: Use,
        variants: tuple[Variant, ...],
        before: list[Bodies],
        after: list[Bodies],
        key: Path,
    ) -> None:
        emitter = self.emitter
        source = list(use.last)[-1]
        nest, end = self.kernel.nests[use.nest], use.last[source]
        depth = self._depth(key, self.residency.result_buffers)
        free = -1
        if source != self.stores[0]:
            free = emitter.channel((*key, "free"), "buffer", depth)
            data = emitter.channel((*key, "data"), source)
            emitter.wait(before[use.first[source]], source, free)
            emitter.post(after[end], source, data, self._latency(nest, variants))
            emitter.wait(after[end], self.stores[0], data)
        for hop in range(len(self.stores)):
            self._store_hop(use, variants, after[end], (key, hop, free))

    def _store_hop(
        self,
        use: Use,
        variants: tuple[Variant, ...],
        bodies: Bodies,
        place: tuple[Path, int, int],
    ) -> None:
        """One transfer of a result, `hop` levels from the core. It frees the place that the tile
        came from: `free` is the unit's, -1 where no unit worked on it."""
        emitter, (key, hop, free) = self.emitter, place
        stream, level = self.stores[hop], self.levels[len(self.stores) - 1 - hop]
        nest, whole = self.kernel.nests[use.nest], Fraction(1)
        cost = transfer(self.kernel, nest, use.access, self.target, level, variants, whole)
        if hop:
            emitter.wait(bodies, stream, emitter.channel((*key, hop, "data"), "store"))
        room = emitter.channel((*key, hop + 1, "free"), "buffer", 2)
        last = hop == len(self.stores) - 1
        if not last:
            emitter.wait(bodies, stream, room)
        latency, resource = cost.latency_ps if last else 0, emitter.resource(level.name)
        move = Instruction(resource, cost.service_ps, latency, bytes=cost.bytes)
        bodies.setdefault(stream, []).append(move)
        if not last:
            emitter.post(bodies, stream, emitter.channel((*key, hop + 1, "data"), "store"))
        if hop:
            emitter.post(bodies, stream, emitter.channel((*key, hop, "free"), "buffer", 2))
        elif free >= 0:
            emitter.post(bodies, stream, free)

    def _depth(self, key: Path, buffers: int) -> int:
        """Tiles that change with a loop (key: "wave", its loops, two parts of a name) have
        `buffers`; what stays for the whole launch has one."""
        return buffers if len(key) > 3 or self.spread else 1

    def _part(self, use: Use, hop: int) -> Fraction:
        """What part of a wave's loads differs: cores share what the level inside keeps."""
        if self.grid is None or hop == len(self.levels) - 1:
            return Fraction(1)
        nest = self.kernel.nests[use.nest]
        axes = {nest.axes[dim] for index in use.access.map for dim, _ in index.terms}
        cached = self.residency.cached(use.nest, use.access)
        return self.grid.shared(axes, cached) * self.residency.missed(use.nest, use.access)

    # Values that pass between nests.

    def _pass_locals(
        self,
        place: dict[int, int],
        variants: tuple[Variant, ...],
        before: list[Bodies],
        after: list[Bodies],
        path: Path,
    ) -> None:
        emitter = self.emitter
        for tensor, producer, reader, first, last in self._handed(place):
            nest = self.kernel.nests[producer]
            source = self._streams(producer)[-1]
            if source == reader:
                continue
            key = (*path, "local", tensor, producer, reader)
            free = emitter.channel((*key, "free"), "buffer", 2)
            data = emitter.channel((*key, "data"), source)
            emitter.wait(before[place[producer]], source, free)
            emitter.post(after[place[producer]], source, data, self._latency(nest, variants))
            emitter.wait(before[first], reader, data)
            emitter.post(after[last], reader, free)

    def _handed(self, place: dict[int, int]) -> Iterator[tuple[int, int, str, int, int]]:
        """(tensor, producing nest, reading stream, its first and last step in this body)."""
        spans: dict[tuple[int, int, str], list[int]] = {}
        for number in place:
            nest = self.kernel.nests[number]
            for access in nest.reads:
                producer = produced_before(self.kernel, number, access.tensor)
                if producer is None or producer not in place:
                    continue
                if self.residency.moves(number, access, written=False):
                    continue
                if place[producer] == place[number]:
                    continue
                for reader in self._streams(number):
                    key = (access.tensor, producer, reader)
                    spans.setdefault(key, []).append(place[number])
        for (tensor, producer, reader), steps in spans.items():
            yield tensor, producer, reader, min(steps), max(steps)

    def _order_spills(
        self, place: dict[int, int], before: list[Bodies], after: list[Bodies], path: Path
    ) -> None:
        """A tensor that went out to memory is loaded back only after it was stored."""
        done: set[tuple[int, int]] = set()
        for number in place:
            for access in self.kernel.nests[number].reads:
                producer = produced_before(self.kernel, number, access.tensor)
                if producer is None or producer not in place:
                    continue
                key = (producer, access.tensor)
                if not self.residency.moves(number, access, written=False) or key in done:
                    continue
                if place[producer] == place[number]:
                    continue
                done.add(key)
                channel = self.emitter.channel((*path, "spill", *key), "store")
                self.emitter.post(after[place[producer]], self.stores[-1], channel)
                self.emitter.wait(before[place[number]], self.loads[0], channel)

    def _latency(self, nest: BoundNest, variants: tuple[Variant, ...]) -> int:
        costs = ops(self.kernel, nest, self.target, nest_code.tile(nest, variants[0]))
        return costs[-1].cost.latency_ps if costs else 0


def _resize(variant: Variant, axis: int, size: int) -> Variant:
    extents = list(variant.extents)
    extents[axis] = size
    return Variant(tuple(extents), variant.cores)

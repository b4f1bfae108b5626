"""Plans: launches and collectives of a part of a program, what they wait for, and their time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

from xpu_shark.simulator import collective_run, commands
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.collectives.choose import CLOSE, estimate_ps
from xpu_shark.simulator.evaluate import Settings
from xpu_shark.simulator.function_timeline import Run, Task, run
from xpu_shark.simulator.link_variation import link_moves
from xpu_shark.simulator.link_variation import time_after as collective_after
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound
from xpu_shark.simulator.target import PS_PER_S, Network, Target
from xpu_shark.simulator.units.launch import launch_ps
from xpu_shark.simulator.variation import named_moves, time_after
from xpu_shark.simulator.workload import Collective, Move

NEGLIGIBLE = 0.01  # share of a time: half of what a change must gain to be told


@dataclass(frozen=True)
class Work:
    """One launch (`kernel` with its tiles) or one `command`, as it was simulated: picoseconds, the
    algorithm, and bytes of main memory. `library`: by the chip's own algorithms only."""

    label: str = field(compare=False)
    time_ps: int
    bytes: int
    kernel: tuple[BoundKernel, Tiling] | None = None
    command: Collective | Move | None = None
    algorithm: str = ""
    library: bool = True

    @property
    def network(self) -> bool:
        command = self.command
        return isinstance(command, Collective) or (
            command is not None and command.kind == "transfer"
        )


@dataclass(frozen=True)
class Part:
    """One work of a plan; `needs` are the earlier parts, by number, that it waits for."""

    work: Work
    needs: tuple[int, ...] = ()


Plan = tuple[Part, ...]


def serial(works: Iterable[Work]) -> Plan:
    """One after another."""
    return tuple(Part(work, (number - 1,) if number else ()) for number, work in enumerate(works))


@dataclass
class Simulator:
    """Simulates works and plans on a target and on that with each uncertain constant moved."""

    settings: Settings
    _known: dict[tuple[Work, int], Task] = field(default_factory=dict)
    _moved: dict[int, tuple[Plan, list[tuple[str, int]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        target = self.settings.target
        self.moves = [*named_moves(target), *link_moves(target)]

    def launch(self, label: str, kernel: BoundKernel) -> Work:
        """A changed kernel, with the tiles that the target's own compiler gives it."""
        target = self.settings.target
        tiling = tilings.choose(kernel, target, "default")
        done = run_bound(kernel, tiling, target)
        moved = done.bytes.get(target.memory[0].name, 0)
        return Work(label, done.time_ps, moved, (kernel, tiling))

    def command(self, item: Collective | Move, *, library: bool = True) -> Work | None:
        """A collective, copy, fill or transfer of a known size; None where it has no time."""
        mode = self.settings.mode if library else "best"
        assert isinstance(item.bytes, int)
        done = commands.simulate(item, item.bytes, replace(self.settings, mode=mode))
        if done.time_ps is None:
            return None
        moved = done.bytes.get(self.settings.target.memory[0].name, 0)
        label = f"{item.kind} of {item.bytes} B"
        return Work(label, done.time_ps, moved, None, item, done.algorithm, library)

    def least_ps(self, item: Collective) -> int:
        """What a collective of a known size takes at least, as far as can be told without
        simulating it."""
        assert isinstance(item.bytes, int)
        team, library = collective_run.team(item, self.settings), self.settings.mode != "best"
        target = self.settings.target
        return int(estimate_ps(target, item.kind, item.bytes, team, library=library) / CLOSE)

    def run(self, plan: Plan) -> Run:
        """On the target as described."""
        return run([self._task(part, -1) for part in plan])

    def moved(self, plan: Plan) -> list[tuple[str, int]]:
        """(what is moved, the plan's time then); kept, since many changes share what is before."""
        if id(plan) not in self._moved:
            times = (
                run([self._task(part, n) for part in plan]).time_ps for n in range(len(self.moves))
            )
            found = [(what, time) for (what, _), time in zip(self.moves, times, strict=True)]
            self._moved[id(plan)] = (plan, found)
        return self._moved[id(plan)][1]

    def _task(self, part: Part, move: int) -> Task:
        key = (part.work, move)
        if key not in self._known:
            self._known[key] = self._alone(part.work, move)
        alone = self._known[key]
        return Task(alone.time_ps, alone.memory_ps, alone.network, part.needs)

    def _alone(self, work: Work, move: int) -> Task:
        base = self.settings.target
        target = base if move < 0 else self.moves[move][1]
        time = work.time_ps if move < 0 else self._after(work, base, target)
        memory = int(work.bytes * PS_PER_S / target.memory[0].bytes_per_s)
        return Task(time, min(memory, time), work.network)

    def _after(self, work: Work, base: Target, target: Target) -> int:
        if work.kernel is not None:
            return time_after(work.kernel, (base, work.time_ps), target)
        item = work.command
        assert item is not None
        assert isinstance(item.bytes, int)
        if not isinstance(item, Collective):
            settings = replace(self.settings, target=target)
            return commands.simulate(item, item.bytes, settings).time_ps or 0
        if not work.time_ps:
            return 0
        if target.network is base.network and self._memory_change(work, target) < NEGLIGIBLE:
            return work.time_ps + launch_ps(target) - launch_ps(base)
        team = collective_run.team(item, self.settings)
        if self._link_change(work, target, team.devices) < NEGLIGIBLE:
            return work.time_ps
        library, fold = work.library and self.settings.mode != "best", self.settings.fold
        what = (item.kind, item.bytes, team, item.pairs)
        return collective_after(base, target, *what, library=library, fold=fold)

    def _memory_change(self, work: Work, target: Target) -> float:
        """By what share of its time a collective can change at most where only memory does: by
        the change of the time for which its bytes keep the memory busy."""
        rates = (self.settings.target.memory[0].bytes_per_s, target.memory[0].bytes_per_s)
        return abs(1 / rates[0] - 1 / rates[1]) * work.bytes * PS_PER_S / work.time_ps

    def _link_change(self, work: Work, target: Target, devices: int) -> float:
        """By what share of its time a collective can change at most where only the links' rate
        does: by the change for as many bytes as if every device's message to every other one had
        all of them and the same link carried them all. Infinite where latency differs."""
        old, new = self.settings.target.network, target.network
        if old is None or new is None or new.latency_ns != old.latency_ns or old.protocols:
            return inf
        change = max(abs(1 / a - 1 / b) for a, b in zip(_rates(old), _rates(new), strict=True))
        assert work.command is not None
        assert isinstance(work.command.bytes, int)
        return change * work.command.bytes * devices**2 * PS_PER_S / work.time_ps


def _rates(network: Network | None) -> list[float]:
    """Bytes per second of a link on every level."""
    return [] if network is None else [network.bytes_per_s, *_rates(network.outer)]

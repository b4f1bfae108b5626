"""What could be done for one collective: every algorithm, protocol and chunk count."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.simulator.collectives import permutation
from xpu_shark.simulator.collectives.groups import Group, Groups, check, isolated, shape
from xpu_shark.simulator.collectives.lower import foldable, lower, lower_all
from xpu_shark.simulator.collectives.permutation import Pairs, is_shift
from xpu_shark.simulator.collectives.pieces import Job
from xpu_shark.simulator.collectives.registry import ALGORITHMS
from xpu_shark.simulator.collectives.schedule import Alike, Listed, Schedule
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.network import Fabric, Slow, fabric, slowed
from xpu_shark.simulator.program import Instruction, Loop, Program
from xpu_shark.simulator.target import Network, Target
from xpu_shark.simulator.timeline import Timeline
from xpu_shark.simulator.units.launch import launch_ps

CHUNKS = (1, 2, 4, 8, 16, 32)
MOST = 10_000  # messages that are too many where any candidate has fewer
UNFOLDED = 20_000  # instructions of many devices up to which running all beats looking for periods
TURNS = 8  # steps of one kind from which on looking for periods beats running them all


class Team(msgspec.Struct, frozen=True):
    """Who takes part: all of `devices`, or several `groups` of them at the same time, by rank."""

    devices: int
    groups: Groups = ()
    slow: tuple[Slow, ...] = ()

    @property
    def members(self) -> int:
        """Devices of the largest group."""
        return max(map(len, self.groups), default=self.devices)


class Candidate(msgspec.Struct, frozen=True):
    """`schedules` has one of every group that is simulated, each of at most `members` devices.
    `folded`: one device stands for all."""

    algorithm: str
    protocol: str
    chunks: int
    schedules: tuple[Schedule, ...]
    fabric: Fabric
    members: int
    folded: bool

    @property
    def label(self) -> str:
        """As reports show it: "ring, LL, 4 chunks"."""
        chunks = f"{self.chunks} chunks" if self.chunks > 1 else ""
        return ", ".join(part for part in (self.algorithm, self.protocol, chunks) if part)


class Run(msgspec.Struct, frozen=True):
    """A candidate and its simulation."""

    candidate: Candidate
    timeline: Timeline


def candidates(
    network: Network,
    kind: str,
    bytes: int,
    team: int | Team,
    names: tuple[str, ...] = (),
    least_bytes: int = 1,
    pairs: Pairs = (),
) -> list[Candidate]:
    """Every algorithm (of `names`; () is all) with every protocol, and every chunk count that
    leaves a device's share of a chunk `least_bytes`. A number is a team of so many devices.

    Raises `NetworkError` where the network cannot join so many devices, or the team's groups are
    none of them.
    """
    team = Team(team) if isinstance(team, int) else team
    check(team.groups, team.devices)
    found: list[Candidate] = []
    for protocol in network.protocols or (None,):
        whole = slowed(fabric(network, team.devices, protocol), team.slow)
        label = protocol.name if protocol else ""
        for name, joined, schedules in _schedules(kind, whole, team, names, pairs):
            folded = len(schedules) == 1 and foldable(schedules[0], joined)
            for chunks in CHUNKS:
                if chunks == 1 or chunks * team.members * least_bytes <= bytes:
                    found.append(
                        Candidate(name, label, chunks, schedules, joined, team.members, folded)
                    )
    return [c for c in found if messages(c) <= MOST] or sorted(found, key=messages)[:1]


def messages(candidate: Candidate) -> int:
    """About how many messages a simulation goes through: repeated steps of a ring fold."""
    count = 0
    for schedule in candidate.schedules:
        for lane in schedule.lanes:
            if isinstance(lane, Listed):
                count += sum(map(len, lane.rounds))
                continue
            once = sum(min(p.count, 3) if p.turn == 0 else p.count for p in lane.phases)
            count += once * (1 if candidate.folded else schedule.devices)
    return count * candidate.chunks


def simulate(candidate: Candidate, target: Target, bytes: int, *, fold: bool = True) -> Run:
    """With `fold=False` every device and every message is simulated."""
    slow = candidate.fabric.slow_memory
    job = Job(bytes, candidate.chunks, target.memory[0], launch_ps(target), slow)
    if not fold:
        return Run(candidate, _every_device(candidate, job))
    program = _program(candidate, job)
    worth = _repeats(candidate) if candidate.folded else length(program) > UNFOLDED
    return Run(candidate, run(program, fold=worth))


def _program(candidate: Candidate, job: Job) -> Program:
    if candidate.folded:
        return lower(candidate.schedules[0], candidate.fabric, job, folded=True)
    return lower_all(candidate.schedules, candidate.fabric, job)


def _every_device(candidate: Candidate, job: Job) -> Timeline:
    """All of them together where all do the same and none is served otherwise than the others."""
    if candidate.folded:
        from xpu_shark.simulator.collectives.lockstep import run_all  # needs NumPy

        if timeline := run_all(candidate.schedules[0], candidate.fabric, job):
            return timeline
    return run(lower_all(candidate.schedules, candidate.fabric, job), fold=False)


def _repeats(candidate: Candidate) -> bool:
    """Whether all lanes go through equally many steps of a kind, so that they share periods."""
    lanes = {
        tuple(phase.count for phase in lane.phases)
        for schedule in candidate.schedules
        for lane in schedule.lanes
        if isinstance(lane, Alike)
    }
    return len(lanes) == 1 and max(max(counts, default=0) for counts in lanes) >= TURNS


def length(program: Program) -> int:
    """How many instructions the program executes."""
    return sum(_length(stream.body) for stream in program.streams)


def _length(body: tuple[Instruction | Loop, ...]) -> int:
    return sum(item.count * _length(item.body) if isinstance(item, Loop) else 1 for item in body)


def _schedules(
    kind: str, whole: Fabric, team: Team, names: tuple[str, ...], pairs: Pairs
) -> Iterator[tuple[str, Fabric, tuple[Schedule, ...]]]:
    """(algorithm, fabric, schedule of every group): one group for all where they do not meet."""
    alone = isolated(whole, team.groups) if team.groups and not pairs else None
    everyone = tuple(range(whole.devices))
    if alone is not None or team.groups in ((), (everyone,)):
        joined = whole if alone is None else alone
        for name, schedule in _one_group(kind, joined, names, pairs):
            yield name, joined, (schedule,)
        return
    groups = [group for group in team.groups if len(group) > 1]
    found = [dict(_one_group(kind, shape(whole, group), names, pairs)) for group in groups]
    for name in found[0]:
        if all(name in each for each in found):
            placed = zip(found, groups, strict=True)
            yield name, whole, tuple(_placed(each[name], group, pairs) for each, group in placed)


def _placed(schedule: Schedule, group: Group, pairs: Pairs) -> Schedule:
    """The schedule on the group's devices: by rank where that says who sends to whom."""
    devices = group if pairs else tuple(sorted(group))
    order = tuple(devices[number] for number in schedule.order) if schedule.order else devices
    return msgspec.structs.replace(schedule, order=order, disjoint=False)


def _one_group(
    kind: str, joined: Fabric, names: tuple[str, ...], pairs: Pairs
) -> Iterator[tuple[str, Schedule]]:
    if pairs and not is_shift(pairs, joined.devices):
        yield "permutation", permutation.schedule(pairs, joined)
        return
    for algorithm in ALGORITHMS:
        if kind in algorithm.kinds and (not names or algorithm.name in names):
            schedule = algorithm.build(kind, joined)
            if schedule is not None:
                yield algorithm.name, schedule

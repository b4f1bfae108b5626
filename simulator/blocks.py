"""Straight pieces of a function's program, with the time of every command and what it waits for.

A loop's body, an arm of a branch and what stands between them are pieces of their own: nothing
moves from one to another, so a loop that turns n times is n times its piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from xpu_shark.simulator.dependences import Touches, dependences
from xpu_shark.simulator.function_timeline import Task
from xpu_shark.simulator.target import PS_PER_S, Target
from xpu_shark.simulator.touches import touches
from xpu_shark.simulator.workload import Collective, Kernel, Launch, Move

if TYPE_CHECKING:
    from xpu_shark.simulator.result import Command, Dispatch

Path = tuple[int, ...]


class Struct(msgspec.Struct, frozen=True):
    """Base of the data here."""


class Site(Struct, frozen=True, kw_only=True):
    """A command where it stands: `piece` numbers the straight piece, `times` is how often that
    runs. Commands with one `group` may run at the same time, as the program has it."""

    piece: int
    times: int
    group: Path
    command: Launch | Move | Collective
    key: object  # of its record


class Step(Struct, frozen=True, kw_only=True):
    """One command of a block with its record; `touches` is what it reads and writes, `needs`
    which earlier steps it waits for, by number. Times are picoseconds."""

    command: Launch | Move | Collective
    record: Dispatch | Command
    group: Path
    touches: Touches
    needs: tuple[int, ...]
    time_ps: int
    memory_ps: int

    @property
    def network(self) -> bool:
        return on_network(self.command)

    @property
    def label(self) -> str:
        """A dispatch by its name, anything else by kind and place."""
        if isinstance(self.command, Launch):
            return self.command.kernel
        return f"{self.command.kind} at {self.command.location or 'an unknown place'}"


class Block(Struct, frozen=True):
    """A straight piece that runs `times` times."""

    times: int
    steps: tuple[Step, ...]

    def in_order(self) -> list[Task]:
        """As the program has it: one after another, but for those that it leaves unordered."""
        tasks: list[Task] = []
        before: list[int] = []
        group: list[int] = []
        for number, step in enumerate(self.steps):
            if group and self.steps[group[0]].group != step.group:
                before, group = group, []
            group.append(number)
            tasks.append(Task(step.time_ps, step.memory_ps, step.network, tuple(before)))
        return tasks

    def as_needed(self) -> list[Task]:
        """Every command as soon as what it needs is there."""
        return [Task(s.time_ps, s.memory_ps, s.network, s.needs) for s in self.steps]


def on_network(command: Launch | Move | Collective) -> bool:
    return isinstance(command, Collective) or (
        isinstance(command, Move) and command.kind == "transfer"
    )


def blocks(
    sites: Sequence[Site],
    records: Mapping[object, Dispatch | Command],
    kernels: Mapping[str, Kernel],
    env: Mapping[str, int],
    target: Target,
) -> tuple[Block, ...]:
    """The pieces in which something goes over the network."""
    pieces: dict[int, list[Site]] = {}
    for site in sites:
        pieces.setdefault(site.piece, []).append(site)
    return tuple(
        _block(piece, records, kernels, env, target)
        for piece in pieces.values()
        if any(on_network(site.command) for site in piece)
    )


def _block(
    piece: Sequence[Site],
    records: Mapping[object, Dispatch | Command],
    kernels: Mapping[str, Kernel],
    env: Mapping[str, int],
    target: Target,
) -> Block:
    touched = [touches(site.command, kernels, env) for site in piece]
    needs = dependences(touched, [site.group for site in piece])
    steps = []
    for site, touch, direct in zip(piece, touched, needs, strict=True):
        record = records[site.key]
        time, moved = _cost(record)
        level = target.memory[0]
        memory = int(moved.get(level.name, 0) * PS_PER_S / level.bytes_per_s)
        steps.append(
            Step(
                command=site.command,
                record=record,
                group=site.group,
                touches=touch,
                needs=direct,
                time_ps=time,
                memory_ps=min(memory, time),
            )
        )
    return Block(piece[0].times, tuple(steps))


def _cost(record: Dispatch | Command) -> tuple[int, dict[str, int]]:
    """Time and bytes moved of one; nothing where it has none."""
    from xpu_shark.simulator.result import Dispatch  # which imports this file

    run = record.run if isinstance(record, Dispatch) else record
    return (run.time_ps or 0, run.bytes) if run is not None else (0, {})

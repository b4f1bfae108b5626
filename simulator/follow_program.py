"""The launches of a recorded call, where the program has them.

The host program is read beside the launches in the order of the run: a loop turns, and a branch
takes an arm, as the next launch says. So every launch gets the buffers, the place and the loop
that the program gives it, and the sizes that the run had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from xpu_shark.simulator.recording import Event
from xpu_shark.simulator.symbolic import Expr, substitute, symbols
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Launch,
    Move,
    Repeat,
)


class _LostError(Exception):
    """The launches are not in an order that the program has."""


def follow(
    body: Sequence[Command], events: Sequence[Event], needs: Mapping[str, Collection[str]]
) -> tuple[Command, ...] | None:
    """`body` with loops, branches and sizes as `events`, the dispatches of one call, had them.

    `needs` are the symbols that each kernel's sizes depend on. Turns that are alike in these are
    counted; any other that may change from turn to turn stays as the program has it. None where
    the program cannot be followed: launches are missing, or what comes next does not say which
    way the program went.
    """
    walk = _Walk(events, needs)
    try:
        found = walk.body(body)
    except _LostError:
        return None
    return found if walk.at == len(events) else None


class _Walk:
    def __init__(self, events: Sequence[Event], needs: Mapping[str, Collection[str]]) -> None:
        self._events, self._needs = events, needs
        self._values: dict[str, int] = {}  # of the program's symbols, as launches showed them
        self.at = 0

    def body(self, body: Sequence[Command]) -> tuple[Command, ...]:
        found = [item for command in body for item in self._command(command)]
        return tuple(_sized(item, self._values) for item in found)

    def _command(self, command: Command) -> Iterator[Command]:
        match command:
            case Launch():
                yield self._launch(command)
            case Concurrent():
                yield Concurrent(body=self.body(command.body))
            case Repeat():
                yield from self._repeat(command)
            case Choice():
                yield Repeat(trips=1, body=self.body(self._arm(command)))
            case _:
                yield command

    def _launch(self, site: Launch) -> Launch:
        if self._next() != site.kernel:
            raise _LostError
        event = self._events[self.at]
        self.at += 1
        if event.constants is None:
            return msgspec.structs.replace(site, trips=event.trips)
        for size, value in zip(site.constants, event.constants, strict=True):
            if isinstance(size, int) and size % (1 << 32) != value:
                raise _LostError
            if isinstance(size, Expr) and size.op == "symbol":
                self._values[str(size)] = value
        needed = self._needs.get(site.kernel, ())
        constants = tuple(
            size if _may_change(size) and f"constant{number}" not in needed else value
            for number, (size, value) in enumerate(
                zip(site.constants, event.constants, strict=True)
            )
        )
        return msgspec.structs.replace(site, constants=constants, trips=event.trips)

    def _repeat(self, loop: Repeat) -> Iterator[Command]:
        first, _ = _first(loop.body)
        if not first and isinstance(loop.trips, int):
            yield loop
            return
        turns: list[tuple[Command, ...]] = []
        while len(turns) < loop.trips if isinstance(loop.trips, int) else self._next() in first:
            turns.append(self.body(loop.body))
        for body, alike in groupby(turns):
            yield Repeat(trips=len(list(alike)), body=body)

    def _arm(self, choice: Choice) -> tuple[Command, ...]:
        starts = [(_first(arm), arm) for arm in choice.arms]
        taken = [arm for (first, _), arm in starts if self._next() in first]
        taken = taken or [arm for (_, passes), arm in starts if passes]
        if len(taken) != 1:
            raise _LostError
        return taken[0]

    def _next(self) -> str | None:
        return self._events[self.at].kernel if self.at < len(self._events) else None


def _may_change(size: int | Expr) -> bool:
    """Whether it depends on more than the sizes of the arguments, which are `inputA.D`: on the
    number of a loop's turn, or on data."""
    return any(not name.startswith("input") for name in symbols(size))


def _first(body: Sequence[Command]) -> tuple[set[str], bool]:
    """Kernels that `body` may launch first, and whether it may launch none."""
    found: set[str] = set()
    for command in body:
        match command:
            case Launch():
                return found | {command.kernel}, False
            case Choice():
                arms = [_first(arm) for arm in command.arms]
                found |= {name for first, _ in arms for name in first}
                passes = any(passes for _, passes in arms)
            case Concurrent() | Repeat():
                first, passes = _first(command.body)
                found |= first
                turns = command.trips if isinstance(command, Repeat) else 1
                passes = passes or not isinstance(turns, int) or turns == 0
            case _:
                passes = True
        if not passes:
            return found, False
    return found, True


def _sized(command: Command, values: Mapping[str, int]) -> Command:
    """`command` with the symbols in `values` replaced, in its own sizes."""
    if not values or not isinstance(command, Launch | Move | Collective):
        return command
    changes: dict[str, object] = {}
    if isinstance(command, Launch | Move):
        changes["spans"] = tuple(
            msgspec.structs.replace(
                span,
                offset=substitute(span.offset, values),
                bytes=substitute(span.bytes, values),
            )
            for span in command.spans
        )
    if isinstance(command, Move | Collective):
        changes["bytes"] = substitute(command.bytes, values)
    return msgspec.structs.replace(command, **changes)

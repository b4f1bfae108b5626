"""When the commands of a straight piece of a host program run, on two resources.

The device runs one launch, fill or copy at a time, the network one collective or transfer: of those
whose inputs are there the first in the program. Both at once share the main memory: each has a
share of its own time in which it keeps the memory busy, and where these shares are more than 1
together, each gets what it wants up to an even part (max-min fairness), and is slower by what it
lacks. Serving the requests of both in turn, which is what the engine does, comes to the same.

What a collective adds to the time of the launches is *exposed*; the rest of its time is *hidden*
behind them, so that the whole takes the device's time and the exposed time of all collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil

import msgspec


class Struct(msgspec.Struct, frozen=True):
    """Base of the data here."""


class Task(Struct, frozen=True):
    """One command: picoseconds alone, how long it keeps the main memory busy then, whether it
    runs on the network, and the earlier tasks, by number, that must be done first."""

    time_ps: int
    memory_ps: int = 0
    network: bool = False
    needs: tuple[int, ...] = ()


class Run(Struct, frozen=True):
    """When all are done, and of every task when it begins and ends and the part of its time that
    is exposed (of tasks on the device 0)."""

    time_ps: int
    begin_ps: tuple[int, ...]
    end_ps: tuple[int, ...]
    exposed_ps: tuple[int, ...]


def rates(one: Task, other: Task) -> tuple[Fraction, Fraction]:
    """Speed of both side by side, as a share of that alone."""
    wants = [Fraction(min(task.memory_ps, task.time_ps), task.time_ps) for task in (one, other)]
    if sum(wants) <= 1:
        return Fraction(1), Fraction(1)
    half = Fraction(1, 2)
    gets = [max(half, 1 - wants[1]), max(half, 1 - wants[0])]
    first, second = (get / want for get, want in zip(gets, wants, strict=True))
    return min(first, Fraction(1)), min(second, Fraction(1))


def run(tasks: Sequence[Task]) -> Run:
    """All tasks; `needs` only points backwards, so there is always one that can run."""
    state = _State(tasks)
    while state.step():
        pass
    return Run(state.now, tuple(state.begin), tuple(state.end), tuple(state.exposed))


class _State:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.now = 0
        self.left = [task.time_ps for task in tasks]
        self.begin, self.end, self.exposed = ([0] * len(tasks) for _ in range(3))
        self.waits = [len(task.needs) for task in tasks]
        self.after: list[list[int]] = [[] for _ in tasks]
        for number, task in enumerate(tasks):
            for need in task.needs:
                self.after[need].append(number)
        self.ready: dict[bool, list[int]] = {False: [], True: []}  # by whether on the network
        self.running: dict[bool, int | None] = {False: None, True: None}
        for number, waits in enumerate(self.waits):
            if not waits:
                self._queue(number)

    def _queue(self, number: int) -> None:
        heappush(self.ready[self.tasks[number].network], number)

    def step(self) -> bool:
        """Up to the next end of a task; whether anything was left to do."""
        for place, queue in self.ready.items():
            if self.running[place] is None and queue:
                number = heappop(queue)
                self.running[place] = number
                self.begin[number] = self.now
        device, network = self.running[False], self.running[True]
        if device is not None and network is not None:
            self._together(device, network)
        elif device is not None:
            self._alone(device)
        elif network is not None:
            self._alone(network)
        else:
            return False
        return True

    def _alone(self, number: int) -> None:
        passed = self.left[number]
        if self.tasks[number].network:
            self.exposed[number] += passed
        self._pass(passed, {number: passed})

    def _together(self, device: int, network: int) -> None:
        """Until the first of the two ends. Progress is rounded down on the device and up on the
        network, so that what is exposed is never more than what the collective takes."""
        if not self.left[device] or not self.left[network]:
            self._pass(0, {device: 0, network: 0})
            return
        fast, other = rates(self.tasks[device], self.tasks[network])
        passed = min(ceil(self.left[device] / fast), int((self.left[network] - 1) / other) + 1)
        done = int(passed * fast)
        self.exposed[network] += passed - done
        self._pass(passed, {device: done, network: ceil(passed * other)})

    def _pass(self, time: int, done: dict[int, int]) -> None:
        self.now += time
        for number, progress in done.items():
            self.left[number] -= progress
            if not self.left[number]:
                self.end[number] = self.now
                self.running[self.tasks[number].network] = None
                for later in self.after[number]:
                    self.waits[later] -= 1
                    if not self.waits[later]:
                        self._queue(later)

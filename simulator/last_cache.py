"""What the last cache of a CPU has of a launch's operands: reuse distances between launches.

A program is taken for called again and again, and its loops for turning more than once. An operand
is still there if everything that was touched since somebody touched it takes no more than the cache
(Mattson et al., 1970). Of one that was touched longer ago a share is left, as last caches replace
about at random. Where nobody knows what a command touches, nothing is there behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from math import exp, inf

from xpu_shark.simulator.bind import Context
from xpu_shark.simulator.stay import Path
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.touches import Touch, touches
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Kernel,
    Launch,
    Move,
    Repeat,
)

Place = tuple[int, int, int]  # a buffer, the first byte in it, and the one behind the last

STEPS = 8  # in which the share that is left is told, so that launches that are alike stay so
FARTHEST = 3  # times the cache: behind that, less than a step is left
ROUNDS = 2  # of calls and of turns of a loop: the last one finds what the one before it left


def contexts(
    body: tuple[Command, ...],
    kernels: Mapping[str, Kernel],
    env: Mapping[str, int],
    target: Target,
) -> dict[Path, Context]:
    """The context of every launch whose operands are known, by where it stands."""
    history = _History()
    known: dict[int, tuple[Touch, ...] | None] = {}
    found: dict[Path, Context] = {}
    for _ in range(ROUNDS):
        for path, command in _in_time(body, ()):
            if id(command) not in known:
                known[id(command)] = touches(command, kernels, env)
            parts = known[id(command)]
            found.pop(path, None)
            if parts is None:
                history.forget()
                continue
            size = target.memory[1].bytes
            near = {
                part.tensor: left(history.distance(part, size, FARTHEST * size) / size)
                for part in parts
                if part.tensor >= 0
            }
            if isinstance(command, Launch) and near:
                found[path] = Context(
                    cached=tuple(sorted((tensor, there) for tensor, there in near.items() if there))
                )
            for part in parts:
                history.add(part)
    return found


def left(turnover: float) -> float:
    """The share of a place that is still there after `turnover` times the cache, in `STEPS`.

    In a program that repeats, a share h is found and the rest fetched; each fetch takes a random
    line's place, so that h = exp(-(1 - h) turnover), which one cache's worth leaves whole.
    """
    if turnover <= 1:
        return 1.0
    if turnover > FARTHEST:
        return 0.0
    share = 0.0
    for _ in range(200):  # grows towards the least solution, the one that such a program stays in
        share = exp(-(1 - share) * turnover)
    return round(share * STEPS) / STEPS


def _in_time(
    body: tuple[Command, ...], path: Path
) -> Iterator[tuple[Path, Launch | Move | Collective]]:
    """Commands as they run; of a branch the arm with most commands."""
    for number, command in enumerate(body):
        here = (*path, number)
        if isinstance(command, Repeat):
            for _ in range(1 if command.trips == 1 else ROUNDS):
                yield from _in_time(command.body, here)
        elif isinstance(command, Concurrent):
            yield from _in_time(command.body, here)
        elif isinstance(command, Choice):
            arm = max(range(len(command.arms)), key=lambda n: (len(command.arms[n]), -n))
            yield from _in_time(command.arms[arm], (*here, arm))
        else:
            yield here, command


class _History:
    """Places of buffers by when they were last touched: a stack, the most recent one on top."""

    def __init__(self) -> None:
        self._bytes = 0  # touched so far, each time anew
        self._stack: dict[Place, int] = {}  # how many of these there were, at the last touch
        self._places: dict[int, list[tuple[int, int]]] = {}

    def forget(self) -> None:
        self._stack.clear()
        self._places.clear()

    def distance(self, touch: Touch, near: int, farthest: int) -> float:
        """Bytes touched since any of these were, them included: no more than that where it is up to
        `near`, exactly that beyond; infinite past `farthest`."""
        behind = touch.start + 1 if touch.end is None else touch.end
        places = self._places.get(touch.buffer, [])
        before = places[: bisect_left(places, (behind, 0))]
        times = [self._stack[touch.buffer, a, b] for a, b in before if b > touch.start]
        if not times:
            return inf
        found, last = behind - touch.start, max(times)
        if (most := found + self._bytes - last) <= near:
            return most
        for (buffer, start, end), time in reversed(self._stack.items()):
            if time == last and buffer == touch.buffer:
                return found
            if found > farthest:
                break
            found += end - start
        return inf

    def add(self, touch: Touch) -> None:
        """Places inside this one are as recent as it, and need no entry of their own."""
        end = touch.start + 1 if touch.end is None else touch.end
        places = self._places.setdefault(touch.buffer, [])
        first = bisect_left(places, (touch.start, 0))
        behind = bisect_left(places, (end, 0))
        kept = []
        for place in places[first:behind]:
            if place[1] > end:
                kept.append(place)
            else:
                self._stack.pop((touch.buffer, *place))
        places[first:behind] = sorted([*kept, (touch.start, end)])
        self._bytes += end - touch.start
        self._stack[touch.buffer, touch.start, end] = self._bytes

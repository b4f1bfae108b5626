"""What the last cache of a CPU has of a launch's operands: reuse distances between launches.

A program is taken for called again and again, and its loops for turning more than once. An operand
is still there if everything that was touched since somebody touched it takes no more than the cache
(Mattson et al., 1970). Where nobody knows what a command touches, nothing is there behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

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
            near = {
                part.tensor: history.distance(part) <= target.memory[1].bytes
                for part in parts
                if part.tensor >= 0
            }
            if isinstance(command, Launch) and near:
                found[path] = Context(
                    cached=tuple(sorted(tensor for tensor, there in near.items() if there))
                )
            for part in parts:
                history.add(part)
    return found


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
    """When each place of each buffer was last touched, in bytes touched until then."""

    def __init__(self) -> None:
        self._bytes = 0
        self._places: dict[int, list[tuple[int, int]]] = {}
        self._last: dict[tuple[int, int, int], int] = {}

    def forget(self) -> None:
        self._places.clear()
        self._last.clear()

    def distance(self, touch: Touch) -> float:
        """Bytes touched since any of these were, them included."""
        last = max(
            (
                self._last[touch.buffer, start, end]
                for start, end in self._places.get(touch.buffer, ())
                if start < (touch.end or start + 1) and touch.start < end
            ),
            default=None,
        )
        return float("inf") if last is None else self._bytes - last + (touch.end or 0) - touch.start

    def add(self, touch: Touch) -> None:
        """Places inside this one are as recent as it, and need no entry of their own."""
        end = touch.start + 1 if touch.end is None else touch.end
        places = self._places.setdefault(touch.buffer, [])
        first = bisect_left(places, (touch.start, 0))
        behind = bisect_left(places, (end, 0))
        kept = [place for place in places[first:behind] if place[1] > end]
        places[first:behind] = sorted([*kept, (touch.start, end)])
        self._bytes += end - touch.start
        self._last[touch.buffer, touch.start, end] = self._bytes

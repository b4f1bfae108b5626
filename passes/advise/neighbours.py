"""Which dispatches are launched next to one, and which of them share its data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xpu_shark.simulator.touches import touches
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Command,
    Concurrent,
    Function,
    Launch,
    Repeat,
)


@dataclass(frozen=True)
class Neighbours:
    """Names of dispatches of the same function, empty where there is none: the first that reads a
    result, the last that makes an operand, the one launched next (or before, for the last)."""

    reader: str = ""
    maker: str = ""
    next: str = ""

    @property
    def closest(self) -> str:
        """The one that data passes to or from, else the next one."""
        return self.reader or self.maker or self.next


ALONE = Neighbours()


def neighbours(function: Function, name: str) -> Neighbours:
    """Those of the first launch of the dispatch `name` in `function`, with no collective between:
    no launch goes on behind what other devices have to send first."""
    pieces: list[list[Launch]] = [[]]
    for command in _flat(function.body):
        if isinstance(command, Launch):
            pieces[-1].append(command)
        else:
            pieces.append([])
    sites = next(piece for piece in pieces if any(site.kernel == name for site in piece))
    place = next(number for number, site in enumerate(sites) if site.kernel == name)
    after = [site for site in sites[place + 1 :] if site.kernel != name]
    before = [site for site in reversed(sites[:place]) if site.kernel != name]
    readers = [site.kernel for site in after if _passes(sites[place], site)]
    makers = [site.kernel for site in before if _passes(site, sites[place])]
    order = [site.kernel for site in (*after, *before)]
    return Neighbours(*(names[0] if names else "" for names in (readers, makers, order)))


def _flat(body: Iterable[Command]) -> Iterator[Launch | Collective]:
    """Launches and collectives in program order, those of every arm of a branch included."""
    for command in body:
        if isinstance(command, Launch | Collective):
            yield command
        elif isinstance(command, Concurrent | Repeat):
            yield from _flat(command.body)
        elif isinstance(command, Choice):
            for arm in command.arms:
                yield from _flat(arm)


def _passes(first: Launch, second: Launch) -> bool:
    """Whether `second` reads bytes that `first` writes, as far as the spans tell."""
    written = [touch for touch in touches(first, {}, {}) or () if touch.written]
    read = [touch for touch in touches(second, {}, {}) or () if not touch.written]
    return any(one.overlaps(other) for one in written for other in read)

"""What each command of a straight piece of the host program waits for.

A command needs the ones that wrote what it reads. Where others see the buffer it also needs those
that read or wrote what it overwrites; a transient buffer can be had twice, so there nothing but
the values counts. A command of which nobody knows what it touches keeps its place among all others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from xpu_shark.simulator.touches import Touch

Touches = tuple[Touch, ...] | None  # None: it may touch anything
_FAR = 1 << 62  # an end that nobody knows


class _Bytes:
    """Which command touched each byte of a buffer last: segments in order that do not overlap;
    `loose` ones, of which only a part may have been touched, may."""

    def __init__(self) -> None:
        self.segments: list[tuple[int, int, int]] = []
        self.loose: list[tuple[int, int, int]] = []

    def of(self, start: int, end: int) -> set[int]:
        first, last = self._range(start, end)
        found = {who for _, _, who in self.segments[first:last]}
        return found | {who for low, high, who in self.loose if low < end and start < high}

    def put(self, start: int, end: int, who: int) -> None:
        """From now on these bytes are `who`'s."""
        first, last = self._range(start, end)
        old = self.segments[first:last]
        self.segments[first:last] = [*_outside(old, start, end, (start, end, who))]
        if self.loose:
            self.loose = [*_outside(self.loose, start, end)]

    def clear(self, start: int, end: int) -> None:
        first, last = self._range(start, end)
        self.segments[first:last] = [*_outside(self.segments[first:last], start, end)]
        if self.loose:
            self.loose = [*_outside(self.loose, start, end)]

    def _range(self, start: int, end: int) -> tuple[int, int]:
        """The segments that overlap, as a slice."""
        last = bisect_left(self.segments, (end,))
        first = bisect_left(self.segments, (start,))
        return first - (first > 0 and self.segments[first - 1][1] > start), last


def _outside(
    segments: Iterable[tuple[int, int, int]], start: int, end: int, *inside: tuple[int, int, int]
) -> Iterator[tuple[int, int, int]]:
    """What is left of the segments before `start`, then `inside`, then what is left behind."""
    kept = list(segments)
    yield from ((low, min(high, start), who) for low, high, who in kept if low < start)
    yield from inside
    yield from ((max(low, end), high, who) for low, high, who in kept if high > end)


class _Buffer:
    def __init__(self) -> None:
        self.written, self.read = _Bytes(), _Bytes()


def dependences(touched: Sequence[Touches], groups: Sequence[object]) -> list[tuple[int, ...]]:
    """For each command, in program order, the earlier ones that it needs directly, ascending.

    Commands with one entry of `groups` are unordered by the program: none needs another.
    """
    buffers: dict[int, _Buffer] = {}
    barrier = -1  # the last command that may touch anything
    needs: list[tuple[int, ...]] = []
    for number, touches in enumerate(touched):
        found = {barrier} if barrier >= 0 else set()
        if touches is None:
            found |= set(range(max(barrier, 0), number))
            barrier = number
            buffers.clear()
        for touch in touches or ():
            found |= _before(buffers.setdefault(touch.buffer, _Buffer()), touch)
        for touch in sorted(touches or (), key=lambda touch: touch.written):
            _after(buffers[touch.buffer], touch, number)
        alone = {other for other in found if groups[other] != groups[number]}
        needs.append(tuple(sorted(alone)))
    return needs


def _before(buffer: _Buffer, touch: Touch) -> set[int]:
    span = (touch.start, _FAR if touch.end is None else touch.end)
    if not touch.written:
        return buffer.written.of(*span)
    return set() if touch.transient else buffer.written.of(*span) | buffer.read.of(*span)


def _after(buffer: _Buffer, touch: Touch, number: int) -> None:
    """Where only a part of the bytes may be written, what was there before may still be read."""
    span = (touch.start, _FAR if touch.end is None else touch.end)
    if touch.written and touch.exact:
        buffer.written.put(*span, number)
        buffer.read.clear(*span)
    elif touch.written:
        buffer.written.loose.append((*span, number))
    elif not touch.transient:
        buffer.read.loose.append((*span, number))


def reachable(needs: Sequence[Sequence[int]]) -> list[int]:
    """For each command the set of all that come before it, as bits by number."""
    before: list[int] = []
    for direct in needs:
        bits = 0
        for number in direct:
            bits |= before[number] | 1 << number
        before.append(bits)
    return before


def following(needs: Sequence[Sequence[int]]) -> list[int]:
    """For each command the set of all that come after it, as bits by number."""
    after = [0] * len(needs)
    for number in reversed(range(len(needs))):
        for need in needs[number]:
            after[need] |= after[number] | 1 << number
    return after

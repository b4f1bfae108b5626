"""What each command of a straight piece of the host program waits for.

A command needs the ones that wrote what it reads. Where others see the buffer it also needs those
that read or wrote what it overwrites; a transient buffer can be had twice, so there nothing but
the values counts. A command of which nobody knows what it touches keeps its place among all others.
"""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.simulator.touches import Touch

Touches = tuple[Touch, ...] | None  # None: it may touch anything
_FAR = 1 << 62  # an end that nobody knows


class _Bytes:
    """Which command touched each byte of a buffer last: segments that do not overlap."""

    def __init__(self) -> None:
        self.segments: list[tuple[int, int, int]] = []

    def of(self, start: int, end: int) -> set[int]:
        return {who for first, last, who in self.segments if first < end and start < last}

    def clear(self, start: int, end: int) -> None:
        kept = []
        for first, last, who in self.segments:
            kept += [(first, min(last, start), who)] if first < start else []
            kept += [(max(first, end), last, who)] if last > end else []
        self.segments = kept

    def add(self, start: int, end: int, who: int) -> None:
        self.segments.append((start, end, who))


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
    """Where only a part of the bytes is written, what was there before may still be read."""
    span = (touch.start, _FAR if touch.end is None else touch.end)
    if not touch.written:
        if not touch.transient:
            buffer.read.add(*span, number)
        return
    if touch.exact:
        buffer.written.clear(*span)
        buffer.read.clear(*span)
    buffer.written.add(*span, number)


def reachable(needs: Sequence[Sequence[int]]) -> list[int]:
    """For each command the set of all that come before it, as bits by number."""
    before: list[int] = []
    for direct in needs:
        bits = 0
        for number in direct:
            bits |= before[number] | 1 << number
        before.append(bits)
    return before

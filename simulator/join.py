"""Makes one loop of two where nothing stands between them: fewer levels for folding to climb.

A loop whose body is just another loop runs that loop's body count x count times, so joining
changes no instruction's place in its stream. It is done for a pair of tags only where every
stream that has one of them has them so: loops of one tag must go on advancing together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xpu_shark.simulator.program import Instruction, Loop, Stream

Body = tuple[Instruction | Loop, ...]


def join_loops(streams: Sequence[Stream]) -> tuple[Stream, ...]:
    """The same streams, pairs of tags joined as often as there are any."""
    pairs = _joinable(streams)
    while pairs:
        streams = [Stream(stream.name, _join(stream.body, pairs)) for stream in streams]
        pairs = _joinable(streams)
    return tuple(streams)


def _joinable(streams: Sequence[Stream]) -> dict[int, int]:
    """Outer tag to inner tag, no tag in two pairs."""
    inside: dict[int, set[int]] = {}  # tags of the loop that is all of a loop's body, or -1
    around: dict[int, set[int]] = {}  # tags of the loops that have nothing but this one, or -1
    for stream in streams:
        for outer, loop in _loops(stream.body, -1):
            around.setdefault(loop.tag, set()).add(outer)
            inside.setdefault(loop.tag, set()).add(_only(loop.body))
    pairs: dict[int, int] = {}
    for outer, inner in inside.items():
        tags = next(iter(inner))
        if len(inner) == 1 and tags >= 0 and around[tags] == {outer} and outer != tags:
            if outer not in pairs.values() and tags not in pairs:
                pairs[outer] = tags
    return pairs


def _loops(body: Body, alone_in: int) -> Iterator[tuple[int, Loop]]:
    """(tag of the loop that has nothing else in its body, loop), all levels."""
    for item in body:
        if isinstance(item, Loop):
            yield alone_in, item
            yield from _loops(item.body, item.tag if len(item.body) == 1 else -1)


def _only(body: Body) -> int:
    only = body[0] if len(body) == 1 else None
    return only.tag if isinstance(only, Loop) else -1


def _join(body: Body, pairs: dict[int, int]) -> Body:
    joined: list[Instruction | Loop] = []
    for item in body:
        if not isinstance(item, Loop):
            joined.append(item)
            continue
        inner = item.body[0] if item.tag in pairs else None
        if isinstance(inner, Loop):
            item = Loop(item.count * inner.count, inner.body, item.tag)
        joined.append(Loop(item.count, _join(item.body, pairs), item.tag))
    return tuple(joined)

"""The least time of buffers going round: who fills them waits for whoever empties them."""

from __future__ import annotations

from xpu_shark.simulator.margins import Items, Places, body_ps, executions
from xpu_shark.simulator.program import Instruction, Loop, Program


def turns_ps(program: Program, before: Places, after: Places) -> int:
    """No run of the program is shorter.

    One stream takes credits of a channel that starts with some and posts as many to another; a
    second stream takes those and gives the first ones back, one for one. So a turn of the first
    stream comes after the turn that many before it has gone all the way round: both services and
    both latencies. Such turns follow each other; `before` the first and `after` the last of them
    passes what `margins.py` says.
    """
    takers, givers = _ends(program)
    longest = 0
    for back, channel in enumerate(program.channels):
        if not channel.initial or back not in takers or back not in givers:
            continue
        (one, wait), (other, post) = takers[back], givers[back]
        full = {n for n, (reader, _) in takers.items() if reader == other}
        full = {n for n in full if not program.channels[n].initial}
        there = _filled(program.streams[one].body, back, full)
        if there is None:
            continue
        first = _turn(program.streams[one].body, back, there)
        second = _turn(program.streams[other].body, there, back)
        if first is None or second is None or first[1] != second[1]:
            continue
        (fill, count, _), (empty, _, latency) = first, second
        rounds = (count - 1) // channel.initial
        margin = before[one, id(wait)] + after[other, id(post)]
        longest = max(longest, margin + rounds * (fill + empty) + fill + empty - latency)
    return longest


Ends = dict[int, tuple[int, Instruction]]


def _ends(program: Program) -> tuple[Ends, Ends]:
    """By channel: the stream that waits on it, with the first instruction that does; the stream
    that posts to it, with the last."""
    takers: Ends = {}
    givers: Ends = {}
    for number, stream in enumerate(program.streams):
        for instruction, _ in executions(stream.body):
            for channel, _ in instruction.waits:
                takers.setdefault(channel, (number, instruction))
            for channel, _ in instruction.posts:
                givers[channel] = (number, instruction)
    return takers, givers


def _filled(body: Items, taken: int, channels: set[int]) -> int | None:
    """The first of `channels` that is posted to once a credit of `taken` is there."""
    waiting = False
    for instruction, _ in executions(body):
        waiting |= any(channel == taken for channel, _ in instruction.waits)
        for channel, _ in instruction.posts if waiting else ():
            if channel in channels:
                return channel
    return None


def _turn(body: Items, taken: int, given: int) -> tuple[int, int, int] | None:
    """(least time from a wait on `taken` to the credit for `given`, how many there are, the most
    of it that is latency), None where the two do not alternate, one credit at a time, in every
    body of the code."""
    found: list[tuple[int, int, int]] = []
    now = -1  # since the wait; -1 where none is open
    for item in body:
        if isinstance(item, Loop):
            inside = _turn(item.body, taken, given)
            if inside is None or (inside[1] and now >= 0):
                return None
            if inside[1]:
                found.append((inside[0], item.count * inside[1], inside[2]))
            elif now >= 0:
                now += item.count * body_ps(item.body)
            continue
        waits, posts = _credits(item.waits, taken), _credits(item.posts, given)
        if waits > 1 or posts > 1 or (waits and now >= 0) or (posts and now < 0 and not waits):
            return None
        now = 0 if waits else now
        now += item.service_ps if now >= 0 else 0
        if posts:
            found.append((now + item.latency_ps, 1, item.latency_ps))
            now = -1
    if now >= 0:
        return None
    least = min((time for time, _, _ in found), default=0)
    return least, sum(n for _, n, _ in found), max((late for *_, late in found), default=0)


def _credits(uses: tuple[tuple[int, int], ...], channel: int) -> int:
    return sum(credits for number, credits in uses if number == channel)

"""What has to come before each instruction of a program first runs, and after it last has."""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.simulator.program import Instruction, Loop, Program

Items = tuple[Instruction | Loop, ...]
ROUNDS = 16  # of following credits from stream to stream; what is found so far is a bound as well


def executions(body: Items, times: int = 1) -> Iterator[tuple[Instruction, int]]:
    """Every instruction of `body` with how often it runs."""
    for item in body:
        if isinstance(item, Loop):
            yield from executions(item.body, times * item.count)
        else:
            yield item, times


Places = dict[tuple[int, int], int]  # by stream and instruction


def heads(program: Program) -> Places:
    """The least time at which each instruction starts for the first time."""
    lines = [list(_first(stream.body)) for stream in program.streams]
    initial = [channel.initial for channel in program.channels]
    ready: dict[int, int] = {}  # when the first credit of a channel can be there
    for _ in range(ROUNDS):
        found: dict[int, int] = {}
        first: Places = {}
        for number, line in enumerate(lines):
            now = 0
            for item in line:
                if isinstance(item, int):
                    now += item
                    continue
                for channel, credits in item.waits:
                    if initial[channel] < credits:
                        now = max(now, ready.get(channel, 0))
                first.setdefault((number, id(item)), now)
                now += item.service_ps
                for channel, _ in item.posts:
                    found.setdefault(channel, now + item.latency_ps)
        if found == ready:
            break
        ready = found
    return first


def tails(program: Program) -> Places:
    """The least time from the end of each instruction's last execution to the program's."""
    lines = [list(_last(stream.body)) for stream in program.streams]
    coupled = _coupled(program)
    after: dict[int, int] = {}  # from the last credit of a channel to the end
    for _ in range(ROUNDS):
        found: dict[int, int] = {}
        last: Places = {}
        for number, line in enumerate(lines):
            left, seen = 0, set()
            for item in line:
                if isinstance(item, int):
                    left += item
                    continue
                for channel, _ in item.posts:
                    if channel in coupled and channel not in seen:
                        seen.add(channel)
                        left = max(left, item.latency_ps + after.get(channel, 0))
                last.setdefault((number, id(item)), left)
                left += item.service_ps
                for channel, _ in item.waits:
                    found.setdefault(channel, left)
        if found == after:
            break
        after = found
    return last


def _first(body: Items) -> Iterator[Instruction | int]:
    """Instructions as they first run, each loop's other turns as the time that they take."""
    for item in body:
        if isinstance(item, Loop):
            yield from _first(item.body)
            yield (item.count - 1) * body_ps(item.body)
        else:
            yield item


def _last(body: Items) -> Iterator[Instruction | int]:
    """Instructions as they last run, from the last one back, likewise."""
    for item in reversed(body):
        if isinstance(item, Loop):
            yield from _last(item.body)
            yield (item.count - 1) * body_ps(item.body)
        else:
            yield item


def body_ps(body: Items) -> int:
    return sum(times * instruction.service_ps for instruction, times in executions(body))


def _coupled(program: Program) -> set[int]:
    """Channels whose last wait takes a credit of their last post: before it there are fewer than
    all waits take."""
    left = [channel.initial for channel in program.channels]
    for stream in program.streams:
        for instruction, times in executions(stream.body):
            for channel, credits in instruction.posts:
                left[channel] += times * credits
            for channel, credits in instruction.waits:
                left[channel] -= times * credits
    posted: dict[int, int] = {}
    for stream in program.streams:
        for item in _last(stream.body):
            if isinstance(item, Instruction):
                for channel, credits in item.posts:
                    posted.setdefault(channel, credits)
    return {channel for channel, credits in posted.items() if left[channel] < credits}

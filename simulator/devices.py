"""Many identical devices: the program of all of them, or the one that stands for all.

Devices run the same program and are joined by *links*: channels whose credits another device
gets. Where every device does the same, and a credit from another device is never visible at the
very time it was sent, device 0's next step is every device's next step: their clocks agree for
ever, so what arrives from a neighbour arrives when one's own would. Then one device whose links
lead back to itself has the timeline of each of them, to the picosecond (docs/exactness.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from xpu_shark.simulator.engine import run
from xpu_shark.simulator.program import (
    Channel,
    Instruction,
    Loop,
    Program,
    Resource,
    Stream,
    instructions,
)
from xpu_shark.simulator.timeline import StreamTimes, Timeline

MARK = " @"  # between the name of a stream and the number of its device

# links[channel][device]: the device that gets the credits which `device` posts on `channel`.
Links = Mapping[int, Sequence[int]]


def run_devices(program: Program, count: int, links: Links, *, fold: bool = True) -> list[Timeline]:
    """The timeline of each of `count` devices that all run `program`.

    Every entry of `links` is a permutation of the devices; other channels stay inside. With
    `fold`, one device is simulated where it can stand for all. Raises `ProgramError` where the
    program is malformed or cannot move on, `ValueError` where a link is no permutation.
    """
    for channel, peers in links.items():
        if sorted(peers) != list(range(count)):
            name = program.channels[channel].name
            raise ValueError(f"link {name}: expected a permutation of {count} devices, got {peers}")
    if fold and stands_for_all(program, links):
        return [run(program)] * count
    whole = run(replicate(program, count, links), fold=fold)
    return [_device(whole, program, number) for number in range(count)]


def stands_for_all(program: Program, links: Links) -> bool:
    """Whether every credit that leaves a device takes time, so that no order of devices within
    one picosecond can matter."""
    return all(
        instruction.service_ps + instruction.latency_ps > 0
        for stream in program.streams
        for instruction in instructions(stream.body)
        for channel, _ in instruction.posts
        if channel in links
    )


def replicate(program: Program, count: int, links: Links) -> Program:
    """`count` copies with their links joined. Ties go by name: a blank before the device sorts
    below what names are made of, so the streams of a device keep their order."""
    width = len(str(count))
    streams, channels, resources = [], [], []
    for device in range(count):
        suffix = f"{MARK}{device:0{width}}"
        copy = _Copy(program, device, {c: _source(links[c], device) for c in links})
        streams += [Stream(s.name + suffix, copy.body(s.body)) for s in program.streams]
        channels += [Channel(c.name + suffix, c.cause, c.initial) for c in program.channels]
        resources += [Resource(r.name + suffix) for r in program.resources]
    return Program(tuple(streams), tuple(channels), tuple(resources))


class _Copy:
    """Renumbers one device's code. A link's channel is numbered as its sender's, so a wait is
    on the channel of the device that sends here."""

    def __init__(self, program: Program, device: int, senders: dict[int, int]) -> None:
        self.device, self.senders = device, senders
        self.channels, self.resources = len(program.channels), len(program.resources)
        self.tags = 1 + max((_last_tag(stream.body) for stream in program.streams), default=0)

    def body(self, items: tuple[Instruction | Loop, ...]) -> tuple[Instruction | Loop, ...]:
        return tuple(
            Loop(item.count, self.body(item.body), self.device * self.tags + item.tag)
            if isinstance(item, Loop)
            else self._instruction(item)
            for item in items
        )

    def _instruction(self, item: Instruction) -> Instruction:
        own = self.device
        return msgspec.structs.replace(
            item,
            resource=own * self.resources + item.resource,
            waits=tuple((self.senders.get(c, own) * self.channels + c, n) for c, n in item.waits),
            posts=tuple((own * self.channels + c, n) for c, n in item.posts),
        )


def _last_tag(body: tuple[Instruction | Loop, ...]) -> int:
    loops = [item for item in body if isinstance(item, Loop)]
    return max((max(loop.tag, _last_tag(loop.body)) for loop in loops), default=0)


def _source(peers: Sequence[int], device: int) -> int:
    return list(peers).index(device)


def _device(whole: Timeline, program: Program, number: int) -> Timeline:
    """Device `number`'s part of the timeline of all, which lasts as long as the whole."""
    streams, resources = len(program.streams), len(program.resources)
    own = whole.streams[number * streams : (number + 1) * streams]
    used = whole.resources[number * resources : (number + 1) * resources]
    named = tuple(
        StreamTimes(
            stream.name,
            times.busy_ps,
            _own_names(times.stalls_ps),
            times.idle_ps,
            times.instructions,
        )
        for stream, times in zip(program.streams, own, strict=True)
    )
    plain = tuple(
        msgspec.structs.replace(use, name=resource.name)
        for use, resource in zip(used, program.resources, strict=True)
    )
    return Timeline(whole.time_ps, named, plain, whole.steps)


def _own_names(stalls: Mapping[str, int]) -> dict[str, int]:
    """Causes without the device that a resource's name carries."""
    totals: dict[str, int] = {}
    for cause, time in stalls.items():
        own = cause.rsplit(MARK, 1)[0]
        totals[own] = totals.get(own, 0) + time
    return dict(sorted(totals.items()))

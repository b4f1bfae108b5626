"""Random programs: nested loops in several streams, coupled by bounded channels and resources."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from xpu_shark.simulator.program import Channel, Instruction, Loop, Program, Resource, Stream


def random_program(rng: random.Random, *, most_streams: int = 12) -> Program:
    """Streams share loop tags, not always trip counts; a channel pair couples two of them at one
    loop level with data one way and 1 to 4 free buffers the other way. Some deadlock."""
    depth = rng.randint(1, 4)
    trips = [
        rng.choice((1, 2, 3, 5, 12, 30)) if depth < 4 else rng.randint(1, 6) for _ in range(depth)
    ]
    streams, resources = rng.randint(1, most_streams), rng.randint(1, most_streams)
    slots = [
        [_slot(rng, resources, level == depth - 1) for level in range(depth)]
        for _ in range(streams)
    ]
    channels: list[Channel] = []
    for reader in range(1, streams):
        if rng.random() < 0.85:
            _couple(rng, channels, slots[rng.randrange(reader)], slots[reader])
    built = tuple(
        Stream(f"s{number}", (_nest(rng, slots[number], trips, 0),)) for number in range(streams)
    )
    return Program(built, tuple(channels), tuple(Resource(f"r{n}") for n in range(resources)))


@dataclass
class Draft:
    """An instruction before its channels are known."""

    resource: int
    service: int
    latency: int
    waits: list[tuple[int, int]] = field(default_factory=list)
    posts: list[tuple[int, int]] = field(default_factory=list)


Slot = list[Draft]  # the instructions of one stream at one loop level


def _slot(rng: random.Random, resources: int, must: bool) -> Slot:
    count = rng.randint(1, 2) if must or rng.random() < 0.7 else 0
    return [
        Draft(rng.randrange(resources), rng.choice((0, 1, 3, 7, 10)), rng.choice((0, 0, 2, 30)))
        for _ in range(count)
    ]


def _couple(
    rng: random.Random, channels: list[Channel], writer: list[Slot], reader: list[Slot]
) -> None:
    for level, (source, target) in enumerate(zip(writer, reader, strict=True)):
        if not source or not target or rng.random() < 0.25:
            continue
        data, free = len(channels), len(channels) + 1
        channels.append(Channel(f"data{data}", f"data{level}", 0))
        channels.append(Channel(f"free{free}", f"free{level}", rng.randint(1, 4)))
        source[0].posts.append((data, 1))
        source[0].waits.append((free, 1))
        target[-1].waits.append((data, 1))
        target[-1].posts.append((free, 1))


def _nest(rng: random.Random, slots: list[Slot], trips: list[int], level: int) -> Loop:
    items: list[Instruction | Loop] = [
        Instruction(
            slot.resource,
            slot.service,
            slot.latency,
            tuple(slot.waits),
            tuple(slot.posts),
            slot.service,
        )
        for slot in slots[level]
    ]
    if level + 1 < len(slots):
        items.insert(rng.randint(0, len(items)), _nest(rng, slots, trips, level + 1))
    more = 1 if rng.random() < 0.03 else 0  # unequal trip counts: fine, or a deadlock to name
    return Loop(trips[level] + more, tuple(items), level)

"""Splits a program into parts that no channel and no resource couples, and joins their results."""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.program import Channel, Instruction, Loop, Program, Stream, instructions
from xpu_shark.simulator.timeline import Event, ResourceUse, StreamTimes, Timeline


class Part(msgspec.Struct, frozen=True):
    """One coupled part; the tuples map its numbers to the whole program's."""

    program: Program
    streams: tuple[int, ...]
    resources: tuple[int, ...]


def split(program: Program) -> list[Part]:
    """Coupled parts in the order of their first stream."""
    group = list(range(len(program.streams)))
    owner: dict[tuple[str, int], int] = {}
    for number, stream in enumerate(program.streams):
        for key in _uses(stream):
            _join(group, owner.setdefault(key, number), number)
    members: dict[int, list[int]] = {}
    for number in range(len(program.streams)):
        members.setdefault(_find(group, number), []).append(number)
    if len(members) == 1 and len(program.streams) > 0:
        everything = tuple(range(len(program.streams)))
        return [Part(program, everything, tuple(range(len(program.resources))))]
    return [_part(program, tuple(streams)) for streams in members.values()]


def merge(program: Program, parts: list[Part], timelines: list[Timeline]) -> Timeline:
    """The whole program's timeline: as long as its longest part."""
    end = max((timeline.time_ps for timeline in timelines), default=0)
    streams: dict[int, StreamTimes] = {}
    resources = [ResourceUse(resource.name, 0, 0) for resource in program.resources]
    events: list[Event] = []
    for part, timeline in zip(parts, timelines, strict=True):
        for number, times in zip(part.streams, timeline.streams, strict=True):
            idle = times.idle_ps + end - timeline.time_ps
            streams[number] = msgspec.structs.replace(times, idle_ps=idle)
        for number, use in zip(part.resources, timeline.resources, strict=True):
            resources[number] = use
        events.extend(_renumber(part, event) for event in timeline.events)
    events.sort(key=lambda event: (event.ready_ps, program.streams[event.stream].name))
    steps = sum(timeline.steps for timeline in timelines)
    ordered = tuple(streams[number] for number in range(len(program.streams)))
    return Timeline(end, ordered, tuple(resources), steps, tuple(events))


def _uses(stream: Stream) -> list[tuple[str, int]]:
    keys: dict[tuple[str, int], None] = {}
    for instruction in instructions(stream.body):
        keys["resource", instruction.resource] = None
        for channel, _ in (*instruction.waits, *instruction.posts):
            keys["channel", channel] = None
    return list(keys)


def _part(program: Program, streams: tuple[int, ...]) -> Part:
    keys = sorted({key for number in streams for key in _uses(program.streams[number])})
    channels = [number for kind, number in keys if kind == "channel"]
    resources = [number for kind, number in keys if kind == "resource"]
    new_channel = {old: new for new, old in enumerate(channels)}
    new_resource = {old: new for new, old in enumerate(resources)}
    renamed = tuple(
        Stream(
            program.streams[number].name,
            _rename(program.streams[number].body, new_channel, new_resource),
        )
        for number in streams
    )
    kept: tuple[Channel, ...] = tuple(program.channels[number] for number in channels)
    inner = Program(renamed, kept, tuple(program.resources[number] for number in resources))
    return Part(inner, streams, tuple(resources))


def _rename(
    body: tuple[Instruction | Loop, ...], channel: dict[int, int], resource: dict[int, int]
) -> tuple[Instruction | Loop, ...]:
    return tuple(
        Loop(item.count, _rename(item.body, channel, resource), item.tag)
        if isinstance(item, Loop)
        else msgspec.structs.replace(
            item,
            resource=resource[item.resource],
            waits=tuple((channel[c], n) for c, n in item.waits),
            posts=tuple((channel[c], n) for c, n in item.posts),
        )
        for item in body
    )


def _renumber(part: Part, event: Event) -> Event:
    return msgspec.structs.replace(
        event, stream=part.streams[event.stream], resource=part.resources[event.resource]
    )


def _find(group: list[int], number: int) -> int:
    while group[number] != number:
        group[number] = group[group[number]]
        number = group[number]
    return number


def _join(group: list[int], a: int, b: int) -> None:
    root_a, root_b = _find(group, a), _find(group, b)
    if root_a != root_b:
        group[max(root_a, root_b)] = min(root_a, root_b)

"""What a run of a program gave: times, and where every stream's time went."""

from __future__ import annotations

import msgspec


class StreamTimes(msgspec.Struct, frozen=True):
    """`busy_ps` + sum of `stalls_ps` + `idle_ps` is the timeline's `time_ps`.

    `stalls_ps` is by cause: the cause of the channel whose credit came last, or the name of the
    resource that others held. `idle_ps` is the time after the stream's last instruction.
    """

    name: str
    busy_ps: int
    stalls_ps: dict[str, int]
    idle_ps: int
    instructions: int


class ResourceUse(msgspec.Struct, frozen=True):
    """Time that one resource worked and the bytes that its instructions carried."""

    name: str
    busy_ps: int
    bytes: int


class Event(msgspec.Struct, frozen=True):
    """One instruction as it ran; recorded only on request, and then nothing is folded."""

    stream: int
    resource: int
    ready_ps: int
    start_ps: int
    end_ps: int


class Timeline(msgspec.Struct, frozen=True):
    """`time_ps` is when the last result is visible. `steps` is the number of instructions that
    the engine executed one by one; the rest was folded."""

    time_ps: int
    streams: tuple[StreamTimes, ...]
    resources: tuple[ResourceUse, ...]
    steps: int
    events: tuple[Event, ...] = ()

"""Collects instruction streams while a program is built: channels, resources, bodies."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import msgspec

from xpu_shark.simulator.join import join_loops
from xpu_shark.simulator.program import Channel, Instruction, Loop, Program, Resource, Stream

Item = Instruction | Loop
Bodies = dict[str, list[Item]]  # stream name -> code


class Emitter:
    """Numbers channels, resources and loop tags by key, so that a loop's whole and edge copies
    share them. A *sync* is an instruction that takes no time and no shared resource: it only
    waits or posts."""

    def __init__(self) -> None:
        self._channels: dict[Hashable, int] = {}
        self._channel_list: list[Channel] = []
        self._resources: dict[str, int] = {}
        self._tags: dict[Hashable, int] = {}

    def channel(self, key: Hashable, cause: str, initial: int = 0) -> int:
        number = self._channels.get(key)
        if number is None:
            number = self._channels[key] = len(self._channel_list)
            self._channel_list.append(Channel(f"{cause}#{number}", cause, initial))
        return number

    def tag(self, key: Hashable) -> int:
        return self._tags.setdefault(key, len(self._tags))

    def resource(self, name: str) -> int:
        return self._resources.setdefault(name, len(self._resources))

    def wait(self, bodies: Bodies, stream: str, channel: int) -> None:
        self._sync(bodies, stream, waits=((channel, 1),))

    def post(self, bodies: Bodies, stream: str, channel: int, latency_ps: int = 0) -> None:
        self._sync(bodies, stream, posts=((channel, 1),), latency_ps=latency_ps)

    def program(self, bodies: Bodies, first: Bodies | None = None) -> Program:
        """`first` goes before each stream's code and stays apart from it: a wait for the launch
        is not a wait for the first operand."""
        start = first or {}
        streams = tuple(
            Stream(name, (*start.get(name, ()), *merge_syncs(body)))
            for name, body in bodies.items()
            if body
        )
        resources = tuple(map(Resource, self._resources))
        return Program(join_loops(streams), tuple(self._channel_list), resources)

    def _sync(
        self,
        bodies: Bodies,
        stream: str,
        waits: tuple[tuple[int, int], ...] = (),
        posts: tuple[tuple[int, int], ...] = (),
        latency_ps: int = 0,
    ) -> None:
        issue = self.resource(f"{stream}.issue")
        bodies.setdefault(stream, []).append(Instruction(issue, 0, latency_ps, waits, posts))


def merge_syncs(body: Iterable[Item]) -> tuple[Item, ...]:
    """Give a sync's waits to the instruction after it, and posts without latency to the one
    before it: fewer instructions, same times."""
    result: list[Item] = []
    for item in body:
        if isinstance(item, Loop):
            result.append(Loop(item.count, merge_syncs(item.body), item.tag))
            continue
        last = result[-1] if result else None
        if isinstance(last, Instruction) and _waits_only(last):
            result[-1] = msgspec.structs.replace(item, waits=last.waits + item.waits)
        elif isinstance(last, Instruction) and _posts_only(item) and last.latency_ps == 0:
            result[-1] = msgspec.structs.replace(last, posts=last.posts + item.posts)
        else:
            result.append(item)
    return tuple(result)


def extend(bodies: Bodies, more: Bodies) -> None:
    for stream, items in more.items():
        bodies.setdefault(stream, []).extend(items)


def loop(bodies: Bodies, count: int, tag: int) -> Bodies:
    """Every stream's code `count` times."""
    if count == 1:
        return bodies
    return {stream: [Loop(count, tuple(items), tag)] for stream, items in bodies.items() if items}


def _waits_only(item: Instruction) -> bool:
    return item.service_ps == item.latency_ps == item.bytes == 0 and not item.posts


def _posts_only(item: Instruction) -> bool:
    return item.service_ps == item.latency_ps == item.bytes == 0 and not item.waits

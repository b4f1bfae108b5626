"""The xPU's machine code: in-order instruction streams coupled by channels and resources.

A program is data. Loops are counted, never unrolled, so its size does not depend on the work.
"""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True):
    """Base of all program data."""


class Resource(Struct, frozen=True):
    """Something that serves one instruction at a time, first come, first served."""

    name: str


class Channel(Struct, frozen=True):
    """Credits from one producing stream to one consuming stream.

    `initial` credits are there at time 0: the depth of a buffer that starts empty. `cause` is
    what a consumer waits for when it waits here: "hbm", "buffer", "matrix", "launch", ...
    """

    name: str
    cause: str
    initial: int = 0


class Instruction(Struct, frozen=True):
    """Occupies `resource` and its own stream for `service_ps`; its posts are visible
    `latency_ps` after that. Waits and posts are (channel, credits) pairs; `bytes` is traffic."""

    resource: int
    service_ps: int
    latency_ps: int = 0
    waits: tuple[tuple[int, int], ...] = ()
    posts: tuple[tuple[int, int], ...] = ()
    bytes: int = 0


class Loop(Struct, frozen=True):
    """`body` executed `count` times. Loops with one `tag` advance together in several streams."""

    count: int
    body: tuple[Instruction | Loop, ...]
    tag: int


class Stream(Struct, frozen=True):
    """One in-order queue of one device. Its place in `Program.streams` is its number."""

    name: str
    body: tuple[Instruction | Loop, ...]


class Program(Struct, frozen=True):
    streams: tuple[Stream, ...]
    channels: tuple[Channel, ...]
    resources: tuple[Resource, ...]


class ProgramError(ValueError):
    """A program is malformed or cannot move on; the message names streams and channels."""


def check(program: Program) -> None:
    """Every channel has at most one producer and one consumer; every number is in range."""
    producer: dict[int, str] = {}
    consumer: dict[int, str] = {}
    for stream in program.streams:
        for instruction in instructions(stream.body):
            _check_instruction(program, stream.name, instruction)
            for channel, _ in instruction.posts:
                _claim(program, producer, channel, stream.name, "producer")
            for channel, _ in instruction.waits:
                _claim(program, consumer, channel, stream.name, "consumer")


def instructions(body: tuple[Instruction | Loop, ...]) -> list[Instruction]:
    """The distinct instructions of `body`, loops entered once, in program order."""
    found: list[Instruction] = []
    for item in body:
        if isinstance(item, Loop):
            found.extend(instructions(item.body))
        else:
            found.append(item)
    return found


def _check_instruction(program: Program, stream: str, instruction: Instruction) -> None:
    if not 0 <= instruction.resource < len(program.resources):
        raise ProgramError(f"stream {stream}: no resource {instruction.resource}")
    if min(instruction.service_ps, instruction.latency_ps, instruction.bytes) < 0:
        raise ProgramError(f"stream {stream}: negative time or bytes in {instruction}")
    for channel, credits in (*instruction.waits, *instruction.posts):
        if not 0 <= channel < len(program.channels) or credits < 1:
            raise ProgramError(f"stream {stream}: bad channel use {(channel, credits)}")


def _claim(program: Program, owners: dict[int, str], channel: int, stream: str, role: str) -> None:
    if owners.setdefault(channel, stream) != stream:
        name = program.channels[channel].name
        raise ProgramError(f"channel {name} has two {role}s: {owners[channel]} and {stream}")

"""Says why a program cannot move on: which streams wait for which credits, round the cycle."""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.simulator.code import Op, StreamState
from xpu_shark.simulator.program import Program, instructions


def explain(program: Program, streams: Sequence[StreamState], credits: Sequence[int]) -> str:
    """One line: the cycle of streams that wait for each other, or the chain of waits that ends
    at a stream which has finished or at a channel that nothing posts to.

    `credits[c]` is how many credits channel c holds. The chain starts at the first stuck stream
    by name, so the line does not depend on the order in which streams are listed.
    """
    producer = _producers(program)
    stuck = {stream.number: stream for stream in streams if not stream.finished}
    number = min(stuck, key=lambda n: program.streams[n].name)
    chain: list[int] = []
    while number in stuck and number not in chain:
        chain.append(number)
        number = producer.get(stuck[number].blocked, -1)
    cycle = chain[chain.index(number) :] if number in chain else chain
    waits = ", ".join(_wait(program, stuck[n], credits) for n in cycle)
    if number in chain:
        return f"deadlock: {waits}"
    missing = "which nothing posts to" if number < 0 else _ended(program, number)
    return f"deadlock: {waits}, {missing}"


def _wait(program: Program, stream: StreamState, credits: Sequence[int]) -> str:
    op = stream.code[stream.pc]
    assert isinstance(op, Op)
    need = next(count for channel, count in op.waits if channel == stream.blocked)
    name, channel = program.streams[stream.number].name, program.channels[stream.blocked].name
    return f"{name} waits on {channel} (has {credits[stream.blocked]} of {need} credits)"


def _ended(program: Program, number: int) -> str:
    return f"which {program.streams[number].name} has finished posting to"


def _producers(program: Program) -> dict[int, int]:
    return {
        channel: number
        for number, stream in enumerate(program.streams)
        for instruction in instructions(stream.body)
        for channel, _ in instruction.posts
    }

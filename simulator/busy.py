"""The least time of a program, whatever waits for what: work that one place must do in turn."""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.simulator.program import Instruction, Loop, Program


def least_ps(program: Program) -> int:
    """The largest total of service times over all resources and all streams.

    A resource serves one instruction at a time and a stream is in order, so no run of the
    program is shorter. Loops are counted: the cost is the size of the code.
    """
    resources = [0] * len(program.resources)
    longest = 0
    for stream in program.streams:
        own = 0
        for instruction, times in executions(stream.body):
            busy = times * instruction.service_ps
            resources[instruction.resource] += busy
            own += busy
        longest = max(longest, own)
    return max(longest, *resources, 0)


def executions(
    body: tuple[Instruction | Loop, ...], times: int = 1
) -> Iterator[tuple[Instruction, int]]:
    """Every instruction of `body` with how often it runs."""
    for item in body:
        if isinstance(item, Loop):
            yield from executions(item.body, times * item.count)
        else:
            yield item, times

"""The least time of a program: work that one place must do in turn, and buffers going round,
with what has to come before the first and after the last of it."""

from __future__ import annotations

from xpu_shark.simulator.margins import executions, heads, tails
from xpu_shark.simulator.program import Program
from xpu_shark.simulator.turns import turns_ps


def least_ps(program: Program) -> int:
    """No run of the program is shorter.

    A resource serves one instruction at a time and a stream is in order, so each is busy for the
    sum of its service times. Before that passes at least what the first instruction waits for:
    the first credit of each channel, and what the stream that posts it waited for in turn. After
    it passes what cannot start before the last credit is posted. Loops are counted: the cost is
    the size of the code.
    """
    before, after = heads(program), tails(program)
    resources: dict[int, tuple[int, int, int]] = {}
    longest = 0
    for number, stream in enumerate(program.streams):
        own, first, last = 0, None, 0
        for instruction, times in executions(stream.body):
            if not instruction.service_ps:
                continue
            busy = times * instruction.service_ps
            place = (number, id(instruction))
            head, tail = before[place], after[place]
            least_head, least_tail, sum_ = resources.get(instruction.resource, (head, tail, 0))
            resources[instruction.resource] = (
                min(least_head, head),
                min(least_tail, tail),
                sum_ + busy,
            )
            own += busy
            first, last = head if first is None else first, tail
        longest = max(longest, (first or 0) + own + last)
    return max(longest, turns_ps(program, before, after), *map(sum, resources.values()), 0)

"""Programs in the form that the engine runs: every loop flattened to a begin and an end mark."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from xpu_shark.simulator.program import Instruction, Loop


@dataclass(slots=True, eq=False)
class Op:
    """One place in a stream's code that holds an instruction, and how often it has run.

    `waits` and `posts` are (channel, credits); posts that nobody reads are left out, and the
    engine resolves both to the channels' queues in `takes` and `gives`. `straight`: an
    instruction follows. `back`: the end of the innermost loop follows, which goes back to an
    instruction; the two common cases need no look at the loop marks.
    """

    resource: int
    service_ps: int
    latency_ps: int
    waits: tuple[tuple[int, int], ...]
    posts: tuple[tuple[int, int], ...]
    bytes: int
    straight: bool = False
    back: End | None = None
    takes: tuple[tuple[deque[int], int, int], ...] = ()  # (queue, credits, channel)
    gives: tuple[tuple[deque[int], int, int, StreamState], ...] = ()  # ... and who waits there
    executed: int = 0


@dataclass(slots=True, eq=False)
class Begin:
    """Enter a loop: push a counter."""

    count: int
    tag: int


@dataclass(slots=True, eq=False)
class End:
    """Close an iteration: go back to `start` or pop the counter. `watched`: whether the engine
    reports new iterations to the folder."""

    count: int
    tag: int
    start: int
    watched: bool = False


Code = list[Op | Begin | End]


@dataclass(slots=True, eq=False)
class StreamState:
    """Where one stream is. `tags`, `done` and `counts` are its loops, outermost first."""

    number: int
    rank: int  # place among the streams sorted by name: breaks ties
    code: Code
    pc: int = 0
    tags: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    clock: int = 0
    blocked: int = -1  # channel that lacks credits, or -1
    pending: bool = False  # ready, waits for its turn
    iterated: int = -1  # tag of the watched loop whose next iteration starts here, or -1
    visible: int = 0  # when the last of its results is
    stalls: dict[str, int] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return self.pc == len(self.code)

    def advance(self, end: End) -> None:
        """Move over the end of a loop that starts with an instruction."""
        done = self.done[-1] + 1
        if done < end.count:
            self.done[-1] = done
            self.pc = end.start
            if end.watched:
                self.iterated = end.tag
        else:
            self.enter()

    def enter(self) -> None:
        """Move from a loop mark to the instruction after it, through loop ends and beginnings."""
        code, pc = self.code, self.pc
        while pc < len(code):
            op = code[pc]
            if isinstance(op, Op):
                break
            if isinstance(op, Begin):
                self.tags.append(op.tag)
                self.counts.append(op.count)
                self.done.append(0)
                pc += 1
                continue
            self.done[-1] += 1
            if self.done[-1] < op.count:
                if op.watched:
                    self.iterated = op.tag
                pc = op.start
            else:
                self.tags.pop()
                self.counts.pop()
                self.done.pop()
                pc += 1
        self.pc = pc


def flatten(body: tuple[Instruction | Loop, ...], read: frozenset[int]) -> Code:
    """The code of `body`; `read` are the channels that some stream waits on."""
    code = _flatten(body, read)
    for place in range(len(code) - 1):
        op = code[place]
        if isinstance(op, Op):
            after = code[place + 1]
            op.straight = isinstance(after, Op)
            if isinstance(after, End) and isinstance(code[after.start], Op):
                op.back = after
    return code


def _flatten(body: tuple[Instruction | Loop, ...], read: frozenset[int]) -> Code:
    code: Code = []
    for item in body:
        if isinstance(item, Instruction):
            code.append(_op(item, read))
            continue
        inner = _flatten(item.body, read)
        if item.count < 1 or not inner:
            continue
        code.append(Begin(item.count, item.tag))
        offset = len(code)
        for op in inner:
            if isinstance(op, End):
                op.start += offset
        code += [*inner, End(item.count, item.tag, offset)]
    return code


def _op(item: Instruction, read: frozenset[int]) -> Op:
    posts = tuple(post for post in item.posts if post[0] in read)
    return Op(item.resource, item.service_ps, item.latency_ps, item.waits, posts, item.bytes)

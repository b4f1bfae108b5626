"""Who sends to whom in a send_recv: the tables that the host program looks up by rank."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from iree.compiler import ir

from xpu_shark.passes.bridge.host_frame import Frame

Pairs = tuple[tuple[int, int], ...]  # (who sends, who receives), by rank
NOBODY = 0xFFFF  # IREE packs (whom to send to) | (whom to receive from) << 16, -1 for nobody
SHIFT = 16


class Mismatch(ValueError):
    """A rank sends what its peer does not receive; the message names both."""


def partners(frame: Frame, op: ir.Operation, group: int) -> Pairs:
    """Pairs of a `stream.cmd.collective<send_recv>` over `group` ranks, 0 for as many as its tables
    have; () where the program does not say. Raises `Mismatch`."""
    channel, _, *others = op.operands
    if not op.attributes["operandSegmentSizes"][2]:
        return ()
    group = group or _ranks(others[0])
    packed = [by_rank(frame, others[0], channel, rank) for rank in range(group)]
    sends: dict[int, int] = {}
    receives: dict[int, int] = {}
    for rank, value in enumerate(packed):
        if value is None:
            return ()
        to, source = value & NOBODY, value >> SHIFT & NOBODY
        if to != NOBODY:
            sends[rank] = to
        if source != NOBODY:
            receives[rank] = source
    _check(sends, receives, group)
    return tuple(sorted(sends.items()))


def _check(sends: Mapping[int, int], receives: Mapping[int, int], group: int) -> None:
    for rank, to in sends.items():
        if receives.get(to) != rank:
            raise Mismatch(
                f"rank {rank} sends to rank {to}, which {_receives(receives, to, group)}"
            )
    for rank, source in receives.items():
        if sends.get(source) != rank:
            does = f"sends to rank {sends[source]}" if source in sends else "does not send"
            does = does if source < group else f"is not one of the {group}"
            raise Mismatch(f"rank {rank} receives from rank {source}, which {does}")


def _receives(receives: Mapping[int, int], rank: int, group: int) -> str:
    if rank >= group:
        return f"is not one of the {group}"
    return f"receives from rank {receives[rank]}" if rank in receives else "does not receive"


def by_rank(frame: Frame, value: ir.Value, channel: ir.Value, rank: int) -> int | None:
    """What `value` is on one rank of `channel`; None where that is not known."""
    if not isinstance(value, ir.OpResult):
        size = frame.reader.read(value)
        return size if isinstance(size, int) else None
    op = value.owner.operation
    if op.name == "stream.channel.rank":
        return rank if op.operands[0] == channel else None
    if op.name not in _READ:
        size = frame.reader.read(value)
        return size if isinstance(size, int) else None
    known = [by_rank(frame, operand, channel, rank) for operand in op.operands]
    numbers = [number for number in known if number is not None]
    return _READ[op.name](numbers) if len(numbers) == len(known) else None


def _ranks(value: ir.Value) -> int:
    """Entries of the longest table that `value` comes from."""
    op = value.owner.operation if isinstance(value, ir.OpResult) else None
    if op is None or op.name not in _READ:
        return 0
    own = len(op.operands) - 2 if op.name == "util.switch" else 0
    return max(own, *map(_ranks, op.operands))


def _switch(numbers: list[int]) -> int:
    """Operands: the index, what any other index gives, the cases."""
    index, other, *cases = numbers
    return cases[index] if 0 <= index < len(cases) else other


_READ: Mapping[str, Callable[[list[int]], int]] = {
    "util.switch": _switch,
    "arith.index_cast": operator.itemgetter(0),
    "arith.index_castui": operator.itemgetter(0),
    "arith.andi": lambda numbers: numbers[0] & numbers[1],
    "arith.ori": lambda numbers: numbers[0] | numbers[1],
    "arith.shli": lambda numbers: numbers[0] << numbers[1],
}

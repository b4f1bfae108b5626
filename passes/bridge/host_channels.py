"""Which devices take part in a collective, as far as the program says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from iree.compiler import ir

from xpu_shark.passes.bridge.host_frame import Frame
from xpu_shark.passes.bridge.host_permutation import by_rank

Groups = tuple[tuple[int, ...], ...]  # the devices of each group, by rank
Reader = Callable[[Frame, ir.Operation], Groups]
NO_PART = -1  # the color of ranks that are in no group


def groups(frame: Frame, channel: ir.Value) -> Groups:
    """The groups that a channel joins; () where it is all devices, however many, or unknown."""
    if not isinstance(channel, ir.OpResult):
        number = frame.entry_argument(channel)
        if number is None or frame.call is None:
            return ()
        return groups(frame.call.caller, frame.call.arguments[number])
    op = channel.owner.operation
    reader = _READERS.get(op.name)
    return reader(frame, op) if reader else ()


def _create(frame: Frame, op: ir.Operation) -> Groups:
    """Segments: id, rank, count."""
    *before, count = op.attributes["operandSegmentSizes"]
    size = frame.reader.read(op.operands[sum(before)]) if count else 0
    return (tuple(range(size)),) if isinstance(size, int) and size > 0 else ()


def _split(frame: Frame, op: ir.Operation) -> Groups:
    """Ranks of one color are one group, in the order of their keys."""
    channel, color, key = op.operands
    outer = groups(frame, channel) or (tuple(range(_table_length(color))),)
    found: list[tuple[int, ...]] = []
    for devices in outer:
        members: dict[int, list[tuple[int, int]]] = {}
        for rank, device in enumerate(devices):
            group = by_rank(frame, color, channel, rank)
            place = by_rank(frame, key, channel, rank)
            if group is None:
                return ()
            if group != NO_PART:
                members.setdefault(group, []).append((rank if place is None else place, device))
        found += (tuple(device for _, device in sorted(group)) for group in members.values())
    return tuple(found)


def _table_length(value: ir.Value) -> int:
    """For how many ranks a table has an entry. Operands: the index, any other's value, the entries.
    0 where `value` is no table."""
    op = value.owner.operation if isinstance(value, ir.OpResult) else None
    return len(op.operands) - 2 if op is not None and op.name == "util.switch" else 0


def _stored(frame: Frame, op: ir.Operation) -> Groups:
    """A channel kept in a global that one initializer sets."""
    stores = frame.program.stores.get(op.attributes["global"].value, ())
    return groups(frame, stores[0].operands[0]) if len(stores) == 1 else ()


_READERS: Mapping[str, Reader] = {
    "stream.channel.create": _create,
    "stream.channel.split": _split,
    "util.global.load": _stored,
}

"""How many devices take part in a collective, as far as the program says."""

from __future__ import annotations

from collections import Counter

from iree.compiler import ir

from xpu_shark.passes.bridge.host_frame import Frame


def group_size(frame: Frame, channel: ir.Value) -> int:
    """Members of the group that a channel joins; 0 where it is all devices or unknown."""
    if not isinstance(channel, ir.OpResult):
        number = frame.entry_argument(channel)
        if number is None or frame.call is None:
            return 0
        return group_size(frame.call.caller, frame.call.arguments[number])
    op = channel.owner.operation
    reader = _READERS.get(op.name)
    return reader(frame, op) if reader else 0


def _create(frame: Frame, op: ir.Operation) -> int:
    """Segments: id, rank, count."""
    *before, count = op.attributes["operandSegmentSizes"]
    size = frame.reader.read(op.operands[sum(before)]) if count else 0
    return size if isinstance(size, int) else 0


def _split(frame: Frame, op: ir.Operation) -> int:
    """Ranks of one color are one group: `color` is a table by rank, -1 takes no part."""
    channel, color, _ = op.operands
    table = color.owner.operation if isinstance(color, ir.OpResult) else None
    if table is None or table.name != "util.switch":
        same = isinstance(frame.reader.read(color), int)
        return group_size(frame, channel) if same else 0
    _, _, *cases = map(frame.reader.read, table.operands)
    if not all(isinstance(case, int) for case in cases):
        return 0
    return max(Counter(case for case in cases if case != -1).values(), default=0)


def _stored(frame: Frame, op: ir.Operation) -> int:
    """A channel kept in a global that one initializer sets."""
    stores = frame.program.stores.get(op.attributes["global"].value, ())
    return group_size(frame, stores[0].operands[0]) if len(stores) == 1 else 0


_READERS = {
    "stream.channel.create": _create,
    "stream.channel.split": _split,
    "util.global.load": _stored,
}

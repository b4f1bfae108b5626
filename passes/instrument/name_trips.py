"""Keeps, through the lowering of a kernel, which op is which trip count of its workload.

The bridge reads a kernel before it is lowered and makes a symbol of a trip count that only a run
can tell; probes are placed after the lowering. An op's location lasts: the symbol's number stands
in it, as a name around the place in the source.
"""

from __future__ import annotations

from typing import Final

from iree.compiler import ir

from xpu_shark.passes.bridge.read_kernel import trip_numbers
from xpu_shark.passes.instrument.hide_probes import erase_probes
from xpu_shark.passes.instrument.probe_ops import COUNTED, all_ops

_NAME: Final = "xpu-shark.trip="


def name_trips(function: ir.Operation) -> None:
    """Put the numbers of `trip_numbers` into the locations of the ops in `function`."""
    copy = function.clone().operation
    erase_probes(copy)  # the bridge knows the program, not the probes in it
    numbers = trip_numbers(copy)
    pairs = zip(all_ops(function, *COUNTED), all_ops(copy, *COUNTED), strict=True)
    for op, same in pairs:
        if same in numbers:
            name = f"{_NAME}{numbers[same]}"
            op.location = ir.Location.name(name, op.location, context=op.context)


def trip_number(op: ir.Operation) -> int:
    """The number that `name_trips` put into the location of `op`; 0 for none."""
    pending = [op.location]
    while pending:
        location = pending.pop()
        if isinstance(location, ir.NameLoc):
            if location.name_str.startswith(_NAME):
                return int(location.name_str.removeprefix(_NAME))
            pending.append(location.child_loc)
        elif isinstance(location, ir.FusedLoc):
            pending.extend(location.locations)
    return 0

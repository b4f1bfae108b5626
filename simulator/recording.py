"""What a run launched: distinct commands, and the calls that launched them in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from xpu_shark.simulator.workload import Trips


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A command of a run. `what`: dispatch, copy, fill, update, read, write or collective.

    `constants` are None where the recording has none; `trips` are as in a `workload.Launch`;
    `bytes` is what a move moves.
    """

    what: str
    kernel: str = ""
    constants: tuple[int, ...] | None = ()
    trips: Trips = ()
    bytes: int = 0


@dataclass(frozen=True)
class Call:
    """One call of `function`: `order` indexes the recording's events, a launch each.

    `durations_ns` has the time of each launch or -1; `span_ns` from first start to last end.
    `clean`: nothing disturbed the times.
    """

    function: str
    order: Sequence[int]
    durations_ns: Sequence[int] = ()
    span_ns: int = -1
    clean: bool = True


@dataclass(frozen=True)
class Recording:
    """`target` names the target that describes the device of the run; "" if unknown. `device` is
    the machine that it ran on, where that matters (`Target.device`).

    `whole`: no launch is missing in the calls.
    """

    events: tuple[Event, ...]
    calls: tuple[Call, ...]
    target: str = ""
    device: str = ""
    whole: bool = True

"""A run as it is in memory: distinct commands, and the order in which they ran.

Columns are numpy arrays with one entry a launch, in launch order, of any integer type. Times are
nanoseconds of the recording machine's monotonic clock; -1 stands for "not measured".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

What = Literal["dispatch", "copy", "fill", "update", "read", "write", "collective"]
WHATS: tuple[What, ...] = ("dispatch", "copy", "fill", "update", "read", "write", "collective")
Column = NDArray[Any]
UNKNOWN = -1
SETUP = "(setup)"  # what a module does once, when it is loaded


class Struct(msgspec.Struct, frozen=True):
    """Base of the tables' rows."""


class Export(Struct, frozen=True, kw_only=True):
    """One entry point of an executable; `format` is the executable's ("embedded-elf-x86_64")."""

    name: str
    format: str = ""
    location: str = ""


class Kind(Struct, frozen=True, kw_only=True):
    """A command, up to when it ran: launches of one kind differ in nothing but time.

    `constants` are the 32-bit words that a dispatch is given, `bindings` its buffers' sizes in
    bytes; `trips` what probes counted of its loops: number, turns and entries, one after the other.
    `bytes` is what a command that is no dispatch moves. `device` counts from 0.
    """

    what: What
    export: str = ""
    device: int = 0
    workgroups: tuple[int, int, int] = (0, 0, 0)
    constants: tuple[int, ...] = ()
    bindings: tuple[int, ...] = ()
    trips: tuple[int, ...] = ()
    bytes: int = 0


class Iteration(Struct, frozen=True, kw_only=True):
    """Launches [first, first + launches) belong to one call of `function`.

    `contended`: other processes or throttling disturbed its times.
    """

    function: str
    first: int
    launches: int
    contended: bool = False


class Probe(Struct, frozen=True, kw_only=True):
    """What probes in one export counted over the whole run.

    `values` are of one value probe (`ordinal`), in order. Or they are of trip count number `trip`
    of the kernel (`simulator.workload.Launch`): turns and entries of the first launch with `grid`
    workgroups in x, y and z, then of the next.
    """

    export: str
    workgroups: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0
    ordinal: int = UNKNOWN
    trip: int = 0
    grid: tuple[int, ...] = ()
    values: tuple[int | float, ...] = ()


class Loss(Struct, frozen=True, kw_only=True):
    """Something that is missing: `lost` of `total` `unit`s, for the reason `why`."""

    cause: Literal["overflow", "sampling", "truncation", "contention", "unmatched", "unrecorded"]
    unit: str
    lost: int
    total: int
    why: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.lost} of {self.total} {self.unit} lost: {self.why}"


@dataclass(frozen=True)
class Launches:
    """`kind[i]` indexes the trace's kinds; `start_ns` and `duration_ns` may be `UNKNOWN`."""

    kind: Column
    start_ns: Column
    duration_ns: Column

    def __len__(self) -> int:
        return len(self.kind)


def no_launches() -> Launches:
    empty = np.zeros(0, np.int64)
    return Launches(empty, empty, empty)


@dataclass(frozen=True)
class Trace:
    """One recorded run, or several one after another.

    `device` is as IREE names it ("local-task"), `machine` where a local one ran (`this_machine`);
    `target` is the target file that describes it.
    `program` is a msgpack-encoded `simulator.workload.Workload`, if the module was given.
    """

    kinds: tuple[Kind, ...] = ()
    launches: Launches = field(default_factory=no_launches)
    iterations: tuple[Iteration, ...] = ()
    exports: tuple[Export, ...] = ()
    probes: tuple[Probe, ...] = ()
    losses: tuple[Loss, ...] = ()
    device: str = ""
    machine: str = ""
    target: str = ""
    tool: str = ""
    sources: tuple[str, ...] = ()
    program: bytes = b""

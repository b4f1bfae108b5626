"""What a simulated workload amounts to: one record a distinct dispatch, command and function."""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.bind import ALONE, Context
from xpu_shark.simulator.blocks import Block
from xpu_shark.simulator.exposure import Exposure
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.workload import Trips


class Struct(msgspec.Struct, frozen=True):
    """Base of all results."""


class Dispatch(Struct, frozen=True, kw_only=True):
    """All launches of one kernel with the same sizes in one function.

    `run` is one launch; None where there is no work or a size is missing (`missing` names it).
    `launches` counts launches with every loop of unknown trips turning once; `per` names those
    loops. `sites` is the number of places in the program, `locations` where they are. `trips` are
    a launch's, counted in a run, and `context` is where it stands in a program of several.
    """

    function: str
    name: str
    locations: tuple[str, ...]
    sites: int
    launches: int
    per: tuple[str, ...]
    state: str
    reason: str
    missing: tuple[str, ...]
    constants: tuple[int | None, ...]
    trips: Trips = ()
    context: Context = ALONE
    run: KernelRun | None


class Command(Struct, frozen=True, kw_only=True):
    """A fill, copy, transfer or collective: all that are alike in one function, as one record.

    Times are of one; `bytes` by resource. `time_ps` is None where the target cannot do it or a
    size is missing, and `reason` says so. `exposure` is of those on the network.
    """

    function: str
    kind: str
    locations: tuple[str, ...]
    launches: int
    per: tuple[str, ...]
    element: str
    payload_bytes: int | None
    group: int
    algorithm: str
    time_ps: int | None
    bound_ps: int | None
    serial_ps: int | None
    bytes: dict[str, int]
    reason: str
    exposure: Exposure | None = None


class Function(Struct, frozen=True, kw_only=True):
    """Totals of one function: every launch one after another on one device, after the host has
    handed them over once (`submit_ns` or `submit` of the target, which no bound has).

    Commands that the program leaves unordered are added up too, so where a device overlaps
    launches the time is an upper limit. Times are None where a part has none for lack of sizes;
    `unknown` names the symbols that were missing or, for loops, counted as one trip. `blocks` are
    the parts of the program in which devices communicate; the last three are the sums of
    `Exposure` over all that goes over the network, None where nothing does.
    """

    name: str
    location: str
    time_ps: int | None
    bound_ps: int | None
    serial_ps: int | None
    dispatches: int
    modelled: int
    launches: int
    unmodelled: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    exposed_ps: int | None = None
    hidden_ps: int | None = None
    async_exposed_ps: int | None = None


class Finding(Struct, frozen=True, kw_only=True):
    """A suggestion and its proof: the dispatch simulated as it is and as it could be.

    `speedup` is of one launch; `speedup_low` and `speedup_high` are its extremes while each
    uncertain constant of the target moves over its range. A finding whose sign changes there is
    `indeterminate`, and `depends_on` names those constants. `saved_ps` counts all launches; `share`
    is of the function's time. A finding about collectives says in `what` which, and in `plans`
    when every command runs, before and after; it has no `before` and `after`.
    """

    id: str
    rule: str
    category: str
    function: str
    dispatch: str
    others: tuple[str, ...] = ()  # dispatches that the change concerns besides `dispatch`
    depends_on: tuple[str, ...] = ()
    location: str
    state: str
    condition: str
    measured: str
    speedup: float
    speedup_low: float
    speedup_high: float
    saved_ps: int
    share: float
    suggestion: str
    confidence: str
    before: tuple[KernelRun, ...]
    after: tuple[KernelRun, ...]
    what: str = ""
    plans: tuple[tuple[str, ...], ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """Functions in the module's order; their dispatches in order of total time."""

    target: str
    tiling: str
    functions: tuple[Function, ...]
    dispatches: tuple[Dispatch, ...]
    commands: tuple[Command, ...]
    findings: tuple[Finding, ...] = ()

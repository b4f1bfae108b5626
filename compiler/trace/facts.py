"""What the simulator needs to know of a trace."""

from __future__ import annotations

import msgspec
import numpy as np

from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace import merge, readers
from xpu_shark.compiler.trace.model import UNKNOWN, Iteration, Kind, Launches, Trace
from xpu_shark.compiler.trace.problem import TraceError
from xpu_shark.simulator.recording import Call, Event, Recording
from xpu_shark.simulator.workload import Workload


def load(path: str) -> Trace:
    """The trace in file `path`, or what another kind of recording makes. Raises `UsageError`."""
    try:
        trace = merge.named(readers.read_all([path]))
    except TraceError as problem:
        raise UsageError(str(problem)) from None
    if not trace.launches:
        raise UsageError(f"{path}: expected a recording with launches, found none in it")
    return trace


def recording(trace: Trace) -> Recording:
    """Launches by call. What ran outside of a call belongs to no function and is left out."""
    unrecorded = any(loss.cause == "unrecorded" for loss in trace.losses)
    return Recording(
        events=tuple(_event(kind, unrecorded) for kind in trace.kinds),
        calls=tuple(_call(each, trace.launches) for each in trace.iterations),
        target=trace.target,
        device=trace.machine,
        whole=not any(loss.cause in ("overflow", "truncation") for loss in trace.losses),
    )


def workload(path: str, trace: Trace) -> Workload:
    """The program that the trace carries. Raises `UsageError` if it has none."""
    if not trace.program:
        raise UsageError(
            f"{path}: carries no program: record it with --module=IN.mlir, or say "
            f"xpu-shark simulate IN.mlir --xpu-trace={path}"
        )
    try:
        return msgspec.msgpack.decode(trace.program, type=Workload)
    except msgspec.MsgspecError as problem:
        raise UsageError(f"{path}: its program is damaged: {problem}; record it again") from None


def _event(kind: Kind, unrecorded: bool) -> Event:
    missing = unrecorded and not kind.constants and not kind.bindings
    return Event(
        what=kind.what,
        kernel=kind.export,
        constants=None if missing else kind.constants,
        trips=tuple(zip(*(kind.trips[n::3] for n in range(3)), strict=True)),
        bytes=kind.bytes,
    )


def _call(each: Iteration, launches: Launches) -> Call:
    part = slice(each.first, each.first + each.launches)
    start, duration = launches.start_ns[part], launches.duration_ns[part]
    timed = (start != UNKNOWN) & (duration != UNKNOWN)
    span = UNKNOWN
    if timed.any():
        span = int(np.max((start + duration)[timed]) - np.min(start[timed]))
    return Call(
        function=each.function,
        order=launches.kind[part].tolist(),
        durations_ns=duration.tolist(),
        span_ns=span,
        clean=not each.contended,
    )

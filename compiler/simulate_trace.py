"""`xpu-shark simulate T.xputrace`: replay a trace that carries its program; no compiling."""

from __future__ import annotations

from typing import TextIO

from xpu_shark.compiler import errors, report
from xpu_shark.compiler.flags import Options
from xpu_shark.compiler.trace import facts
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.evaluate import Settings
from xpu_shark.simulator.match_recording import MismatchError
from xpu_shark.simulator.replay import replay


def run(path: str, options: Options, layout: str, stream: TextIO) -> int:
    """Print the report on the trace in `path`. Raises `UsageError` for a file that is no good."""
    trace = facts.load(path)
    workload = facts.workload(path, trace)
    settings = Settings(
        options.target,
        options.dims,
        options.tiling,
        options.devices,
        fold=options.fold,
        slow=options.slow,
    )
    try:
        found = replay(workload, facts.recording(trace), settings)
    except MismatchError as problem:
        errors.error(f"{path}: its program is another module: {problem}")
        return 1
    for loss in trace.losses:
        errors.warning(f"{path}: {loss}")
    shared = Analysis(
        target=options.target,
        dims=options.dims,
        tiling=options.tiling,
        devices=options.devices,
        fold=options.fold,
        slow=options.slow,
        source=path,
        trace=path,
        workload=workload,
        replayed=found,
        report=found.report,
    )
    report.write(shared, layout, stream)
    return 0

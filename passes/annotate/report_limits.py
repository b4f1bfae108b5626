"""Says what limits every dispatch of the module, and what each function takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import msgspec
from iree.compiler import ir

from xpu_shark.passes.annotate import wording
from xpu_shark.passes.bridge.find_groups import with_groups
from xpu_shark.passes.bridge.read_workload import read_workload
from xpu_shark.passes.module_pass import Analysis, ModulePass, Refused
from xpu_shark.passes.remark import Kind, Remark
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.result import Command, Dispatch, Function, Report
from xpu_shark.simulator.workload import Workload

if TYPE_CHECKING:
    from xpu_shark.simulator.replay import Replay


@dataclass(frozen=True)
class ReportLimits(ModulePass):
    """Reads the workload, simulates it and emits one remark a distinct dispatch; no change."""

    name: ClassVar[str] = "xpu-report-limits"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        workload = read_workload(module, analysis.target.iree.backends, analysis.pinned)
        analysis.workload = with_groups(workload, analysis.groups)
        if analysis.recording is None:
            analysis.report = simulate(analysis.workload, settings(analysis))
        else:
            analysis.replayed = _replay(analysis, analysis.workload)
            analysis.report = analysis.replayed.report
        analysis.report = with_repeats(analysis.report, analysis.repeats)
        for remark in remarks(analysis.report):
            remark.emit(module.context)


def with_repeats(report: Report, repeats: Mapping[str, Sequence[str]]) -> Report:
    """`report` with the places of ops that the compiler found equal to one of a dispatch's.

    Not those of other dispatches: what looks equal and is not merged has its own.
    """
    if not repeats:
        return report
    own = {place for item in report.dispatches for place in item.locations}

    def places(item: Dispatch) -> tuple[str, ...]:
        more = (other for place in item.locations for other in repeats.get(place, ()))
        return tuple(dict.fromkeys((*item.locations, *(p for p in more if p not in own))))

    dispatches = (msgspec.structs.replace(d, locations=places(d)) for d in report.dispatches)
    return msgspec.structs.replace(report, dispatches=tuple(dispatches))


def settings(analysis: Analysis) -> Settings:
    """How this compile simulates."""
    return Settings(
        analysis.target,
        analysis.dims,
        analysis.tiling,
        analysis.devices,
        fold=analysis.fold,
        slow=analysis.slow,
    )


def _replay(analysis: Analysis, workload: Workload) -> Replay:
    from xpu_shark.simulator.match_recording import MismatchError
    from xpu_shark.simulator.replay import replay

    assert analysis.recording is not None
    try:
        return replay(workload, analysis.recording, settings(analysis))
    except MismatchError as problem:
        raise Refused(f"{analysis.trace}: recorded from another module: {problem}") from None


def remarks(report: Report) -> Iterator[Remark]:
    """For each function its summary, then its dispatches and commands, longest total first."""
    if not report.functions:
        yield Remark(
            kind=Kind.ANALYSIS,
            category="xpu-shark.summary",
            name="module",
            message=wording.no_function(report.target),
            args=(("Target", report.target),),
        )
    for function in report.functions:
        dispatches = [d for d in report.dispatches if d.function == function.name]
        commands = [c for c in report.commands if c.function == function.name]
        yield _summary(function, len(dispatches), commands, report.target)
        for item in dispatches:
            yield _dispatch(item, report.target)
        for number, command in enumerate(commands):
            if command.group or command.kind == "transfer":
                yield _command(command, number, report.target)


def _summary(function: Function, distinct: int, commands: list[Command], target: str) -> Remark:
    times = {
        "Time": function.time_ps,
        "Bound": function.bound_ps,
        "Serial": function.serial_ps,
    }
    args = [(f"{name}Ns", _ns(value)) for name, value in times.items() if value is not None]
    args += [
        ("Target", target),
        ("Dispatches", str(function.dispatches)),
        ("Modelled", str(function.modelled)),
        ("Launches", str(function.launches)),
    ]
    return Remark(
        kind=Kind.ANALYSIS,
        category="xpu-shark.summary",
        name=function.name,
        function=function.name,
        location=function.location,
        message=wording.function(function, distinct, commands, target),
        args=tuple(args),
    )


def _dispatch(item: Dispatch, target: str) -> Remark:
    args = [
        ("Dispatch", item.name),
        ("Target", target),
        ("Launches", str(item.launches)),
        ("State", item.state),
        ("Locations", " ".join(item.locations)),
    ]
    kind = Kind.ANALYSIS
    if run := item.run:
        found = run.attribution
        args += [
            ("TimeNs", _ns(run.time_ps)),
            ("BoundNs", _ns(run.bounds.bound_ps)),
            ("SerialNs", _ns(run.bounds.serial_ps)),
            ("Limit", found.limit),
            ("BusyShare", f"{found.busy_share:.4f}"),
            ("WaitsFor", found.waited_for),
            ("WaitedShare", f"{found.waited_share:.4f}"),
            ("EdgeShare", f"{run.edges.edge_share:.4f}"),
            ("PaddedShare", f"{run.edges.padded_share:.4f}"),
            ("Tiling", " ".join(f"{name}={size}" for name, size in run.tiling.items())),
        ]
        if run.at_its_best:
            kind = Kind.PASSED
    return Remark(
        kind=kind,
        category=_category(item),
        name=".".join([item.name, *(str(c) for c in item.constants if c is not None)]),
        function=item.function,
        location=item.locations[0] if item.locations else "",
        message=wording.dispatch(item, target),
        args=tuple(args),
    )


def _category(item: Dispatch) -> str:
    if item.run is None or item.state != "modelled":
        return "xpu-shark.coverage"
    compute = item.run.attribution.limit in ("matrix", "vector", "latency", "launch")
    return "xpu-shark.tiling" if compute else "xpu-shark.memory"


def _command(item: Command, number: int, target: str) -> Remark:
    args = [("Target", target), ("Launches", str(item.launches)), ("Kind", item.kind)]
    args += [("TimeNs", _ns(item.time_ps))] if item.time_ps is not None else []
    if item.time_ps is not None and (found := item.exposure) is not None:
        args += [
            ("ExposedNs", _ns(found.exposed_ps)),
            ("HiddenNs", _ns(found.hidden_ps)),
            ("AsyncExposedNs", _ns(found.async_exposed_ps)),
        ]
    return Remark(
        kind=Kind.ANALYSIS,
        category="xpu-shark.collective" if item.time_ps is not None else "xpu-shark.coverage",
        name=f"{item.kind}.{number}",
        function=item.function,
        location=item.locations[0] if item.locations else "",
        message=wording.command(item, target),
        args=tuple(args),
    )


def _ns(picoseconds: int) -> str:
    return f"{picoseconds / 1000:.3f}"

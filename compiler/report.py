"""Prints a simulation's report: a table for people, or one JSON object a line for scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TextIO

import msgspec

from xpu_shark.compiler import replay_report
from xpu_shark.passes.annotate import wording
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.passes.text import one_line
from xpu_shark.simulator.result import Command, Dispatch, Finding, Function, Report

SCHEMA = 1


def write(analysis: Analysis, layout: str, stream: TextIO) -> None:
    """`layout` is "text" or "jsonl"; the analysis must have a report."""
    report = analysis.report
    assert report is not None, "simulate runs the reporting pass"
    if layout == "jsonl":
        for row in rows(report, analysis.source):
            print(msgspec.json.encode(row).decode(), file=stream)
        for row in replay_report.rows(analysis.replayed) if analysis.replayed else ():
            print(msgspec.json.encode(row).decode(), file=stream)
    else:
        for line in table(report, _advice(report) if analysis.advised else {}):
            print(one_line(line), file=stream)
        for line in replay_report.table(analysis.replayed) if analysis.replayed else ():
            print(line, file=stream)


def rows(report: Report, source: str) -> Iterator[dict[str, Any]]:
    """Objects in the order of the documented schema; times in nanoseconds."""
    yield {
        "type": "run",
        "schema": SCHEMA,
        "target": report.target,
        "source": source,
        "tiling": report.tiling,
    }
    yield from (_function(item) for item in report.functions)
    yield from (_dispatch(item) for item in report.dispatches)
    yield from (_command(item) for item in report.commands)
    yield from (_finding(item) for item in report.findings)


def _advice(report: Report) -> dict[str, str]:
    """What advice comes to, by function."""
    from xpu_shark.passes.advise.give_advice import totals  # needs IREE

    return {function.name: text for function, _, text in totals(report)}


def table(report: Report, advice: Mapping[str, str]) -> Iterator[str]:
    """Each function's summary line, then its dispatches by total time, then what `advice` says."""
    if not report.functions:
        yield wording.no_function(report.target)
    for function in report.functions:
        dispatches = [d for d in report.dispatches if d.function == function.name]
        commands = [c for c in report.commands if c.function == function.name]
        yield wording.function(function, len(dispatches), commands, report.target)
        if dispatches:
            yield f"  {'total':>9} {'each':>9} {'x':>6} {'bound':>6}  {'limit':<8} dispatch"
        for item in dispatches:
            yield f"  {_figures(item)} {item.name}{_where(item.locations)}"
            if item.run is not None and item.run.note:
                yield f"    {item.run.note}"
        for command in commands:
            yield f"  {wording.command(command, report.target)}{_where(command.locations)}"
        found = [f for f in report.findings if f.function == function.name]
        for finding in found:
            yield f"  {wording.finding(finding, report.target)} (explain {finding.id})"
        if function.name in advice:
            yield f"  {advice[function.name]}"


def _figures(item: Dispatch) -> str:
    run = item.run
    if run is None:
        return f"{'-':>9} {'-':>9} {item.launches:>6} {'-':>6}  {item.reason or 'no work'}:"
    total, each = wording.time(run.time_ps * item.launches), wording.time(run.time_ps)
    limit = run.attribution.limit
    return f"{total:>9} {each:>9} {item.launches:>6} {wording.ratio(run):>6}  {limit:<8}"


def _where(locations: tuple[str, ...]) -> str:
    return f" ({locations[0]}{' ...' if len(locations) > 1 else ''})" if locations else ""


def _function(item: Function) -> dict[str, Any]:
    return {
        "type": "function",
        "name": item.name,
        "time_ns": _ns(item.time_ps),
        "bound_ns": _ns(item.bound_ps),
        "serial_ns": _ns(item.serial_ps),
        "dispatches": item.dispatches,
        "modelled": item.modelled,
        "launches": item.launches,
        "unknown": item.unknown,
        "exposed_ns": _ns(item.exposed_ps),
        "hidden_ns": _ns(item.hidden_ps),
        "async_exposed_ns": _ns(item.async_exposed_ps),
    }


def _dispatch(item: Dispatch) -> dict[str, Any]:
    run = item.run
    stalls = run.attribution.stalls_ps if run else {}
    none = None if item.missing or item.state == "unmodelled" else 0
    return {
        "type": "dispatch",
        "function": item.function,
        "name": item.name,
        "location": item.locations[0] if item.locations else "",
        "launches": item.launches,
        "constants": item.constants,
        "resident": item.context.resident,
        "trips": replay_report.trips(item),
        "time_ns": _ns(run.time_ps) if run else none,
        "bound_ns": _ns(run.bounds.bound_ps) if run else none,
        "serial_ns": _ns(run.bounds.serial_ps) if run else none,
        "limit": run.attribution.limit if run else None,
        "flops": run.flops if run else none,
        "bytes": run.bytes if run else {},
        "utilization": run.utilization if run else {},
        "stalls_ns": {cause: _ns(value) for cause, value in stalls.items()},
        "tiling": run.tiling if run else {},
        "edge_share": round(run.edges.edge_share, 6) if run else none,
        "padded_share": round(run.edges.padded_share, 6) if run else none,
        "state": item.state,
        "reason": item.reason,
        "sites": item.sites,
        "locations": item.locations,
        "per": item.per,
    }


def _command(item: Command) -> dict[str, Any]:
    return {
        "type": "command",
        "function": item.function,
        "kind": item.kind,
        "location": item.locations[0] if item.locations else "",
        "launches": item.launches,
        "time_ns": _ns(item.time_ps),
        "bound_ns": _ns(item.bound_ps),
        "serial_ns": _ns(item.serial_ps),
        "bytes": item.bytes,
        "payload_bytes": item.payload_bytes,
        "group": item.group,
        "algorithm": item.algorithm,
        "reason": item.reason,
        "locations": item.locations,
        **_exposure(item),
    }


def _exposure(item: Command) -> dict[str, Any]:
    found = item.exposure
    timed = found if item.time_ps is not None else None
    return {
        "exposed_ns": _ns(timed.exposed_ps) if timed else None,
        "hidden_ns": _ns(timed.hidden_ps) if timed else None,
        "async_exposed_ns": _ns(timed.async_exposed_ps) if timed else None,
        "waits_for": found.waits_for if found else (),
        "needed_by": found.needed_by if found else (),
        "beside": found.beside if found else (),
    }


def _finding(item: Finding) -> dict[str, Any]:
    return {
        "type": "finding",
        "id": item.id,
        "rule": item.rule,
        "category": item.category,
        "dispatch": item.dispatch,
        "location": item.location,
        "state": item.state,
        "depends_on": item.depends_on,
        "condition": item.condition,
        "measured": item.measured,
        "speedup": item.speedup,
        "speedup_low": item.speedup_low,
        "speedup_high": item.speedup_high,
        "saved_ns": _ns(item.saved_ps),
        "share": item.share,
        "suggestion": item.suggestion,
        "evidence": item.id,
        "function": item.function,
        "confidence": item.confidence,
    }


def _ns(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / 1000

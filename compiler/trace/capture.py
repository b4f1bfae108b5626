"""Runs a module under IREE's own recorders and reads what they wrote."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from xpu_shark.compiler.trace import lock, readers, this_machine, tool
from xpu_shark.compiler.trace.contention import Period, Watch, disturbed
from xpu_shark.compiler.trace.merge import named
from xpu_shark.compiler.trace.model import SETUP, UNKNOWN, Iteration, Launches, Loss, Trace
from xpu_shark.compiler.trace.problem import TraceError
from xpu_shark.passes.instrument.plan import Plan
from xpu_shark.passes.text import one_line

# What to ask a device's profiler for: local ones time dispatches on the host.
LOCAL: Final = "host-execution,executable-metadata"
_OTHERS: Final = "dispatch-events,executable-metadata"
HOST_TARGET: Final = "host"  # the target that describes this machine, see xpu-shark calibrate


@dataclass(frozen=True)
class Run:
    """What to run: `devices` as IREE names them, `inputs` as --input takes them.

    `extra` are further flags of IREE's runner; `instrumented`: the module has probes, and `plan`
    what they mean, if they are ours.
    """

    module: str
    function: str
    inputs: tuple[str, ...]
    devices: tuple[str, ...]
    warmup: int
    iterations: int
    extra: tuple[str, ...] = ()
    instrumented: bool = False
    plan: Plan | None = None

    def flags(self) -> list[str]:
        return [
            f"--module={self.module}",
            f"--function={self.function}",
            *(f"--device={device}" for device in self.devices),
            *(f"--input={text}" for text in self.inputs),
            *self.extra,
        ]


def capture(run: Run, target: str) -> Trace:
    """Run it, alone on this machine as far as recordings go; the iterations after the warm-up.

    Raises `TraceError` where the run or a recorder fails.
    """
    with tempfile.TemporaryDirectory(prefix="xpu-shark-") as folder:
        profile = str(Path(folder, "run.ireeprof"))
        replay = str(Path(folder, "run.ireereplay"))
        files = [replay, profile]
        with lock.alone():
            periods = _record(run, profile, replay)
        if run.instrumented:
            files.append(_probes(run, str(Path(folder, "run.idb"))))
        trace = readers.read_all(files, run.plan)
    local = all(_is_local(device) for device in run.devices)
    trace = _marked(named(_without_warmup(trace, run.warmup), run.function), periods)
    return replace(
        trace,
        device=",".join(run.devices),
        machine=this_machine.identity() if local else "",
        target=target or (HOST_TARGET if local else ""),
        tool=f"iree-base-runtime {version('iree-base-runtime')}",
        sources=(Path(run.module).name,),
    )


def _is_local(device: str) -> bool:
    return device.partition(":")[0] in ("local-task", "local-sync")


def _record(run: Run, profile: str, replay: str) -> list[Period]:
    local = all(_is_local(device) for device in run.devices)
    count = run.warmup + run.iterations
    return _execute(
        [
            tool.binary("iree-benchmark-module"),
            *run.flags(),
            f"--benchmark_min_time={count}x",
            f"--device_profiling_mode={LOCAL if local else _OTHERS}",
            f"--device_profiling_output={profile}",
            f"--device_replay_output={replay}",
        ],
        run.module,
    )


def _probes(run: Run, path: str) -> str:
    """The instrument dump of one run more: the benchmark runner writes none."""
    program = [tool.binary("iree-run-module"), *run.flags(), "--output_max_element_count=0"]
    _execute([*program, f"--instrument_file={path}"], run.module)
    return path


def _execute(command: Sequence[str], module: str) -> list[Period]:
    """What else went on while the program ran. Raises `TraceError` where it failed."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        watch = Watch(process.pid)
        try:
            code = process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            raise
        finally:
            periods = watch.stop()
        said.seek(0)
        text = said.read().decode(errors="replace")
    if code or "error running benchmark" in text.lower():
        raise TraceError(f"{module}: {Path(command[0]).name} failed: {_why(code, text)}")
    return periods


def _why(code: int, text: str) -> str:
    lines = [line for line in text.splitlines() if ";" in line or "rror" in line]
    if lines:
        return one_line(lines[0])
    if code < 0:
        name = signal.Signals(-code).name
        return f"killed by {name} without a word; check the shapes of the inputs"
    return f"exit code {code}"


def _without_warmup(trace: Trace, warmup: int) -> Trace:
    """Without the first `warmup` calls; what ran at loading stays."""
    calls = [each for each in trace.iterations if each.function != SETUP]
    skipped = {each.first for each in calls[:warmup]}
    return keep(trace, [each for each in trace.iterations if each.first not in skipped])


def keep(trace: Trace, iterations: Sequence[Iteration]) -> Trace:
    """The trace with only the launches of `iterations`, which are some of its own, in order."""
    launches, kept, at = trace.launches, [], 0
    for each in iterations:
        kept.append(msgspec.structs.replace(each, first=at))
        at += each.launches
    places = [np.arange(each.first, each.first + each.launches) for each in iterations]
    index = np.concatenate(places) if places else np.zeros(0, np.int64)
    return replace(
        trace,
        iterations=tuple(kept),
        launches=Launches(
            launches.kind[index], launches.start_ns[index], launches.duration_ns[index]
        ),
    )


def _marked(trace: Trace, periods: Sequence[Period]) -> Trace:
    """Calls that something disturbed, marked and counted as a loss."""
    found = []
    for each in trace.iterations:
        part = slice(each.first, each.first + each.launches)
        start, duration = trace.launches.start_ns[part], trace.launches.duration_ns[part]
        timed = start != UNKNOWN
        bad = bool(timed.any()) and disturbed(
            periods, int(start[timed].min()), int((start + duration)[timed].max())
        )
        found.append(msgspec.structs.replace(each, contended=bad))
    calls = [each for each in found if each.function != SETUP]
    count = sum(each.contended for each in calls)
    worst = max((period.others for period in periods), default=0.0)
    why = f"other processes used up to {worst:.0%} of the machine, or it was held back"
    loss = Loss(cause="contention", unit="calls' times", lost=count, total=len(calls), why=why)
    losses = (*trace.losses, loss) if count else trace.losses
    return replace(trace, iterations=tuple(found), losses=losses)

"""K-fold figures: constants fitted on all folds but one, the error on that one.

A fold's constants are found by steps of a few percent along one constant at a time, from the
target file's values, by least mean absolute percentage error. Which constants: `FITTED`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
from validate_mlir import module
from validate_rows import Row
from validate_stats import error

from xpu_shark.compiler.simulate_main import default_device
from xpu_shark.compiler.workload_main import Program
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.target import Target, load
from xpu_shark.simulator.workload import Workload

Change = Callable[[Target, float], Target]
Errors = dict[str, list[float]]  # by operator, one a row
STEP = 1.06


def _field(name: str) -> Change:
    return lambda target, factor: msgspec.structs.replace(
        target, **{name: factor * getattr(target, name)}
    )


def _memory(target: Target, factor: float) -> Target:
    """The main memory's sustained rate, up to its peak."""
    outer, *inner = target.memory
    rate = min(factor * outer.bytes_per_s, outer.peak_bytes_per_s or outer.bytes_per_s)
    outer = msgspec.structs.replace(outer, bytes_per_s=rate)
    return msgspec.structs.replace(target, memory=(outer, *inner))


def _clock(target: Target, factor: float) -> Target:
    """The sustained clock, up to the data sheet's."""
    clock = min(factor * (target.sustained_clock_hz or target.clock_hz), target.clock_hz)
    return msgspec.structs.replace(target, sustained_clock_hz=clock)


def _matrix(name: str) -> Change:
    """A constant of the matrix unit."""

    def change(target: Target, factor: float) -> Target:
        scaled = {name: factor * getattr(target.matrix, name)}
        return msgspec.structs.replace(
            target, matrix=msgspec.structs.replace(target.matrix, **scaled)
        )

    return change


def _call(kind: str) -> Change:
    """The host's part of a call of this kind of operator."""

    def change(target: Target, factor: float) -> Target:
        call = getattr(target.submit, kind)
        scaled = msgspec.structs.replace(
            call, before_ns=factor * call.before_ns, call_ns=factor * call.call_ns
        )
        submit = msgspec.structs.replace(target.submit, **{kind: scaled})
        return msgspec.structs.replace(target, submit=submit)

    return change


MOVES = (_matrix("gather_cycles"), _matrix("run_cycles"))
CALLS = tuple(map(_call, ("contraction", "softmax", "normalisation", "elementwise")))
FITTED: dict[str, tuple[Change, ...]] = {
    "tpu_v6e": (_clock, _memory, _field("launch_ns"), *MOVES),
    "tpu_v4": (_clock, _memory, _field("launch_ns")),
    "a100": (_clock, _memory, *CALLS),
    "mi210": (_clock, _memory, _field("workgroup_ns"), *CALLS),
}


class Fitting:
    """Simulates one device's rows with changed constants, each target once."""

    def __init__(self, device: str, parts: Sequence[Sequence[Row]], count: int) -> None:
        self.device, self.count = device, count
        self.parts = [(rows, workload(rows)) for rows in parts]
        self._known: dict[tuple[int, ...], list[tuple[int, str, float]]] = {}

    def errors(self, steps: tuple[int, ...]) -> list[tuple[int, str, float]]:
        """(fold, operator, absolute error in percent) of every row."""
        if steps not in self._known:
            self._known[steps] = list(self._simulate(self._target(steps)))
        return self._known[steps]

    def fit(self, fold: int) -> tuple[int, ...]:
        """Steps along each constant that are best for the rows of the other folds."""
        best = (0,) * len(FITTED[self.device])
        moved = True
        while moved:
            moved = False
            for near in _neighbours(best):
                if self._mean(near, fold) < self._mean(best, fold):
                    best, moved = near, True
        return best

    def _mean(self, steps: tuple[int, ...], fold: int) -> float:
        return fmean(error for number, _, error in self.errors(steps) if number != fold)

    def _target(self, steps: tuple[int, ...]) -> Target:
        target = load(self.device)
        for change, step in zip(FITTED[self.device], steps, strict=True):
            target = change(target, STEP**step)
        return target

    def _simulate(self, target: Target) -> Iterator[tuple[int, str, float]]:
        for rows, work in self.parts:
            for function in simulate(work, Settings(target, mode="default")).functions:
                row = rows[int(function.name.removeprefix("row"))]
                simulated = (function.time_ps or 0) / 1e6
                fold = zlib.crc32(f"{row.device} {row.name}".encode()) % self.count
                yield fold, row.operator, abs(error(simulated, row.measured_us))


def folds(parts: Sequence[Sequence[Row]], count: int) -> Iterator[str]:
    """A line for each device and operator: error as the file is, and held out."""
    yield f"{count} folds: mean error with the target file's constants, and of rows held out, in %"
    devices = dict.fromkeys(rows[0].device for rows in parts)
    for device in devices:
        own = [rows for rows in parts if rows[0].device == device and _has_kernels(rows)]
        if own:
            yield from _device(Fitting(device, own, count))


def workload(rows: Sequence[Row]) -> Workload:
    """What the product reads from the rows' module, in a process of its own."""
    backends = ",".join(load(rows[0].device).iree.backends)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.mlir")
        path.write_text(module(rows))
        tool = [sys.executable, "-m", "xpu_shark.compiler.workload_main", "workload", backends]
        flags = [str(path), *default_device([str(path)]), "-o", "-"]
        child = subprocess.run([*tool, *flags], capture_output=True, check=True)
    program = msgspec.msgpack.decode(child.stdout, type=Program)
    assert program.workload is not None
    return program.workload


def _device(fitting: Fitting) -> Iterator[str]:
    start = fitting.errors((0,) * len(FITTED[fitting.device]))
    held: Errors = {}
    for fold in range(fitting.count):
        for number, operator, size in fitting.errors(fitting.fit(fold)):
            if number == fold:
                held.setdefault(operator, []).append(size)
    for operator, sizes in held.items():
        file = fmean(size for _, name, size in start if name == operator)
        name = f"{fitting.device}/{operator}"
        yield f"{name:<32}{len(sizes):>5}{file:>8.1f}{fmean(sizes):>8.1f}"


def _has_kernels(rows: Sequence[Row]) -> bool:
    return rows[0].operator != "all_reduce"


def _neighbours(steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for position in range(len(steps)):
        for change in (1, -1):
            yield (*steps[:position], steps[position] + change, *steps[position + 1 :])

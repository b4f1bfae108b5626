"""Times the kernels with IREE's own recorder, as often as it takes for the times to be stable."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from iree.compiler.tools import CompilerToolError, compile_str

from xpu_shark.compiler.calibrate.kernels import Kernel
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace import capture
from xpu_shark.compiler.trace.model import SETUP, Trace
from xpu_shark.passes.text import one_line

WARMUP: Final = 3
CALLS: Final = 12
# Of one kernel at most, and two at least. Those of one kernel are not taken at once: where a
# virtual machine misses a core for seconds, not all of them are without it.
ROUNDS: Final = 4
STEADY: Final = 0.03  # how close the two quickest rounds are in the end
NOISY: Final = 0.5  # spread of a kernel from which on its time says nothing
MOST_NOISY: Final = 0.2  # share of such kernels from which on the machine is not fit
BUDGET_S: Final = 80.0  # after which kernels get no more than two rounds
PATIENCE_S: Final = 20.0  # with one kernel that is disturbed in every round
PAUSE_S: Final = 0.5
FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


@dataclass(frozen=True)
class Timing:
    """`ns`: median over the launches of the two quietest rounds; `spread`: how much longer the
    median over all launches is than that of the quietest round, as a fraction of it."""

    ns: float
    spread: float


Round = Callable[[Kernel], list[float]]  # nanoseconds of the launches of the undisturbed calls


def build(kernels: Sequence[Kernel], path: Path) -> None:
    """Compile them to a module for this CPU. Raises `UsageError` with the compiler's first line."""
    try:
        compile_str(
            "\n".join(kernel.text for kernel in kernels),
            extra_args=list(FLAGS),
            output_file=str(path),
        )
    except CompilerToolError as problem:
        raise UsageError(f"calibrate: IREE refuses a kernel: {_first_error(problem)}") from None


def recorder(module: Path) -> Round:
    """Rounds of `CALLS` calls under `xpu-shark record`'s recorder."""

    def measure(kernel: Kernel) -> list[float]:
        threads = [f"--task_topology_max_group_count={kernel.threads}"] if kernel.threads else []
        run = capture.Run(
            module=str(module),
            function=kernel.name,
            inputs=kernel.inputs,
            devices=("local-task",),
            warmup=WARMUP,
            iterations=CALLS,
            extra=tuple(threads),
        )
        return launches(capture.capture(run, ""))

    return measure


def launches(trace: Trace) -> list[float]:
    """Nanoseconds of every dispatch in a call that nothing disturbed."""
    found: list[float] = []
    for call in trace.iterations:
        if call.contended or call.function == SETUP:
            continue
        part = slice(call.first, call.first + call.launches)
        for kind, duration in zip(
            trace.launches.kind[part].tolist(),
            trace.launches.duration_ns[part].tolist(),
            strict=True,
        ):
            if trace.kinds[kind].what == "dispatch" and duration > 0:
                found.append(duration)
    return found


class Clock:
    """The time, and waiting."""

    now = staticmethod(time.monotonic)
    wait = staticmethod(time.sleep)


def measure_all(
    kernels: Sequence[Kernel], measure: Round, clock: Clock | None = None
) -> dict[str, Timing]:
    """Times by name of the kernel. Raises `UsageError` where the machine is not quiet enough."""
    clock = clock or Clock()
    end = clock.now() + BUDGET_S
    rounds: dict[str, list[list[float]]] = {kernel.name: [] for kernel in kernels}
    for number in range(ROUNDS):
        for kernel in kernels:
            taken = rounds[kernel.name]
            if not _steady(taken) and (number < 2 or clock.now() <= end):
                taken += _round(kernel, measure, clock, again=number > 0)
    found = {name: _timing(taken) for name, taken in rounds.items()}
    noisy = [name for name, timing in found.items() if timing.spread > NOISY]
    if len(noisy) > MOST_NOISY * len(found):
        worst = max(noisy, key=lambda name: found[name].spread)
        raise UsageError(
            f"calibrate: this machine is too noisy: {len(noisy)} of {len(found)} kernels vary by "
            f"more than {NOISY:.0%}, {worst} by {found[worst].spread:.0%}; stop other work on it "
            "and try again"
        )
    return found


def _round(kernel: Kernel, measure: Round, clock: Clock, *, again: bool) -> list[list[float]]:
    """One that was not disturbed; none where there was one before and nobody leaves it alone."""
    patience = clock.now() + PATIENCE_S
    while clock.now() <= patience:
        if times := measure(kernel):
            return [times]
        clock.wait(PAUSE_S)
    if again:
        return []
    raise UsageError(
        f"calibrate: other processes disturbed {kernel.name} in every call for "
        f"{PATIENCE_S:.0f} s; stop other work on this machine and try again"
    )


def _steady(rounds: Sequence[Sequence[float]]) -> bool:
    """Whether the two quickest rounds agree."""
    best = sorted(map(median, rounds))[:2]
    return len(best) == 2 and best[1] <= (1 + STEADY) * best[0]


def _timing(rounds: Sequence[Sequence[float]]) -> Timing:
    ordered = sorted(rounds, key=median)
    quiet = median(time for times in ordered[:2] for time in times)
    whole = median(time for times in ordered for time in times)
    return Timing(quiet, whole / median(ordered[0]) - 1)


def _first_error(problem: CompilerToolError) -> str:
    lines = [line for line in str(problem).splitlines() if "error:" in line]
    return one_line(lines[0] if lines else str(problem))

"""What a rule sees, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.simulate import KernelRun, time_ps
from xpu_shark.simulator.symbolic import Value
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.variation import moved
from xpu_shark.simulator.workload import Workload, trip_counts


@dataclass(frozen=True)
class Case:
    """One dispatch with its sizes bound, as it was simulated."""

    dispatch: Dispatch
    kernel: BoundKernel
    run: KernelRun
    target: Target
    thorough: bool = True  # whether a search may take its time

    @cached_property
    def moved(self) -> tuple[tuple[Target, int], ...]:
        """The dispatch's time, with the tiles it has, on every moved target."""
        return tuple(
            (target, time_ps(self.kernel, self.run.plan, target)) for target in moved(self.target)
        )


def bound(dispatch: Dispatch, workload: Workload, analysis: Analysis) -> BoundKernel:
    """The dispatch's kernel with the sizes that it was simulated with."""
    kernel = next(kernel for kernel in workload.kernels if kernel.name == dispatch.name)
    env: dict[str, Value] = {**analysis.dims, **trip_counts(kernel.name, dispatch.trips)}
    values = enumerate(dispatch.constants)
    env.update({f"constant{number}": value for number, value in values if value is not None})
    return bind(kernel, env)


@dataclass(frozen=True)
class Proposal:
    """A change to one dispatch: what to simulate instead, launch by launch.

    `condition` says what was found, `suggestion` what to change, precisely enough to paste.
    `confidence` is "high" where the change keeps results bit for bit, "medium" where it reorders
    arithmetic, "low" where it rounds differently.
    """

    condition: str
    suggestion: str
    launches: tuple[tuple[BoundKernel, Tiling], ...]
    confidence: str

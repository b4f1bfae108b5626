"""What a rule sees, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xpu_shark.passes.advise.neighbours import ALONE, Neighbours
from xpu_shark.passes.module_pass import Analysis
from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.estimate import estimate
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.simulate import KernelRun, time_ps
from xpu_shark.simulator.symbolic import Value
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.variation import named_moves, time_after
from xpu_shark.simulator.workload import Kernel, Workload, trip_counts


@dataclass(frozen=True)
class Case:
    """One dispatch with its sizes bound, as it was simulated. `results` is how many results (for
    example tokens) one call of its function gives, or None where nobody said."""

    dispatch: Dispatch
    kernel: BoundKernel
    run: KernelRun
    target: Target
    thorough: bool = True  # whether a search may take its time
    results: int | None = None
    find_near: Callable[[], Neighbours] = lambda: ALONE
    kernels: tuple[Kernel, ...] = ()  # of the whole program

    @cached_property
    def near(self) -> Neighbours:
        """The dispatches next to it; looked for when a rule asks."""
        return self.find_near()

    @cached_property
    def moved(self) -> tuple[tuple[str, Target, int], ...]:
        """What is uncertain, every target with that moved, and the dispatch's time there with the
        tiles it has."""
        launch, base = (self.kernel, self.run.plan), (self.target, self.run.time_ps)
        moves = named_moves(self.target)
        return tuple((what, each, time_after(launch, base, each)) for what, each in moves)

    def named(self, tensor: int) -> str:
        """A tensor in words: "the 768x3072xf32 operand"."""
        kind = self.kernel.tensors[tensor]
        role = "operand" if kind.is_global else "transient tensor"
        return f"the {'x'.join(map(str, (*kind.shape, kind.element)))} {role}"

    def tiling(self, kernel: BoundKernel) -> Tiling:
        """Tiles for a changed `kernel`: those in use where the axes are the same, or what the
        target's own tiler picks if that is faster and the IR does not fix the tiles."""
        picked = tilings.choose(kernel, self.target, "default")
        if kernel.axes != self.kernel.axes:
            return picked
        choices = [self.run.plan] if self.run.plan.source == "ir" else [self.run.plan, picked]
        fitting = [each for each in choices if estimate(kernel, each, self.target).fits]
        if len(fitting) < 2 or fitting[0] == fitting[1]:
            return (*fitting, picked)[0]
        return min(fitting, key=lambda each: time_ps(kernel, each, self.target))


def bound(dispatch: Dispatch, workload: Workload, analysis: Analysis) -> BoundKernel:
    """The dispatch's kernel with the sizes that it was simulated with."""
    kernel = next(kernel for kernel in workload.kernels if kernel.name == dispatch.name)
    env: dict[str, Value] = {**analysis.dims, **trip_counts(kernel.name, dispatch.trips)}
    values = enumerate(dispatch.constants)
    env.update({f"constant{number}": value for number, value in values if value is not None})
    return bind(kernel, env, dispatch.context)


HYPOTHETICAL = "hypothetical"


def _same(target: Target) -> Target:
    return target


@dataclass(frozen=True)
class Proposal:
    """A change to one dispatch: what to simulate instead, launch by launch.

    `condition` says what was found, `suggestion` what to change, precisely enough to paste.
    `confidence` is "high" where the change keeps results bit for bit, "medium" where it reorders
    arithmetic, "low" where it rounds differently, and "hypothetical" where it is the machine that
    would have to be another one: that says what a wait costs and adds to no total.
    A speedup of less than `worth` is not told. `machine` is how the target then runs; `stands_for`
    how many launches of the dispatch one run of `launches` replaces; `others` are dispatches that
    the change takes up besides.
    """

    condition: str
    suggestion: str
    launches: tuple[tuple[BoundKernel, Tiling], ...]
    confidence: str
    worth: float = 1.0
    machine: Callable[[Target], Target] = _same
    stands_for: int = 1
    others: tuple[str, ...] = ()

    def only_retiles(self, case: Case) -> bool:
        """Whether nothing but tiles and loop order would change."""
        kernels = [kernel for kernel, _ in self.launches]
        return kernels == [case.kernel] and self.machine is _same and self.stands_for == 1

"""The interface that every pass implements, and what passes of one compile share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from iree.compiler import ir

from xpu_shark.simulator.recording import Recording
from xpu_shark.simulator.result import Finding, Report
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Workload

if TYPE_CHECKING:
    from xpu_shark.simulator.network import Slow
    from xpu_shark.simulator.replay import Replay

Phase = Literal["start", "flow", "executable-sources", "executable-configurations"]
Tiling = Literal["ir", "default", "best"]
Effort = Literal["low", "default", "high"]


class Refused(Exception):
    """What the user gave a pass does not fit; the message is one line that says why."""


@dataclass
class Analysis:
    """Options of one compile and what its passes have found so far."""

    target: Target
    dims: Mapping[str, int] = field(default_factory=dict)  # --xpu-dim NAME=VALUE
    tiling: Tiling = "ir"
    devices: int = 1
    fold: bool = True
    slow: tuple[Slow, ...] = ()  # --xpu-slow-link
    effort: Effort = "default"
    results_per_call: int | None = None  # --xpu-per
    source: str = ""  # the input as the user named it
    repeats: dict[str, list[str]] = field(default_factory=dict)  # equal ops: first's place, others'
    # Devices of a collective's only group, by its place.
    groups: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    pinned: set[str] = field(default_factory=set)  # kernels whose tiles the input fixes
    trace: str = ""  # --xpu-trace, and what it recorded
    recording: Recording | None = None
    workload: Workload | None = None
    replayed: Replay | None = None
    report: Report | None = None
    advised: bool = False  # whether the report's findings are all that rules find
    # Findings that need another compile of the program; asked for at high effort only.
    more_findings: Callable[[Analysis], Sequence[Finding]] = lambda _: ()

    @property
    def simulated(self) -> Workload:
        """What the report is of: the program, or what ran of it where there is a recording."""
        found = self.workload if self.replayed is None else self.replayed.workload
        assert found is not None
        return found


@dataclass(frozen=True)
class ModulePass(ABC):
    """A named step over one module. Its dataclass fields are its options."""

    name: ClassVar[str]
    phase: ClassVar[Phase] = "executable-configurations"
    changes_module: ClassVar[bool] = False  # whether the compile goes on with what `run` left

    @abstractmethod
    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        """Look at or change `module` (a builtin.module); keep no reference to its ops."""

"""Says which backends of a module take no probes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from iree.compiler import ir

from xpu_shark.passes.instrument.probe_ops import BACKEND, all_ops, targets
from xpu_shark.passes.instrument.remarks import decline
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase

_DISPATCH: Final = "stream.cmd.dispatch"


@dataclass
class Coverage:
    """Backends that take no probes, and how many initializers run kernels."""

    refused: tuple[str, ...] = ()
    computing: int = 0


@dataclass(frozen=True)
class ProbeCoverage(ModulePass):
    """One remark a backend without probes; `found` is for the caller. Changes nothing."""

    found: Coverage = field(default_factory=Coverage)

    name: ClassVar[str] = "xpu-probe-coverage"
    phase: ClassVar[Phase] = "executable-sources"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        backends = dict.fromkeys(backend for _, backend in targets(module))
        self.found.refused = tuple(each for each in backends if each != BACKEND)
        initializers = all_ops(module, "util.initializer")
        self.found.computing = sum(bool(all_ops(each, _DISPATCH)) for each in initializers)
        for backend in self.found.refused:
            reason = "this backend takes no probes: record profile and replay of the module instead"
            decline(module, backend or "unknown", reason)

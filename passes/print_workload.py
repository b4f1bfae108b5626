"""Prints the workload that the bridge reads from a module."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from xpu_shark.passes.bridge.read_workload import read_workload
from xpu_shark.passes.module_pass import Analysis, ModulePass
from xpu_shark.simulator.workload_text import workload_text


@dataclass(frozen=True)
class PrintWorkload(ModulePass):
    """Kernels and functions of the module on standard output; changes nothing."""

    name: ClassVar[str] = "xpu-print-workload"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        workload = read_workload(module, analysis.target.iree.backends, analysis.pinned)
        sys.stdout.write(workload_text(workload))

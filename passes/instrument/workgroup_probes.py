"""Starts the plan of each export that IREE gave a workgroup probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from xpu_shark.passes.instrument.plan import ExportPlan, encode
from xpu_shark.passes.instrument.probe_ops import PLAN, kernels, symbol
from xpu_shark.passes.instrument.remarks import decline
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase


@dataclass(frozen=True)
class WorkgroupProbes(ModulePass):
    """A plan without sites for each export; one that IREE left out is named in a remark.

    The probes are IREE's own: `--iree-hal-instrument-dispatches` has put them in.
    """

    name: ClassVar[str] = "xpu-workgroup-probes"
    phase: ClassVar[Phase] = "executable-sources"
    changes_module: ClassVar[bool] = True

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for function, workgroup in kernels(module):
            name = symbol(function)
            if workgroup is None:
                decline(function, name, "no probe: IREE did not instrument this export")
                continue
            text = encode(ExportPlan(name))
            function.attributes[PLAN] = ir.StringAttr.get(text, function.context)

"""Puts the probe plan where it travels with the program: into the compiled module itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from iree.compiler import ir

from xpu_shark.passes.instrument.plan import QUERY, REFLECTION, ExportPlan, Plan, decode_export
from xpu_shark.passes.instrument.plan import encode as encode_plan
from xpu_shark.passes.instrument.probe_ops import PLAN, all_ops, symbol
from xpu_shark.passes.instrument.remarks import decline
from xpu_shark.passes.module_pass import Analysis, ModulePass

_ATTRIBUTE: Final = "iree.reflection"


@dataclass(frozen=True)
class EmbedPlan(ModulePass):
    """Moves the plans of all exports into the reflection of the function that yields the dump.

    A module without that function was not instrumented; it gets no plan, and a remark.
    """

    name: ClassVar[str] = "xpu-embed-plan"
    changes_module: ClassVar[bool] = True

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        exports = tuple(_take_plans(module))
        queries = [op for op in all_ops(module, "util.func") if symbol(op) == QUERY]
        if not queries:
            decline(module, QUERY, "not in this module, so it has no probes and no plan")
            return
        text = ir.StringAttr.get(encode_plan(Plan(exports)), module.context)
        before = queries[0].attributes
        old = ir.DictAttr(before[_ATTRIBUTE]) if _ATTRIBUTE in before else ()
        merged = {**{each.name: each.attr for each in old}, REFLECTION: text}
        queries[0].attributes[_ATTRIBUTE] = ir.DictAttr.get(merged, module.context)


def _take_plans(module: ir.Operation) -> list[ExportPlan]:
    plans = []
    for function in all_ops(module, "func.func"):
        if PLAN in function.attributes:
            plans.append(decode_export(ir.StringAttr(function.attributes[PLAN]).value))
            del function.attributes[PLAN]
    return plans

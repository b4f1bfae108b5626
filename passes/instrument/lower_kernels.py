"""Runs llvm-cpu's lowering of each kernel early, so that its loops are there to be probed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from xpu_shark.passes.instrument.name_trips import name_trips
from xpu_shark.passes.instrument.plan import ExportPlan, encode
from xpu_shark.passes.instrument.probe_ops import PLAN, all_ops, kernels, symbol
from xpu_shark.passes.instrument.remarks import decline
from xpu_shark.passes.module_pass import Analysis, ModulePass

# The second and third are the first steps of llvm-cpu's conversion to LLVM, done early as well:
# they turn what is left of linalg, on buffers by then, into loops.
_LOWERING: Final = (
    "iree-llvmcpu-lower-executable-target",
    "iree-linalg-ext-to-loops",
    "convert-linalg-to-loops",
)
_INFO: Final = "translation_info"
_DONE: Final = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"


@dataclass(frozen=True)
class LowerKernels(ModulePass):
    """Lowers every kernel with a plan as IREE would a phase later, and tells IREE that it is done.

    A kernel without a `translation_info` stays as it is: IREE has not chosen how to lower it.
    """

    name: ClassVar[str] = "xpu-lower-kernels"
    changes_module: ClassVar[bool] = True

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        inner = dict.fromkeys(function.parent.operation for function, _ in kernels(module))
        for each in inner:
            if any(_wanted(function) for function in all_ops(each, "func.func")):
                _lower(each)


def _wanted(function: ir.Operation) -> bool:
    return PLAN in function.attributes and _INFO in function.attributes


def _lower(module: ir.Operation) -> None:
    """Lower a copy first: a lowering that fails leaves half of its work behind."""
    copy = module.clone(ip=ir.InsertionPoint.after(module)).operation
    for function in filter(_wanted, all_ops(copy, "func.func")):
        name_trips(function)
    manager = PassManager("builtin.module", context=module.context)
    manager.add(f"func.func({','.join(_LOWERING)})")
    try:
        manager.run(copy)
    except ir.MLIRError as problem:
        copy.erase()
        for function in filter(_wanted, all_ops(module, "func.func")):
            reason = f"lowering failed: {problem.message}"
            plan = ExportPlan(symbol(function), declined=reason)
            function.attributes[PLAN] = ir.StringAttr.get(encode(plan), function.context)
            decline(function, plan.name, f"loops have no probes: {reason}")
        return
    module.erase()
    for function in all_ops(copy, "func.func"):
        if _INFO in function.attributes:
            function.attributes[_INFO] = ir.Attribute.parse(_DONE, function.context)

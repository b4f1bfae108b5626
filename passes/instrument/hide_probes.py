"""Takes IREE's instrumentation out of a copy of the module, so that analysis sees the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from iree.compiler import ir

from xpu_shark.passes.instrument.plan import QUERY
from xpu_shark.passes.instrument.probe_ops import PLAN, WORKGROUP, all_ops, symbol
from xpu_shark.passes.module_pass import Analysis, ModulePass

_SOURCES: Final = (
    "memref.assume_alignment",
    "hal.interface.binding.subspan",
    "hal.interface.constant.load",
)


@dataclass(frozen=True)
class HideProbes(ModulePass):
    """Erases workgroup probes, what only they use, and the function that yields the dump."""

    name: ClassVar[str] = "xpu-hide-probes"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        erase_probes(module)
        for function in all_ops(module, "util.func"):
            if symbol(function) == QUERY:
                function.erase()
        for function in all_ops(module, "func.func"):
            if PLAN in function.attributes:
                del function.attributes[PLAN]


def erase_probes(root: ir.Operation) -> None:
    """Erase the workgroup probes under `root` to which no value probe belongs."""
    for probe in all_ops(root, WORKGROUP):
        if not any(True for result in probe.results for _ in result.uses):
            _erase(probe)


def _erase(op: ir.Operation) -> None:
    """Erase `op` and the sources of its operands that nothing else uses."""
    sources = {
        operand.owner.operation
        for operand in op.operands
        if not isinstance(operand, ir.BlockArgument)
    }
    op.erase()
    for source in sources:
        unused = not any(True for result in source.results for _ in result.uses)
        if source.name in _SOURCES and unused:
            _erase(source)

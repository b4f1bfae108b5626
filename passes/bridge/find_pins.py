"""Finds the dispatches whose tile sizes the user's own IR fixes.

At executable-configurations every op has a `lowering_config`, the user's or IREE's; one phase
earlier only the user's are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from xpu_shark.passes.bridge.host_program import symbol_name, walk
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase

PINS = ("compilation_info", "lowering_config")


@dataclass(frozen=True)
class FindPins(ModulePass):
    """Notes the exports that hold an op with a `compilation_info` or `lowering_config`."""

    name: ClassVar[str] = "xpu-find-pins"
    phase: ClassVar[Phase] = "executable-sources"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        analysis.pinned.update(pinned_exports(module))


def pinned_exports(module: ir.Operation) -> Iterator[str]:
    """Names of kernels with an op that carries tile sizes, in the module's order."""
    for view in module.regions[0].blocks[0].operations:
        if view.operation.name not in ("hal.executable", "stream.executable"):
            continue
        for op in walk(view.operation):
            if op.name == "func.func" and any(map(_is_pinned, walk(op))):
                yield symbol_name(op)


def _is_pinned(op: ir.Operation) -> bool:
    return any(name in op.attributes for name in PINS)

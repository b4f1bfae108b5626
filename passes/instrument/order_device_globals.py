"""Puts device globals in front of the initializers that use them.

IREE 3.13 puts the initializer of its dispatch instrumentation at the start of the module, before
the globals of the devices that it allocates on, and its own verifier then refuses the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from iree.compiler import ir

from xpu_shark.passes.instrument.probe_ops import all_ops, symbol
from xpu_shark.passes.instrument.remarks import decline
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase

_INITIALIZER: Final = "util.initializer"
_GLOBAL: Final = "util.global"
_DEVICE: Final = "!hal.device"
_ACCESSES: Final = ("util.global.load", "util.global.store", "util.global.address")


@dataclass(frozen=True)
class OrderDeviceGlobals(ModulePass):
    """Moves globals that are devices before the first initializer, in their order.

    Another global that an initializer uses too early is left alone and named in a remark.
    """

    name: ClassVar[str] = "xpu-order-device-globals"
    phase: ClassVar[Phase] = "executable-sources"
    changes_module: ClassVar[bool] = True

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        ops = [view.operation for view in module.regions[0].blocks[0].operations]
        first = next((op for op in ops if op.name == _INITIALIZER), None)
        if first is None:
            return
        late = ops[ops.index(first) :]
        for op in late:
            if op.name == _GLOBAL and str(op.attributes["type"]) == _DEVICE:
                op.move_before(first)
        _check(module)


def _check(module: ir.Operation) -> None:
    """Name what is still used before it is defined: not ours to move."""
    defined: set[str] = set()
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == _GLOBAL:
            defined.add(symbol(op))
        elif op.name == _INITIALIZER:
            for name in sorted(_used(op) - defined):
                decline(op, name, "an initializer uses this global before it is defined")


def _used(initializer: ir.Operation) -> set[str]:
    accesses = (op for name in _ACCESSES for op in all_ops(initializer, name))
    return {str(op.attributes["global"]).removeprefix("@") for op in accesses}

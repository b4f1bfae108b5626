"""A user's package of passes, for tests: installed by being on sys.path with its dist-info."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from xpu_shark.passes.module_pass import Analysis, ModulePass
from xpu_shark.passes.remark import Kind, Remark

kept: list[ir.Operation] = []


def ops(module: ir.Operation, name: str) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def say(module: ir.Operation, message: str, location: str | ir.Location = "") -> None:
    Remark(
        kind=Kind.ANALYSIS,
        category="xpu-shark.coverage",
        name="Test",
        message=message,
        function="main",
        location=location,
        args=(("Dispatch", "first"), ("Text", "a: 'b' \"c\"\n- d")),
    ).emit(module.context)


@dataclass(frozen=True)
class NameFlow(ModulePass):
    """Names each dispatch site."""

    name: ClassVar = "test-name-flow"
    phase: ClassVar = "flow"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for op in ops(module, "flow.dispatch"):
            say(module, f"flow sees {op.name}", op.location)


@dataclass(frozen=True)
class NameSources(ModulePass):
    """Names each matmul before its tile sizes are chosen."""

    name: ClassVar = "test-name-sources"
    phase: ClassVar = "executable-sources"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for op in ops(module, "linalg.matmul"):
            configured = "lowering_config" in op.attributes
            say(module, f"executable-sources sees {op.name}, tiled: {configured}", op.location)


@dataclass(frozen=True)
class NameConfigurations(ModulePass):
    """Names each matmul with tile sizes."""

    name: ClassVar = "test-name-configurations"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for op in ops(module, "linalg.matmul"):
            configured = "lowering_config" in op.attributes
            message = f"executable-configurations sees {op.name}, tiled: {configured}"
            say(module, message, op.location)


@dataclass(frozen=True)
class NameOptions(ModulePass):
    """Says which options it was given."""

    name: ClassVar = "test-name-options"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        a = analysis
        dims = " ".join(f"{name}={value}" for name, value in a.dims.items())
        say(module, f"{a.target.name} {a.tiling} {a.devices} {a.fold} [{dims}]", "f.mlir:3:4")


@dataclass(frozen=True)
class KeepReferences(ModulePass):
    """Does what a pass must not: keeps its ops."""

    name: ClassVar = "test-keep-references"
    phase: ClassVar = "flow"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        kept.extend(ops(module, "flow.dispatch") + ops(module, "linalg.matmul"))


@dataclass(frozen=True)
class Erase(ModulePass):
    """Empties the module although it declares that it changes nothing."""

    name: ClassVar = "test-erase"
    phase: ClassVar = "flow"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for op in list(module.regions[0].blocks[0].operations):
            op.erase()


@dataclass(frozen=True)
class EraseAndFail(Erase):
    """Empties the module, then raises."""

    name: ClassVar = "test-erase-and-fail"
    changes_module: ClassVar = True

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        super().run(module, analysis)
        raise ValueError("two\nlines")


@dataclass(frozen=True)
class Rename(ModulePass):
    """Gives the function another name: a change that shows in the compiled module."""

    name: ClassVar = "test-rename"
    phase: ClassVar = "flow"
    changes_module: ClassVar = True

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for op in ops(module, "util.func"):
            op.attributes["sym_name"] = ir.StringAttr.get("renamed_by_a_pass", module.context)


@dataclass(frozen=True)
class Crash(ModulePass):
    """Ends the process as a bad memory access does."""

    name: ClassVar = "test-crash"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

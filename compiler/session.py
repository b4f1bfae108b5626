"""One compile in this process, taken apart at the phases where passes look at the IR."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from iree.compiler import ir
from iree.compiler.api import Output, Session, Source

from xpu_shark.compiler import errors, iree_api, phase_dump
from xpu_shark.compiler.iree_flags import PHASES, CommandLine
from xpu_shark.passes import known_dialects
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase, Refused

Found = TypeVar("Found")


class CompileSession:
    """iree-compile's steps as methods. Flags are the process's: see `iree_api.set_flags`.

    A method that runs the compiler returns False after IREE has printed why it failed.
    """

    def __init__(self, command: CommandLine) -> None:
        self._command = command
        known_dialects.register()
        gc.freeze()  # what is loaded by now stays: collections need not look at it again
        self._session = Session()
        self.context: ir.Context = self._session.context
        self._invocation = self._session.invocation()
        self._invocation.enable_console_diagnostics()
        iree_api.set_verify(self._invocation, command.verify)
        self._reached = command.compile_from
        self._module: ir.Operation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._invocation.close()
        self._module = None
        gc.collect()

    def parse(self) -> bool:
        """Read the input. Raises `ValueError` with IREE's message if it cannot be opened."""
        source = Source.open_file(self._session, self._command.input)
        return bool(self._invocation.parse_source(source))

    def reaches(self, phase: str) -> bool:
        """Whether the IR after `phase` exists between --compile-from and --compile-to."""
        first, last = self._command.compile_from, self._command.compile_to
        return PHASES.index(first) <= PHASES.index(phase) <= PHASES.index(last)

    def advance(self, phase: str) -> bool:
        """Compile from where the module is to the end of `phase`."""
        if phase == self._reached and phase != "start":
            return True
        iree_api.set_phases(self._invocation, self._reached, phase)
        try:
            if not self._command.dump_phases_to:
                return bool(self._invocation.execute())
            with phase_dump.collecting(self._command.dump_phases_to, after=self._reached) as folder:
                iree_api.dump_phases(self._invocation, folder)
                return bool(self._invocation.execute())
        finally:
            self._reached = phase

    def hand_over(self, passes: Sequence[ModulePass], analysis: Analysis) -> bool:
        """Run `passes` in order on a copy of the module; False after a fault of one of them.

        On a copy, because a pass may fail half-way, and because references to ops that a pass
        left behind would end the process when a later phase erases those ops. The compile goes
        on with the copy only where passes that change the module asked for it and all went well.
        """
        module = self._export()
        copy = module.operation.clone().operation
        done = all(_run(each, copy, analysis) for each in passes)
        if done and any(each.changes_module for each in passes):
            self._module = copy
            self._invocation.import_module(copy)
        del copy
        gc.collect()
        return done

    def write(self, output: Output) -> None:
        """The result as iree-compile writes it. Raises `ValueError` with IREE's message."""
        command, invocation = self._command, self._invocation
        if command.compile_to != "end" or command.output_format == "vm-asm":
            if command.bytecode:
                invocation.output_ir_bytecode(output, command.bytecode_version)
            else:
                invocation.output_ir(output)
        elif command.output_format == "vm-c":
            iree_api.output_vm_c(invocation, output)
        else:
            invocation.output_vm_bytecode(output)

    def look(self, reader: Callable[[ir.Operation], Found]) -> Found:
        """What `reader` makes of the module as it is now; it keeps no reference to an op."""
        found = reader(self._export().operation)
        gc.collect()
        return found

    def _export(self) -> ir.Operation:
        """The module, owned by Python from its first export on; later phases work in place."""
        if self._module is None:
            self._module = self._invocation.export_module()
            self._invocation.import_module(self._module)
        return self._module


def stops(passes: Sequence[ModulePass]) -> list[tuple[Phase, list[ModulePass]]]:
    """Passes by phase, phases in the order of compilation, passes in the order given."""
    phases = sorted({each.phase for each in passes}, key=PHASES.index)
    return [(phase, [each for each in passes if each.phase == phase]) for phase in phases]


def _run(each: ModulePass, module: ir.Operation, analysis: Analysis) -> bool:
    try:
        each.run(module, analysis)
    except Refused as problem:
        errors.error(problem)
        return False
    except Exception as problem:  # any defect of a pass: reported, and the build goes on
        errors.fault(f"pass {each.name} failed, the build goes on without it", problem)
        return False
    return True

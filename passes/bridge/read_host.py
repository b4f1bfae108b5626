"""The host program: what each function launches, moves and communicates, in order."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.host_control import read_body
from xpu_shark.passes.bridge.host_frame import Frame, Names
from xpu_shark.passes.bridge.host_program import Program, load_program
from xpu_shark.passes.bridge.host_values import input_names
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.simulator.workload import Function


def read_functions(module: ir.Operation) -> tuple[Function, ...]:
    """Functions of `module` (a builtin.module at executable-configurations).

    These are the initializers that have commands, `initializer`, `initializer.1`, ..., then every
    public function that no other public one calls, also where it has none.
    """
    program = load_program(module)
    functions: list[Function] = []
    for op in program.initializers:
        name = f"initializer.{len(functions)}" if functions else "initializer"
        function = _read(program, op, Names(name))
        functions.extend([function] if function.body else [])
    for name in program.roots():
        op = program.functions[name]
        functions.append(_read(program, op, Names(name, input_names(op))))
    return tuple(functions)


def _read(program: Program, op: ir.Operation, names: Names) -> Function:
    frame = Frame(program, names, names.function, list(op.regions[0].blocks))
    return Function(
        name=names.function, body=read_body(frame), location=source_location(op.location)
    )

"""The host program: what each function launches, moves and communicates, in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.host_control import read_body
from xpu_shark.passes.bridge.host_frame import Frame, Names
from xpu_shark.passes.bridge.host_program import Program, load_program
from xpu_shark.passes.bridge.host_values import input_names
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.simulator.workload import Choice, Command, Concurrent, Function, Repeat


def read_functions(module: ir.Operation) -> tuple[Function, ...]:
    """Functions of `module` (a builtin.module at executable-configurations).

    These are the initializers that have commands, `initializer`, `initializer.1`, ..., then every
    public function that no other public one calls, also where it has none. Branches are named
    `<function>.branch0`, `branch1`, ... in program order.
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
    branches = (f"{names.function}.branch{number}" for number in count())
    return Function(
        name=names.function,
        body=_name_branches(read_body(frame), branches),
        location=source_location(op.location),
    )


def _name_branches(body: tuple[Command, ...], names: Iterator[str]) -> tuple[Command, ...]:
    """`body` with its branches named in program order, an outer one before those in it."""
    return tuple(_name_branch(command, names) for command in body)


def _name_branch(command: Command, names: Iterator[str]) -> Command:
    if isinstance(command, Choice):
        name = next(names)
        arms = tuple(_name_branches(arm, names) for arm in command.arms)
        return Choice(arms=arms, name=name)
    if isinstance(command, Repeat | Concurrent):
        return msgspec.structs.replace(command, body=_name_branches(command.body, names))
    return command

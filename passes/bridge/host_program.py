"""The module's host side at a glance: its functions, globals and which functions to report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from iree.compiler import ir


@dataclass(frozen=True)
class Program:
    """Host functions by symbol, initializers in order and what constant integer globals hold.

    `stores` are the operations that set a global; one that is set is not constant.
    """

    functions: Mapping[str, ir.Operation]
    initializers: tuple[ir.Operation, ...]
    globals: Mapping[str, int]
    stores: Mapping[str, tuple[ir.Operation, ...]]
    default_affinity: ir.Attribute | None

    def roots(self) -> tuple[str, ...]:
        """Public functions that no other public one calls, and any such cycle's first."""
        public = [name for name, op in self.functions.items() if _is_public(op)]
        called = {name: self._reached(name) for name in public}
        below = {name for caller in public for name in called[caller] - {caller}}
        roots = [name for name in public if name not in below]
        for name in public:
            if name not in roots and not any(name in called[root] for root in roots):
                roots.append(name)
        return tuple(name for name in public if name in roots)

    def _reached(self, function: str) -> set[str]:
        reached: set[str] = set()
        pending = [function]
        while pending:
            for callee in _callees(self.functions[pending.pop()]):
                if callee in self.functions and callee not in reached:
                    reached.add(callee)
                    pending.append(callee)
        return reached


def load_program(module: ir.Operation) -> Program:
    """What the host side of `module` (a builtin.module) consists of."""
    functions: dict[str, ir.Operation] = {}
    initializers: list[ir.Operation] = []
    values: dict[str, int] = {}
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "util.func":
            functions[symbol_name(op)] = op
        elif op.name == "util.initializer":
            initializers.append(op)
        elif op.name == "util.global" and "initial_value" in op.attributes:
            if isinstance(value := op.attributes["initial_value"], ir.IntegerAttr):
                values[symbol_name(op)] = int(value.value)
    stores: dict[str, list[ir.Operation]] = {}
    for op in walk(*functions.values(), *initializers):
        if op.name == "util.global.store":
            stores.setdefault(op.attributes["global"].value, []).append(op)
    affinity = "stream.affinity.default"
    return Program(
        functions=functions,
        initializers=tuple(initializers),
        globals={name: value for name, value in values.items() if name not in stores},
        stores={name: tuple(ops) for name, ops in stores.items()},
        default_affinity=module.attributes[affinity] if affinity in module.attributes else None,
    )


def symbol_name(op: ir.Operation) -> str:
    """The symbol that `op` defines, verbatim."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def walk(*ops: ir.Operation) -> Iterator[ir.Operation]:
    """Every operation inside `ops`, in program order, themselves excluded."""
    for outer in ops:
        for region in outer.regions:
            for block in region.blocks:
                for view in block.operations:
                    yield view.operation
                    yield from walk(view.operation)


def _is_public(op: ir.Operation) -> bool:
    if not len(op.regions[0].blocks):
        return False
    visibility = "sym_visibility"
    return visibility not in op.attributes or op.attributes[visibility].value == "public"


def _callees(function: ir.Operation) -> set[str]:
    return {op.attributes["callee"].value for op in walk(function) if op.name == "util.call"}

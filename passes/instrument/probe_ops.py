"""The operations that probes are made of, and finding the places where they go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from iree.compiler import ir

# Ops that a trip count of the workload may be of.
COUNTED: Final = ("scf.for", "scf.while", "scf.if", "tensor.extract", "memref.load")
WORKGROUP: Final = "hal.instrument.workgroup"
PLAN: Final = "xpu.plan"  # attribute of a func.func: its plan, until xpu-embed-plan takes it
BACKEND: Final = "llvm-cpu"  # the one that lowers hal.instrument ops
_COUNTER: Final = "llvm.readcyclecounter"
_TRIPLE = re.compile(r'target_triple = "([^"-]*)-')


def all_ops(root: ir.Operation, *names: str) -> list[ir.Operation]:
    """The ops called one of `names` under `root`, in program order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def symbol(op: ir.Operation) -> str:
    """Name of a symbol op."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def targets(module: ir.Operation) -> Iterator[tuple[ir.Operation, str]]:
    """Each executable variant of `module` and its backend."""
    for variant in all_ops(module, "hal.executable.variant"):
        parts = str(variant.attributes["target"]).split('"')
        yield variant, parts[1] if len(parts) > 1 else ""


def kernels(module: ir.Operation) -> Iterator[tuple[ir.Operation, ir.Operation | None]]:
    """Each func.func with one body that llvm-cpu compiles, and the workgroup probe in it."""
    for variant, backend in targets(module):
        for function in all_ops(variant, "func.func") if backend == BACKEND else ():
            if function.regions[0].blocks:
                yield function, next(iter(all_ops(function, WORKGROUP)), None)


def architecture(function: ir.Operation) -> str:
    """First part of the target triple that `function` is compiled for; empty if unknown."""
    parent = function.parent
    while parent is not None and parent.operation.name != "hal.executable.variant":
        parent = parent.operation.parent
    target = str(parent.operation.attributes["target"]) if parent is not None else ""
    found = _TRIPLE.search(target)
    return found[1] if found else ""


class Prober:
    """Makes probes that belong to one workgroup record."""

    def __init__(self, workgroup: ir.Operation) -> None:
        self._ring, self._key = workgroup.operands[0], workgroup.results[0]
        self._i8, self._i32, self._i64 = (
            ir.IntegerType.get_signless(bits, workgroup.context) for bits in (8, 32, 64)
        )
        self._location = workgroup.location

    def value(self, site: int, value: ir.Value, place: ir.InsertionPoint) -> None:
        """Report the low 32 bits of an integer or index; narrower ones are extended."""
        self._report(site, self._as_i32(value, place), place)

    def zero(self, site: int, place: ir.InsertionPoint) -> None:
        """Report 0."""
        self._report(site, self._constant(self._i32, 0, place), place)

    def cycles(self, site: int, place: ir.InsertionPoint, high: int | None = None) -> None:
        """Report the low 32 bits of the cycle counter, and the high ones as site `high`."""
        empty = ir.DenseI32ArrayAttr.get([], self._i32.context)
        operands = ir.DenseI32ArrayAttr.get([0, 0], self._i32.context)
        attributes = {
            "intrin": ir.StringAttr.get(_COUNTER, self._i32.context),
            "op_bundle_sizes": empty,
            "operandSegmentSizes": operands,
        }
        now = self._make("llvm.call_intrinsic", self._i64, [], place, attributes)
        self._report(site, self._make("arith.trunci", self._i32, [now], place), place)
        if high is not None:
            by = self._constant(self._i64, 32, place)
            upper = self._make("arith.shrui", self._i64, [now, by], place)
            self._report(high, self._make("arith.trunci", self._i32, [upper], place), place)

    def _report(self, site: int, value: ir.Value, place: ir.InsertionPoint) -> None:
        wrapped = site - 256 if site > 127 else site  # the ordinal is a signed i8 attribute
        attributes = {"ordinal": ir.IntegerAttr.get(self._i8, wrapped)}
        operands = [self._ring, self._key, value]
        self._make("hal.instrument.value", self._i32, operands, place, attributes)

    def _as_i32(self, value: ir.Value, place: ir.InsertionPoint) -> ir.Value:
        if isinstance(value.type, ir.IndexType):
            return self._make("arith.index_cast", self._i32, [value], place)
        width = ir.IntegerType(value.type).width
        if width == 32:
            return value
        name = "arith.trunci" if width > 32 else "arith.extui" if width == 1 else "arith.extsi"
        return self._make(name, self._i32, [value], place)

    def _constant(self, kind: ir.Type, value: int, place: ir.InsertionPoint) -> ir.Value:
        attributes = {"value": ir.IntegerAttr.get(kind, value)}
        return self._make("arith.constant", kind, [], place, attributes)

    def _make(
        self,
        name: str,
        result: ir.Type,
        operands: list[ir.Value],
        place: ir.InsertionPoint,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        made = ir.Operation.create(
            name,
            results=[result],
            operands=operands,
            attributes=attributes or {},
            ip=place,
            loc=self._location,
        )
        return made.results[0]

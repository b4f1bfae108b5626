"""Finds computations that the input spells out more than once.

The compiler keeps the first of them, and of its place only: what the others were called at would
be lost to whoever reads about the dispatch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase


@dataclass(frozen=True)
class FindRepeats(ModulePass):
    """Notes for the first of equal ops where the others are; an op with a body equals no other."""

    name: ClassVar[str] = "xpu-find-repeats"
    phase: ClassVar[Phase] = "start"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for first, other in repeats(module):
            places = analysis.repeats.setdefault(first, [])
            if other not in places:
                places.append(other)


def repeats(module: ir.Operation) -> Iterator[tuple[str, str]]:
    """(place of the first, place of another) of equal ops on equal operands in one block."""
    for function in module.regions[0].blocks[0].operations:
        for region in function.operation.regions:
            for block in region.blocks:
                yield from _in_block(block)


def _in_block(block: ir.Block) -> Iterator[tuple[str, str]]:
    """Ops are numbered by what they compute: equal ones have the number of the first."""
    numbers: dict[ir.Value, Hashable] = {}
    seen: dict[Hashable, list[ir.Operation]] = {}
    for view in block.operations:
        op = view.operation
        if not len(op.results) or not len(op.operands) or len(op.regions):
            continue
        operands = tuple(numbers.get(value, value) for value in op.operands)
        alike = seen.setdefault((op.name, operands), [])
        first = next((each for each in alike if _same(each, op)), None)
        if first is None:
            alike.append(op)
            continue
        for own, other in zip(op.results, first.results, strict=True):
            numbers[own] = numbers.get(other, other)
        places = source_location(first.location), source_location(op.location)
        if all(places) and places[0] != places[1]:
            yield places


def _same(one: ir.Operation, two: ir.Operation) -> bool:
    """Whether ops of one name on equal operands have equal attributes and result types."""
    attributes = [{name: op.attributes[name] for name in op.attributes} for op in (one, two)]
    types = [[result.type for result in op.results] for op in (one, two)]
    return attributes[0] == attributes[1] and types[0] == types[1]

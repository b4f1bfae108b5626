"""Prints the dispatch graph of a module at phase flow."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir

from xpu_shark.passes.bridge.read_graph import Array, Site, read_graph
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase


@dataclass(frozen=True)
class PrintGraph(ModulePass):
    """One line a dispatch or collective: where its operands come from and what it makes."""

    name: ClassVar[str] = "xpu-print-graph"
    phase: ClassVar[Phase] = "flow"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for number, site in enumerate(read_graph(module).sites):
            sys.stdout.write(f"{number}: {_site(site)}\n")


def _site(site: Site) -> str:
    operands = ", ".join(f"{o.source} {_array(o.array)}" for o in site.operands)
    results = ", ".join(map(_array, site.results))
    place = f" at {site.location}" if site.location else ""
    return f"@{site.function} {site.kind} {site.name}({operands}) -> ({results}){place}"


def _array(array: Array) -> str:
    return "x".join(map(str, (*array.shape, array.element)))

"""Which ops of the source each dispatch holds.

Read where dispatches are formed: there each has a body of its own, with an op for each op of the
source; what IREE fuses into one loop nest keeps its operations' own locations inside. Names come
later, at flow, where dispatches that are alike share one body and the places of its first site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.host_program import load_program, symbol_name, walk
from xpu_shark.passes.bridge.locations import source_location, source_sites
from xpu_shark.passes.bridge.read_graph import read_graph

# Ops that every dispatch may have a copy of, or that only hold others.
_EVERYWHERE = ("arith.constant", "linalg.fill", "linalg.yield", "tensor.empty", "func.func")
# Ops of linalg that have a named form and no reduction; all others with a name have one.
_PARALLEL = ("fill", "transpose", "broadcast", "copy", "map", "elementwise", "index", "yield")
REDUCES = " reduces"  # behind the place of an op that does
_FORMED = "flow.dispatch.workgroups"
_PLUMBING = ("func.", "iree_tensor_ext.", "flow.")


class Site(msgspec.Struct, frozen=True):
    """One dispatch of a function. `places` are where the ops that it computes come from; `sources`
    the sites, by number, whose results it reads; `location` is where it stands itself, `results`
    how many tensors it makes."""

    function: str
    name: str
    places: tuple[str, ...]
    sources: tuple[int, ...]
    location: str = ""
    results: int = 1


class Body(msgspec.Struct, frozen=True):
    """A dispatch as it is formed: where it stands, and where the ops that it computes come from."""

    location: str
    places: tuple[str, ...]


def read_bodies(module: ir.Operation) -> dict[str, list[Body]]:
    """The dispatches of each function of `module`, a builtin.module whose dispatches are formed
    and not yet outlined, in program order."""
    return {
        name: [
            Body(source_location(op.location), _places(op))
            for op in walk(function)
            if op.name == _FORMED
        ]
        for name, function in load_program(module).functions.items()
    }


def read_sites(module: ir.Operation, bodies: Mapping[str, list[Body]]) -> tuple[Site, ...]:
    """The sites of `module`, a builtin.module at flow, collectives included, in program order.

    `bodies` are those of the same program before. Where they are not its dispatches one by one,
    a site has the places of the executable if it is the first of its sites, else its own only.
    """
    graph = read_graph(module).sites
    formed: dict[str, list[Body]] = {}
    for name in {site.function for site in graph}:
        sites = [s.location for s in graph if s.function == name and s.kind == "dispatch"]
        known = bodies.get(name, [])
        if sites == [body.location for body in known]:
            formed[name] = list(reversed(known))
    inside = dict(_outlined(module))
    result = []
    for site in graph:
        places = inside.pop(site.name, ())
        if site.kind == "dispatch" and site.function in formed:
            places = formed[site.function].pop().places
        sources = dict.fromkeys(o.source for o in site.operands if isinstance(o.source, int))
        result.append(
            Site(
                site.function,
                site.name,
                places or tuple(filter(None, (site.location,))),
                tuple(sources),
                site.location,
                len(site.results),
            )
        )
    return tuple(result)


def _outlined(module: ir.Operation) -> Iterator[tuple[str, tuple[str, ...]]]:
    for executable in module.regions[0].blocks[0].operations:
        if executable.operation.name != "flow.executable":
            continue
        for op in walk(executable.operation):
            if op.name == "func.func":
                yield symbol_name(op), _places(op)


def _places(op: ir.Operation) -> tuple[str, ...]:
    found = (
        place
        for inner in _computing(op)
        if inner.name not in _EVERYWHERE and not inner.name.startswith(_PLUMBING)
        for place in _marked(inner)
    )
    return tuple(dict.fromkeys(found))


def _computing(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops inside `op`. The body of a named op of linalg is left out: it is made up by its
    parser, at a place that means nothing."""
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                inner = view.operation
                yield inner
                if not inner.name.startswith("linalg.") or inner.name == "linalg.generic":
                    yield from _computing(inner)


def _marked(op: ir.Operation) -> tuple[str, ...]:
    """The places of an op; those of one that reduces, at whose place others may stand as well,
    only with a mark."""
    mark = REDUCES if _reduces(op) else ""
    return tuple(f"{place}{mark}" for place in source_sites(op.location))


def _reduces(op: ir.Operation) -> bool:
    dialect, _, name = op.name.partition(".")
    if dialect != "linalg":
        return False
    if name == "generic":
        return "reduction" in str(op.attributes["iterator_types"])
    return name not in _PARALLEL

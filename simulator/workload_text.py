"""A workload as text: stable, one fact a line, for tests and for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from xpu_shark.simulator.symbolic import Expr
from xpu_shark.simulator.workload import (
    Access,
    Choice,
    Collective,
    Command,
    Concurrent,
    Contraction,
    Function,
    Index,
    Kernel,
    Launch,
    Move,
    Nest,
    Place,
    Repeat,
    Span,
    Tensor,
    Workload,
)


def workload_text(workload: Workload) -> str:
    """Kernels, then functions; inner lines are indented, and every line ends with a newline."""
    lines = [line for kernel in workload.kernels for line in _kernel(kernel)]
    lines += [line for function in workload.functions for line in _function(function)]
    return "".join(f"{line}\n" for line in lines)


def _kernel(kernel: Kernel) -> Iterator[str]:
    facts = (kernel.state, kernel.backend, "online" if kernel.online else "", kernel.location)
    yield f"kernel @{kernel.name}: {_join(facts)}"
    if kernel.reason:
        yield f"  reason: {kernel.reason}"
    for number, tensor in enumerate(kernel.tensors):
        yield f"  tensor {number}: {_tensor(tensor)}"
    for nest in kernel.nests:
        yield from _indent(_nest(nest))


def _tensor(tensor: Tensor) -> str:
    run = f", runs of {tensor.contiguous}" if tensor.contiguous else ""
    shape = "x".join(map(str, (*tensor.shape, tensor.element)))
    return f"{tensor.storage} {shape}{run}{_place(tensor.place)}"


def _place(place: Place | None) -> str:
    if place is None:
        return ""
    if place.offset is not None:
        return f", binding {place.binding} byte {place.offset}"
    array = f" of {place.array} elements from byte {place.start} on" if place.array else ""
    return f", binding {place.binding} part{array}"


def _nest(nest: Nest) -> Iterator[str]:
    dims = ", ".join(f"{dim.kind} {dim.extent}" for dim in nest.dims)
    joint = ", in the loops of the nest before" if nest.joint else ""
    yield f"nest {nest.name} [{dims}]{joint}{_suffix(nest.location)}"
    if nest.trips != 1:
        yield f"  trips {nest.trips}"
    if nest.points is not None:
        yield f"  points {nest.points}"
    yield from (f"  read {_access(access)}" for access in nest.reads)
    yield from (f"  write {_access(access)}" for access in nest.writes)
    for work in nest.work:
        outside = "" if work.loops is None else f" in {work.loops} outer loops"
        yield f"  work {work.count} {work.kind} {work.element}{outside}"
    if nest.contraction is not None:
        yield f"  contraction {_contraction(nest.contraction)}"
    for level in nest.tiles:
        sizes = ", ".join(map(str, level.sizes))
        yield f"  tile {level.name} [{sizes}]{' pinned' if nest.pinned else ''}"


def _access(access: Access) -> str:
    return f"tensor {access.tensor}[{', '.join(map(_index, access.map))}]"


def _index(index: Index) -> str:
    terms = [f"d{dim}" if by == 1 else f"{by}*d{dim}" for dim, by in index.terms]
    terms += [str(index.offset)] if index.offset or not terms else []
    text = " + ".join(terms)
    return f"indirect({text})" if index.indirect else text


def _contraction(contraction: Contraction) -> str:
    roles = ("batch", "m", "n", "k")
    dims = [f"{role} {list(getattr(contraction, role))}" for role in roles]
    types = f"{contraction.lhs_element} x {contraction.rhs_element} -> {contraction.accumulator}"
    return f"{', '.join(dims)}, reads {contraction.lhs} x {contraction.rhs}, {types}"


def _function(function: Function) -> Iterator[str]:
    yield f"function @{function.name}{_suffix(function.location)}"
    yield from _body(function.body, "no commands")


def _body(body: tuple[Command, ...], empty: str = "nothing") -> Iterator[str]:
    if not body:
        yield f"  {empty}"
    for command in body:
        yield from _indent(_COMMANDS[type(command)](command))


def _launch(launch: Launch) -> Iterator[str]:
    constants = ", ".join(map(str, launch.constants))
    yield f"launch @{launch.kernel}({constants}){_on(launch.device)}{_suffix(launch.location)}"
    yield from _spans(launch.spans)


def _move(move: Move) -> Iterator[str]:
    way = f" from {move.source} to {move.device}" if move.source else _on(move.device)
    yield f"{move.kind} {_bytes(move.bytes)}{way}{_suffix(move.location)}"
    yield from _spans(move.spans)


def _collective(op: Collective) -> Iterator[str]:
    kind = " ".join(filter(None, (op.kind, op.reduction, op.element)))
    group = f"{op.group}" if op.group else "all"
    place = f"{_on(op.device)}{_suffix(op.location)}"
    yield f"collective {kind}, {_bytes(op.bytes)}, {group} devices{place}"
    yield from _spans(op.spans)


def _spans(spans: tuple[Span, ...]) -> Iterator[str]:
    for span in spans:
        kind = "transient" if span.transient else "host buffer" if span.host else "buffer"
        yield f"  {span.access} {kind} {span.buffer}[{span.offset} for {span.bytes}]"


def _concurrent(concurrent: Concurrent) -> Iterator[str]:
    yield "concurrent"
    yield from _body(concurrent.body)


def _repeat(repeat: Repeat) -> Iterator[str]:
    name = f"{repeat.name}: " if repeat.name else ""
    yield f"repeat {name}{repeat.trips} times"
    yield from _body(repeat.body)


def _choice(choice: Choice) -> Iterator[str]:
    yield f"choice {choice.name}"
    for number, arm in enumerate(choice.arms):
        yield f"  arm {number}"
        yield from _indent(_body(arm))


def _bytes(size: int | Expr) -> str:
    return f"{size} bytes"


def _on(device: str) -> str:
    return f" on {device}" if device else ""


def _suffix(location: str) -> str:
    return f" at {location}" if location else ""


def _join(facts: tuple[str, ...]) -> str:
    return ", ".join(fact for fact in facts if fact)


def _indent(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


_COMMANDS: Mapping[type, Callable[..., Iterator[str]]] = {
    Launch: _launch,
    Move: _move,
    Collective: _collective,
    Concurrent: _concurrent,
    Repeat: _repeat,
    Choice: _choice,
}

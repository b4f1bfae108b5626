"""From one dispatch's function to a kernel: the nests it runs and the arrays they touch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.errors import Unreadable
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder
from xpu_shark.passes.bridge.ops.buffers import read_arguments
from xpu_shark.passes.bridge.read_block import describe_fault, read_block
from xpu_shark.passes.bridge.sizes import Size, SizeReader, is_unknown
from xpu_shark.simulator.symbolic import Expr, substitute, symbol, symbols
from xpu_shark.simulator.workload import Access, Dim, Kernel, Nest, State, Tensor

_Item = TypeVar("_Item", Tensor, Nest, Dim)


def read_kernel(func_op: ir.Operation, *, name: str, backend: str, location: str) -> Kernel:
    """The kernel in a `func.func` at executable-configurations, or one on plain tensors.

    Never raises for what is in the function: a kernel that is not fully understood says so in
    `state` and `reason`. Launch constants are the symbols `constant0`, ...; dynamic extents of
    a plain function's arguments are `arg0.1` (argument 0, dimension 1).
    """
    builder, tensors, nests = _read(func_op, name)
    state, reason = _verdict(builder, tensors, nests)
    return Kernel(
        name=name,
        tensors=tensors,
        nests=nests,
        online=builder.online,
        state=state,
        reason=reason,
        backend=backend,
        location=location,
    )


def trip_numbers(func_op: ir.Operation) -> dict[ir.Operation, int]:
    """Ops of a kernel whose count is a symbol that its sizes depend on: 1 for `<kernel>.trip`.

    Loops, branches and elements read as sizes; see `KernelBuilder.trip_symbol`.
    """
    builder, tensors, nests = _read(func_op, "")
    used = symbols(*_sizes(tensors, nests))
    numbers = enumerate(builder.trip_names.items(), 1)
    return {op: number for number, (op, name) in numbers if name in used}


def _read(
    func_op: ir.Operation, name: str
) -> tuple[KernelBuilder, tuple[Tensor, ...], tuple[Nest, ...]]:
    builder = KernelBuilder(name, {"hal.interface.constant.load": _launch_constant}, read_block)
    tensors: tuple[Tensor, ...] = ()
    nests: tuple[Nest, ...] = ()
    try:
        _read_function(builder, func_op.operation)
        tensors, nests = _used(builder)
        if builder.equal:
            tensors = tuple(_settled(tensor, builder.equal) for tensor in tensors)
            nests = tuple(_settled(nest, builder.equal) for nest in nests)
    except Unreadable as error:
        builder.lost.append(str(error))
    except Exception as error:  # a fault of ours must not end the user's build; it is reported
        builder.lost.append(describe_fault(name, error))
    return builder, tensors, nests


def _read_function(builder: KernelBuilder, func: ir.Operation) -> None:
    blocks = list(func.regions[0].blocks)
    if not blocks:
        builder.lost.append("func.func without a body")
        return
    if len(blocks) > 1:
        builder.problems.append("func.func: blocks joined by branches, each counted once")
    read_arguments(builder, blocks[0])
    for block in blocks:
        read_block(builder, block)
    builder.finish_pending(func)


def _launch_constant(_: SizeReader, value: ir.OpResult) -> Size:
    return symbol(f"constant{value.owner.operation.attributes['ordinal'].value}")


def _verdict(
    builder: KernelBuilder, tensors: tuple[Tensor, ...], nests: tuple[Nest, ...]
) -> tuple[State, str]:
    """State and reason; a size that cannot be known only matters where something has it."""
    names = symbols(*_sizes(tensors, nests))
    unknown = tuple(f"size from {name[8:]}" for name in names if is_unknown(name))
    problems = tuple(dict.fromkeys((*builder.lost, *builder.problems, *unknown)))
    if not problems:
        return "modelled", ""
    return "unmodelled" if builder.lost else "partial", "; ".join(problems)


def _settled(item: _Item, equal: Mapping[str, Size]) -> _Item:
    """`item` with sizes that data says replaced by those that equal them."""
    values = {field: getattr(item, field) for field in item.__struct_fields__}
    return type(item)(**{field: _replaced(value, equal) for field, value in values.items()})


def _replaced(value: Any, equal: Mapping[str, Size]) -> Any:  # noqa: ANN401
    if isinstance(value, Expr):
        return substitute(value, equal)
    if isinstance(value, tuple):
        return tuple(_replaced(each, equal) for each in value)
    return _settled(value, equal) if isinstance(value, Dim) else value


def _sizes(tensors: tuple[Tensor, ...], nests: tuple[Nest, ...]) -> list[Size]:
    sizes = [size for tensor in tensors for size in tensor.shape]
    for nest in nests:
        sizes += [dim.extent for dim in nest.dims]
        sizes += [nest.trips, 1 if nest.points is None else nest.points]
    return sizes


def _used(builder: KernelBuilder) -> tuple[tuple[Tensor, ...], tuple[Nest, ...]]:
    """Tensors that some nest touches, and the nests with their accesses numbered anew."""
    accesses = (a for nest in builder.nests for a in (*nest.reads, *nest.writes))
    numbers = {old: new for new, old in enumerate(sorted({a.tensor for a in accesses}))}
    tensors = tuple(builder.tensors[old] for old in numbers)
    return tensors, tuple(_renumbered(nest, numbers) for nest in builder.nests)


def _renumbered(nest: Nest, numbers: dict[int, int]) -> Nest:
    reads, writes = (
        tuple(Access(tensor=numbers[access.tensor], map=access.map) for access in accesses)
        for accesses in (nest.reads, nest.writes)
    )
    return msgspec.structs.replace(nest, reads=reads, writes=writes)

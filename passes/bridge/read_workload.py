"""The whole workload of a module: its kernels joined with the host program that launches them."""

from __future__ import annotations

from collections.abc import Set

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.passes.bridge.read_kernel import read_kernel
from xpu_shark.passes.bridge.read_kernels import read_kernels
from xpu_shark.simulator.workload import Function, Kernel, Launch, Workload, launches


def read_workload(
    module: ir.Operation, prefer_backends: tuple[str, ...] = (), pinned: Set[str] = frozenset()
) -> Workload:
    """Kernels and functions of `module` (a builtin.module at executable-configurations).

    `prefer_backends` chooses among several HAL targets; the tile sizes of the kernels named in
    `pinned` are the user's. Whatever is launched has a kernel: one that the module does not define
    is `unmodelled` and stands after the others.
    """
    functions = read_functions(module)
    kernels = tuple(
        _pin(kernel) if kernel.name in pinned else kernel
        for kernel in read_kernels(module, prefer_backends)
    )
    if not kernels and not functions:
        return _plain_functions(module)
    known = {kernel.name for kernel in kernels}
    launched = dict.fromkeys(
        site.kernel for function in functions for site in launches(function.body)
    )
    missing = tuple(
        Kernel(
            name=name,
            tensors=(),
            nests=(),
            state="unmodelled",
            reason="the module does not define it",
        )
        for name in launched
        if name not in known
    )
    return Workload(kernels=kernels + missing, functions=functions)


def _pin(kernel: Kernel) -> Kernel:
    """`kernel` with its tile sizes marked as the user's; the compiler derives all from one op's."""
    nests = (msgspec.structs.replace(nest, pinned=bool(nest.tiles)) for nest in kernel.nests)
    return msgspec.structs.replace(kernel, nests=tuple(nests))


def _plain_functions(module: ir.Operation) -> Workload:
    """Each `func.func` of a module before dispatches are formed, as one launch of itself."""
    kernels, functions = [], []
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name != "func.func" or not op.operation.regions[0].blocks:
            continue
        name = str(op.operation.attributes["sym_name"].value)
        location = source_location(op.operation.location)
        kernel = read_kernel(op.operation, name=name, backend="", location=location)
        kernels.append(kernel)
        body = (Launch(kernel=name, location=location),)
        functions.append(Function(name=name, body=body, location=location))
    return Workload(kernels=tuple(kernels), functions=tuple(functions))

"""All kernels of a module at executable-configurations, one for each export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iree.compiler import ir

from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.bridge.read_kernel import read_kernel
from xpu_shark.simulator.workload import Kernel


def read_kernels(module_op: ir.Operation, prefer: tuple[str, ...] = ()) -> tuple[Kernel, ...]:
    """One kernel for each `hal.executable.export`, in the module's order.

    Of several variants of one executable (several HAL targets) the first whose backend is in
    `prefer` is read, else the first. An export without a function, as of an executable that
    comes compiled, is `unmodelled`.
    """
    executables = _named_ops(module_op.operation, "hal.executable")
    return tuple(
        kernel for executable in executables for kernel in _read_executable(executable, prefer)
    )


def _read_executable(executable: ir.Operation, prefer: Sequence[str]) -> Iterator[Kernel]:
    variants = list(_named_ops(executable, "hal.executable.variant"))
    if not variants:
        return
    backends = [_backend(variant) for variant in variants]
    chosen = next((number for number, backend in enumerate(backends) if backend in prefer), 0)
    functions = {
        _symbol(function): function
        for module in _named_ops(variants[chosen], "builtin.module")
        for function in _named_ops(module, "func.func")
    }
    for export in _named_ops(variants[chosen], "hal.executable.export"):
        name, location = _symbol(export), source_location(export.location)
        if name in functions:
            yield read_kernel(
                functions[name], name=name, backend=backends[chosen], location=location
            )
        else:
            yield Kernel(
                name=name,
                tensors=(),
                nests=(),
                state="unmodelled",
                reason="executable without IR: it comes compiled",
                backend=backends[chosen],
                location=location,
            )


def _named_ops(op: ir.Operation, name: str) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                if view.operation.name == name:
                    yield view.operation


def _symbol(op: ir.Operation) -> str:
    return str(op.attributes["sym_name"].value)


def _backend(variant: ir.Operation) -> str:
    """The first string of `#hal.executable.target<"llvm-cpu", ...>`."""
    _, _, text = str(variant.attributes["target"]).partition('"')
    return text.partition('"')[0]

"""The whole workload of a module: its kernels joined with the host program that launches them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iree.compiler import ir

from xpu_shark.passes.bridge.read_host import read_functions
from xpu_shark.passes.bridge.read_kernels import read_kernels
from xpu_shark.simulator.workload import (
    Choice,
    Command,
    Concurrent,
    Kernel,
    Launch,
    Repeat,
    Workload,
)


def read_workload(module: ir.Operation, prefer_backends: tuple[str, ...] = ()) -> Workload:
    """Kernels and functions of `module` (a builtin.module at executable-configurations).

    `prefer_backends` chooses among several HAL targets. Whatever is launched has a kernel: one
    that the module does not define is `unmodelled` and stands after the others.
    """
    functions = read_functions(module)
    kernels = read_kernels(module, prefer_backends)
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


def launches(body: Iterable[Command]) -> Iterator[Launch]:
    """Launch sites in `body`, in program order, those of every arm of a branch included."""
    for command in body:
        if isinstance(command, Launch):
            yield command
        elif isinstance(command, Concurrent | Repeat):
            yield from launches(command.body)
        elif isinstance(command, Choice):
            for arm in command.arms:
                yield from launches(arm)

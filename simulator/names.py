"""Names that a user can give a value: sizes, loops and branches that the IR leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xpu_shark.simulator.bind import kernel_symbols
from xpu_shark.simulator.symbolic import symbols
from xpu_shark.simulator.workload import (
    Choice,
    Command,
    Concurrent,
    Launch,
    Repeat,
    Workload,
)


def known_names(workload: Workload) -> tuple[str, ...]:
    """All of them, in order of appearance; those of launch constants are not the user's."""
    names = dict.fromkeys(name for function in workload.functions for name in _of(function.body))
    for kernel in workload.kernels:
        names.update(dict.fromkeys(n for n in kernel_symbols(kernel) if not _is_constant(n)))
    return tuple(names)


def unused(workload: Workload, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Names in `dims` that nothing in `workload` has, with a function before them or without."""
    names = known_names(workload)
    known = {*names, *(f"{f.name}.{name}" for f in workload.functions for name in names)}
    return tuple(name for name in dims if name not in known)


def _of(body: Iterable[Command]) -> Iterator[str]:
    for item in body:
        if isinstance(item, Launch):
            yield from symbols(*item.constants)
        elif isinstance(item, Concurrent):
            yield from _of(item.body)
        elif isinstance(item, Repeat):
            yield from symbols(item.trips)
            yield from [item.name] if item.name else []
            yield from _of(item.body)
        elif isinstance(item, Choice):
            yield item.name
            for arm in item.arms:
                yield from _of(arm)
        else:
            yield from symbols(item.bytes)


def _is_constant(name: str) -> bool:
    return name.removeprefix("constant").isdigit()

"""A dispatch as part of every one that reads its results."""

from __future__ import annotations

import msgspec

from xpu_shark.passes.advise.dataflow import Dataflow, Place
from xpu_shark.passes.advise.joined import joined
from xpu_shark.passes.advise.on_the_fly import same_shape
from xpu_shark.simulator.bind import BoundKernel

replace = msgspec.structs.replace
MOST_READERS = 4  # what is done again in each of more is no small thing


def into_readers(flow: Dataflow, step: int) -> tuple[tuple[int, ...], tuple[BoundKernel, ...]]:
    """The steps that become fewer, and the kernel of each reader with the dispatch's work inside
    and its results in the core. Both empty where somebody else sees a result. Whatever waits for
    the step is a reader, so none has to run in between."""
    kernel = flow.steps[step].kernel
    made = [] if kernel is None else _made(step, kernel)
    if kernel is None or not made or not all(map(flow.private, made)):
        return (), ()
    readers = sorted({reader for place in made for reader, _ in flow.readers.get(place, ())})
    if not 0 < len(readers) <= MOST_READERS:
        return (), ()
    fused = []
    for reader in readers:
        passed = [
            (t, rt) for _, t in made for r, rt in flow.readers.get((step, t), ()) if r == reader
        ]
        other = flow.steps[reader].kernel
        whole = None if other is None else _fused(kernel, other, passed, [t for _, t in made])
        if whole is None:
            return (), ()
        fused.append(whole)
    return (step, *readers), tuple(fused)


def _made(step: int, kernel: BoundKernel) -> list[Place]:
    written = {access.tensor for nest in kernel.nests for access in nest.writes}
    return [(step, t) for t in sorted(written) if kernel.tensors[t].is_global]


def _fused(
    first: BoundKernel, second: BoundKernel, passed: list[tuple[int, int]], made: list[int]
) -> BoundKernel | None:
    """One kernel of both; `passed` are pairs of tensors that are one. What else is `made` is for
    another reader, and need not go out here."""
    if len(passed) == 1:
        ((here, there),) = passed
        first, second = same_shape(first, here, second, there) or (first, second)
    pairs = [((0, here), (1, there)) for here, there in passed]
    whole = joined((first, second), pairs, [(0, tensor) for tensor in made])
    if whole is None:
        return None
    tensors = tuple(t if t.is_global else replace(t, resident=False) for t in whole.tensors)
    return replace(whole, tensors=tensors)

"""multi_use: a small result that several dispatches read is computed by a dispatch of its own.

What it checks: whether a dispatch whose result two or more others read is faster as a part of each
of them. It simulates every reader with the dispatch's work in front of its own and the result kept
in the core. Sorts, scans and the like are left alone: nothing is fused with them.
Why it matters: the result is stored once and loaded by each reader, and a launch is paid to make
it, which may cost more than to compute it again in each. Where all of them are past the ridge of
every memory level no load is waited for, and nothing is advised.
Example: sines and cosines of a rotary embedding, read by the four dispatches that rotate queries
and keys.
What to do: compute it in every reader. IREE does so unless
`--iree-dispatch-creation-fuse-multi-use` is switched off, where the result has the loops of a
reader; `--xpu-effort=high` tries its flags, and the rule `fusion` names those that help. Where none
does, form the dispatches by hand: one `flow.dispatch.region` a reader, with a copy of the producing
ops in it. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.dataflow import Change, Dataflow
from xpu_shark.passes.advise.into_readers import into_readers
from xpu_shark.passes.advise.rules.gather_chain import picked
from xpu_shark.passes.advise.rules.standalone_copy import only_moves
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.target import Target

NAME = "multi_use"
CATEGORY = "xpu-shark.fusion"
LEAST = 2  # readers: with one it is an ordinary fusion
ALONE = frozenset(("sort", "scan", "topk", "topk_v2", "scatter", "fft"))  # ops of IREE's own


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """Every dispatch that computes something but a product, with its readers."""
    for step, each in enumerate(flow.steps):
        if each.kernel is None or not _small(each.kernel):
            continue
        steps, kernels = into_readers(flow, step)
        if len(kernels) < LEAST or any(nest.name in ALONE for k in kernels for nest in k.nests):
            continue
        names = [flow.steps[number].kernel for number in steps[1:]]
        readers = " and ".join(dict.fromkeys(kernel.name for kernel in names if kernel))
        yield Change(
            steps=steps,
            after=kernels,
            condition=f"{each.kernel.name} in a dispatch of its own, whose result {len(kernels)} "
            f"launches read ({readers})",
            suggestion="its work in each of its readers",
        )


def _small(kernel: BoundKernel) -> bool:
    """Neither a product nor a move, which other rules speak of."""
    products = any(nest.contraction is not None for nest in kernel.nests)
    return not products and not only_moves(kernel) and picked(kernel) is None

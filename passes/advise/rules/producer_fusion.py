"""producer_fusion: a dispatch whose result only one other reads is not one with it.

What it checks: whether a dispatch and the only one that reads its result are faster as one. It
simulates both loops in one kernel, with the result between them in the core. Of products only what
follows them element by element is looked at: what a product reads would be computed again for
every tile of its columns. Sorts, scans and other ops that no compiler fuses are left alone.
Why it matters: the result is stored and loaded again, and a launch is paid, for nothing. Where both
are past the ridge of every memory level no byte is waited for, and nothing is advised.
Example: exponentials that one dispatch stores and the next one sums up.
What to do: let IREE form one dispatch of the two: no barrier or region of its own between them,
`--iree-opt-level=O2`, `--iree-dispatch-creation-enable-aggressive-fusion`. `--xpu-effort=high`
compiles with these, and the rule `fusion` takes the place of this one where they help. What none of
them joins goes in a `flow.dispatch.region` of its own. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from xpu_shark.passes.advise.dataflow import Change, Dataflow
from xpu_shark.passes.advise.into_readers import into_readers
from xpu_shark.passes.advise.rules.standalone_copy import only_moves
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.target import Target

NAME = "producer_fusion"
CATEGORY = "xpu-shark.fusion"
WHOLE = (
    "arg_compare",
    "attention",
    "fft",
    "scan",
    "scatter",
    "softmax",
    "sort",
    "topk",
    "winograd",
)


def propose(flow: Dataflow, target: Target) -> Iterator[Change]:
    """Every dispatch with one reader, and that one."""
    for step, each in enumerate(flow.steps):
        if each.kernel is None or only_moves(each.kernel):
            continue
        steps, kernels = into_readers(flow, step)
        reader = flow.steps[steps[-1]].kernel if len(steps) == 2 else None
        if reader is None or only_moves(reader) or _product(reader):
            continue
        if _product(each.kernel) and not all(all(nest.parallel) for nest in reader.nests):
            continue
        if _whole(each.kernel) or _whole(reader):
            continue
        if reader.name == each.kernel.name:  # a row of one dispatch: the rule `launch` counts them
            continue
        yield Change(
            steps=steps,
            after=kernels,
            condition=f"{each.kernel.name}, whose result only a launch of {reader.name} reads, "
            "in a dispatch of its own",
            suggestion="one dispatch for both",
        )


def _whole(kernel: BoundKernel) -> bool:
    """Whether some op of it is one that compilers neither take apart nor fuse. IREE takes a softmax
    apart inside its dispatch, which has the name of it still."""
    names = [nest.name.rpartition("linalg_ext.")[2] for nest in kernel.nests]
    own = kernel.name.partition("_dispatch_")[2].lstrip("0123456789_")
    return any(name.startswith(WHOLE) for name in (*names, own))


def _product(kernel: BoundKernel) -> bool:
    return any(nest.contraction is not None for nest in kernel.nests)

"""standalone_copy: a transpose, broadcast or copy is a dispatch of its own.

What it checks: whether a dispatch only moves elements, and other ones read the result, all that
there are, and nobody outside the function. It simulates the move inside each of these: no launch
and no store of its own, the same loads, and one operation an element to put it in place.
Why it matters: the bytes go out and come in once more, and a launch is paid, for no arithmetic.
What the reader no longer loads is not counted, so the gain is at least what is said.
Example: heads of an attention layer that are transposed into memory before the product.
What to do: have the consumer read the operand in place (an indexing map or a batched layout),
store weights transposed, or let IREE fold it: `--iree-opt-aggressively-propagate-transposes`,
`--iree-opt-level=O3`. Results stay bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from xpu_shark.passes.advise.case import Case, Proposal
from xpu_shark.passes.advise.neighbours import listed
from xpu_shark.simulator.bind import BoundKernel
from xpu_shark.simulator.nest_cost import FREE
from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.workload import Work

NAME = "standalone_copy"
CATEGORY = "xpu-shark.memory"


def ceiling(run: KernelRun, target: Target) -> int:
    works = run.bounds.least_ps["matrix"] or run.bounds.least_ps["vector"]
    return 0 if works else run.time_ps


def propose(case: Case) -> Iterator[Proposal]:
    """The dispatch without its launch and its stores."""
    near = case.near
    if not only_moves(case.kernel) or not near.readers:
        return
    yield Proposal(
        condition="a dispatch that only moves elements",
        suggestion=f"read its operand in place in {listed(near.readers)}",
        launches=((inlined(case.kernel), case.run.plan),) * near.most,
        confidence="high",
        machine=lambda target: msgspec.structs.replace(target, launch_ns=0.0),
        others=near.readers,
    )


def only_moves(kernel: BoundKernel) -> bool:
    """Every nest reads something and does nothing to it; picks by index are no plain copies."""
    return all(
        nest.reads
        and all(work.kind in FREE for work in nest.work)
        and not any(index.indirect for a in (*nest.reads, *nest.writes) for index in a.map)
        for nest in kernel.nests
    )


def inlined(kernel: BoundKernel) -> BoundKernel:
    """The kernel with results that stay in the core."""
    results = {access.tensor for nest in kernel.nests for access in nest.writes}
    tensors = tuple(
        msgspec.structs.replace(tensor, is_global=tensor.is_global and number not in results)
        for number, tensor in enumerate(kernel.tensors)
    )
    nests = tuple(
        msgspec.structs.replace(
            nest, work=(Work(kind="logic", element=kernel.tensors[nest.reads[0].tensor].element),)
        )
        for nest in kernel.nests
    )
    return msgspec.structs.replace(kernel, tensors=tensors, nests=nests)

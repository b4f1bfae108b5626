"""Which operator a function amounts to, by the structure of its kernels."""

from __future__ import annotations

import kernels
import msgspec
import pytest

from xpu_shark.simulator.operator_kind import operator_kind
from xpu_shark.simulator.target import Submit
from xpu_shark.simulator.workload import Kernel, Work


def _without_exp(kernel: Kernel) -> Kernel:
    """The same loops with every exponential a multiplication."""
    nests = tuple(
        msgspec.structs.replace(
            nest,
            work=tuple(
                Work(kind="mul" if work.kind == "exp" else work.kind, element=work.element)
                for work in nest.work
            ),
        )
        for nest in kernel.nests
    )
    return msgspec.structs.replace(kernel, nests=nests)


def _sum(rows: int, cols: int) -> Kernel:
    """The third nest of a softmax alone: row sums."""
    whole = kernels.softmax(rows, cols)
    return msgspec.structs.replace(whole, nests=whole.nests[2:3])


SOFTMAX, MATMUL, GELU = kernels.softmax(8, 16), kernels.matmul(4, 4, 4), kernels.elementwise(64)


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((MATMUL,), "contraction"),
        ((MATMUL, SOFTMAX), "contraction"),
        ((SOFTMAX,), "softmax"),
        ((_without_exp(SOFTMAX),), "normalisation"),
        ((_sum(8, 16), kernels.elementwise(8, 16, kind="mul")), "normalisation"),
        ((GELU,), "elementwise"),
        ((GELU, GELU), "elementwise"),
        ((_sum(8, 16),), None),
        ((_sum(8, 16), kernels.elementwise(8)), None),
    ],
)
def test_kind_by_structure(parts: tuple[Kernel, ...], kind: str | None) -> None:
    assert operator_kind(parts) == kind
    assert kind is None or kind in {field.name for field in msgspec.structs.fields(Submit)}

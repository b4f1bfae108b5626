from __future__ import annotations

from xpu_shark.simulator.symbolic import symbol
from xpu_shark.simulator.workload import (
    Access,
    Contraction,
    Dim,
    Function,
    Index,
    Kernel,
    Launch,
    Nest,
    Tensor,
    TileLevel,
    Work,
    Workload,
)
from xpu_shark.simulator.workload_text import workload_text


def test_a_kernel_shows_every_fact_of_its_nests() -> None:
    nest = Nest(
        name="conv",
        dims=(Dim(extent=symbol("n"), kind="parallel"), Dim(extent=3, kind="reduction")),
        reads=(
            Access(tensor=0, map=(Index(terms=((0, 2), (1, 1))),)),
            Access(tensor=1, map=(Index(terms=((1, 1),), indirect=True), Index())),
        ),
        writes=(Access(tensor=0, map=(Index(terms=((0, 1),)),)),),
        work=(Work(kind="madd", element="f32"),),
        contraction=Contraction(
            batch=(), m=(0,), n=(), k=(1,), lhs=0, rhs=1,
            lhs_element="i8", rhs_element="i4", accumulator="i32",
        ),
        points=5,
        trips=2,
        tiles=(TileLevel(name="workgroup", sizes=(8, 0)),),
        pinned=True,
        location="m.mlir:3:4",
    )  # fmt: skip
    kernel = Kernel(
        name="k$1",
        tensors=(
            Tensor(shape=(7,), element="f32", storage="global", contiguous=3),
            Tensor(shape=(), element="i4", storage="local"),
        ),
        nests=(nest,),
        online=True,
        state="partial",
        reason="scf.while",
        backend="rocm",
    )
    assert (
        workload_text(Workload(kernels=(kernel,), functions=()))
        == """\
kernel @k$1: partial, rocm, online
  reason: scf.while
  tensor 0: global 7xf32, runs of 3
  tensor 1: local i4
  nest conv [parallel n, reduction 3] at m.mlir:3:4
    trips 2
    points 5
    read tensor 0[2*d0 + d1]
    read tensor 1[indirect(d1), 0]
    write tensor 0[d0]
    work 1 madd f32
    contraction batch [], m [0], n [], k [1], reads 0 x 1, i8 x i4 -> i32
    tile workgroup [8, 0] pinned
"""
    )


def test_a_command_without_device_or_location_shows_neither() -> None:
    function = Function(name="f", body=(Launch(kernel="k", constants=(1, symbol("n"))),))
    text = workload_text(Workload(kernels=(), functions=(function,)))
    assert text == "function @f\n  launch @k(1, n)\n"

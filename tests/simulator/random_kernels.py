"""Random kernels, targets and tilings, small enough to simulate every instruction of."""

from __future__ import annotations

import random

import msgspec
from kernels import access, elementwise, matmul, softmax
from test_served_attention import served

from xpu_shark.simulator.bind import BoundKernel, bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.target import Dma, Memory, Target, load
from xpu_shark.simulator.workload import Access, Contraction, Dim, Index, Kernel, Nest, Tensor, Work

SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17)
ELEMENTS = ("f32", "bf16", "i8")


def random_kernel(rng: random.Random) -> Kernel:
    element = rng.choice(ELEMENTS)
    kind = rng.choice(("matmul", "elementwise", "softmax", "convolution", "gather", "biased"))
    if kind == "matmul":
        return matmul(*_sizes(rng, 3), element)
    if kind == "elementwise":
        op = rng.choice(("add", "exp", "div"))
        return elementwise(*_sizes(rng, rng.randint(1, 3)), kind=op, element=element)
    if kind == "softmax":
        return softmax(*_sizes(rng, 2))
    if kind == "convolution":
        return convolution(rng.choice(SIZES), rng.choice((1, 2, 3)), *_sizes(rng, 2))
    return gather(*_sizes(rng, 2)) if kind == "gather" else biased(*_sizes(rng, 3))


def random_target(rng: random.Random) -> Target:
    """`tiny` with other memories, buffers and latencies, or a chip of many cores."""
    many = rng.random() < 0.4
    target = load(rng.choice(("h100", "mi300x", "xdna2")) if many else "tiny")
    memory = [_memory(rng, level) for level in target.memory]
    dma = Dma(setup_ns=rng.choice((0.0, 5.0, 33.0)), stages=rng.randint(1, 4))
    cores = rng.choice((1, 2, 3, 8, 132)) if many else 1
    start = rng.choice((0.0, 3.0, 70.0))
    return msgspec.structs.replace(
        target, memory=tuple(memory), dma=dma, cores=cores, workgroup_ns=start
    )


def random_tiling(rng: random.Random, kernel: BoundKernel, target: Target) -> Tiling:
    """Any sizes and order; on many cores only axes that all nests have are looped over. On a single
    one transfers may bring more than a tile, and blocks may wait for each other."""
    tile = [rng.randint(1, max(1, axis.extent)) for axis in kernel.axes]
    spread = target.execution == "waves"
    order = [
        axis
        for axis in range(len(kernel.axes))
        if kernel.axes[axis].parallel
        and (not spread or all(axis in nest.axes for nest in kernel.nests))
    ]
    rng.shuffle(order)
    tiling = Tiling(tuple(tile), tuple(order), "test")
    if spread or rng.random() < 0.5:
        return tiling
    pairs = zip(tile, kernel.axes, strict=True)
    moved = tuple(rng.randint(size, max(size, axis.extent)) for size, axis in pairs)
    return msgspec.structs.replace(tiling, moved=moved, serial=rng.random() < 0.5)


def random_case(seed: int) -> tuple[BoundKernel, Tiling, Target]:
    rng = random.Random(seed)
    if rng.random() < 0.2:
        kernel = served(*_sizes(rng, 6))
    else:
        kernel = bind(random_kernel(rng), {})
    target = random_target(rng)
    return kernel, random_tiling(rng, kernel, target), target


def convolution(size: int, taps: int, inputs: int, outputs: int) -> Kernel:
    """out[y, o] = sum of in[y + u, i] x w[u, i, o]."""
    extents = (
        (size, "parallel"),
        (outputs, "parallel"),
        (taps, "reduction"),
        (inputs, "reduction"),
    )
    window = Access(tensor=0, map=(Index(terms=((0, 1), (2, 1))), Index(terms=((3, 1),))))
    nest = Nest(
        name="convolution",
        dims=tuple(Dim(extent=size_, kind=kind) for size_, kind in extents),  # type: ignore[arg-type]
        reads=(window, access(1, 2, 3, 1)),
        writes=(access(2, 0, 1),),
        work=(Work(kind="madd", element="f32"),),
        contraction=Contraction(
            batch=(),
            m=(0,),
            n=(1,),
            k=(2, 3),
            lhs=0,
            rhs=1,
            lhs_element="f32",
            rhs_element="f32",
            accumulator="f32",
        ),
    )
    shapes = ((size + taps - 1, inputs), (taps, inputs, outputs), (size, outputs))
    tensors = tuple(Tensor(shape=shape, element="f32", storage="global") for shape in shapes)
    return Kernel(name="convolution", tensors=tensors, nests=(nest,))


def gather(rows: int, width: int) -> Kernel:
    """out[r, w] = table[index, w]: rows of a table, found at run time."""
    picked = Access(tensor=0, map=(Index(terms=((0, 1),), indirect=True), Index(terms=((1, 1),))))
    nest = Nest(
        name="gather",
        dims=(Dim(extent=rows, kind="parallel"), Dim(extent=width, kind="parallel")),
        reads=(picked,),
        writes=(access(1, 0, 1),),
        work=(),
    )
    shapes = ((64, width), (rows, width))
    tensors = tuple(Tensor(shape=shape, element="f32", storage="global") for shape in shapes)
    return Kernel(name="gather", tensors=tensors, nests=(nest,))


def biased(m: int, n: int, k: int) -> Kernel:
    """A matmul whose result a second nest adds a bias to: a local tensor passes between them."""
    product = matmul(m, n, k)
    add = Nest(
        name="bias",
        dims=(Dim(extent=m, kind="parallel"), Dim(extent=n, kind="parallel")),
        reads=(access(2, 0, 1), access(3, 1)),
        writes=(access(4, 0, 1),),
        work=(Work(kind="add", element="f32"),),
    )
    local = msgspec.structs.replace(product.tensors[2], storage="local")
    bias, out = (Tensor(shape=shape, element="f32", storage="global") for shape in ((n,), (m, n)))
    return Kernel(
        name="biased",
        tensors=(*product.tensors[:2], local, bias, out),
        nests=(*product.nests, add),
    )


def _sizes(rng: random.Random, count: int) -> list[int]:
    return [rng.choice(SIZES) for _ in range(count)]


def _memory(rng: random.Random, level: Memory) -> Memory:
    return msgspec.structs.replace(
        level,
        bytes_per_s=level.bytes_per_s / rng.choice((1, 1, 2, 7)),
        peak_bytes_per_s=None,
        latency_ns=rng.choice((0.0, 20.0, 500.0)),
        burst_bytes=rng.choice((1, 4, 32)),
    )

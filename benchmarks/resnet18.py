"""The layers of ResNet-18 at batch 1, as kernels for the simulator.

Shapes are those of the network's definition for 224 x 224 images: a 7 x 7 stem, four stages of two
blocks, a 1 x 1 convolution where a block halves the image, a fully connected layer.
"""

from __future__ import annotations

from xpu_shark.simulator.workload import Access, Contraction, Dim, Index, Kernel, Nest, Tensor, Work

# (layer, output height = width, input channels, output channels, filter size, stride, how often)
CONVOLUTIONS = (
    ("stem", 112, 3, 64, 7, 2, 1),
    ("stage1", 56, 64, 64, 3, 1, 4),
    ("stage2 first", 28, 64, 128, 3, 2, 1),
    ("stage2", 28, 128, 128, 3, 1, 3),
    ("stage2 skip", 28, 64, 128, 1, 2, 1),
    ("stage3 first", 14, 128, 256, 3, 2, 1),
    ("stage3", 14, 256, 256, 3, 1, 3),
    ("stage3 skip", 14, 128, 256, 1, 2, 1),
    ("stage4 first", 7, 256, 512, 3, 2, 1),
    ("stage4", 7, 512, 512, 3, 1, 3),
    ("stage4 skip", 7, 256, 512, 1, 2, 1),
)
CLASSIFIER = (1, 1000, 512)  # rows, classes, features


def layers(element: str = "i8") -> list[Kernel]:
    """All 21 layers in order of kind; equal layers are listed as often as they occur."""
    found = []
    for name, size, inputs, outputs, taps, stride, times in CONVOLUTIONS:
        found += times * [convolution(name, size, inputs, outputs, taps, stride, element)]
    return [*found, matmul(*CLASSIFIER, element)]


def loop_sizes() -> list[dict[str, object]]:
    """The same layers as loops: batch B, outputs K, inputs C, image OY x OX, filter FY x FX."""
    found: list[dict[str, object]] = []
    for name, size, inputs, outputs, taps, stride, times in CONVOLUTIONS:
        sizes = (1, outputs, inputs, size, size, taps, taps)
        found += times * [loops(name, sizes, stride)]
    rows, classes, features = CLASSIFIER
    return [*found, loops("classifier", (rows, classes, features, 1, 1, 1, 1), 1)]


def loops(name: str, sizes: tuple[int, ...], stride: int) -> dict[str, object]:
    """One layer as peer_zigzag.py reads it."""
    dims = dict(zip(("B", "K", "C", "OY", "OX", "FY", "FX"), sizes, strict=True))
    return {"name": name, "dims": dims, "stride": stride}


def macs() -> int:
    """Multiply-adds of all layers."""
    rows, classes, features = CLASSIFIER
    return rows * classes * features + sum(
        size * size * outputs * inputs * taps * taps * times
        for _, size, inputs, outputs, taps, _, times in CONVOLUTIONS
    )


def convolution(
    name: str, size: int, inputs: int, outputs: int, taps: int, stride: int, element: str
) -> Kernel:
    """out[y, x, o] = sum of in[stride y + u, stride x + v, i] x w[u, v, i, o], input padded."""
    extents = (size, size, outputs, taps, taps, inputs)
    image = (stride * (size - 1) + taps,) * 2
    shapes = ((*image, inputs), (taps, taps, inputs, outputs), (size, size, outputs))
    image_map = (((0, stride), (3, 1)), ((1, stride), (4, 1)), ((5, 1),))
    weight_map = tuple(((dim, 1),) for dim in (3, 4, 5, 2))
    out_map = tuple(((dim, 1),) for dim in (0, 1, 2))
    roles = {"m": (0, 1), "n": (2,), "k": (3, 4, 5)}
    return _kernel(name, extents, 3, shapes, (image_map, weight_map, out_map), roles, element)


def matmul(m: int, n: int, k: int, element: str) -> Kernel:
    """C[m, n] = A[m, k] x B[k, n]."""
    maps = tuple(tuple(((dim, 1),) for dim in dims) for dims in ((0, 2), (2, 1), (0, 1)))
    roles = {"m": (0,), "n": (1,), "k": (2,)}
    return _kernel("matmul", (m, n, k), 2, ((m, k), (k, n), (m, n)), maps, roles, element)


def _kernel(
    name: str,
    extents: tuple[int, ...],
    parallel: int,
    shapes: tuple[tuple[int, ...], ...],
    maps: tuple[tuple[tuple[tuple[int, int], ...], ...], ...],
    roles: dict[str, tuple[int, ...]],
    element: str,
) -> Kernel:
    lhs, rhs, out = (
        Access(tensor=number, map=tuple(Index(terms=terms) for terms in access))
        for number, access in enumerate(maps)
    )
    contraction = Contraction(
        batch=(), **roles, lhs=0, rhs=1, lhs_element=element, rhs_element=element, accumulator="i32"
    )
    nest = Nest(
        name=name,
        dims=tuple(
            Dim(extent=extent, kind="parallel" if number < parallel else "reduction")
            for number, extent in enumerate(extents)
        ),
        reads=(lhs, rhs),
        writes=(out,),
        work=(Work(kind="madd", element=element),),
        contraction=contraction,
    )
    tensors = tuple(Tensor(shape=shape, element=element, storage="global") for shape in shapes)
    return Kernel(name=name, tensors=tensors, nests=(nest,))

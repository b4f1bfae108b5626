"""Small kernels for tests, as the bridge would read them."""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.workload import (
    Access,
    Contraction,
    Dim,
    Index,
    Kernel,
    Nest,
    Tensor,
    TileLevel,
    Work,
)


def access(tensor: int, *dims: int) -> Access:
    return Access(tensor=tensor, map=tuple(Index(terms=((dim, 1),)) for dim in dims))


def matmul(m: int, n: int, k: int, element: str = "f32", tiles: tuple[int, ...] = ()) -> Kernel:
    """C[m, n] = A[m, k] x B[k, n]; `tiles` pins (m, n, k)."""
    levels = ()
    if tiles:
        levels = (
            TileLevel(name="workgroup", sizes=(tiles[0], tiles[1], 0)),
            TileLevel(name="reduction", sizes=(0, 0, tiles[2])),
        )
    nest = Nest(
        name="linalg.matmul",
        dims=(
            Dim(extent=m, kind="parallel"),
            Dim(extent=n, kind="parallel"),
            Dim(extent=k, kind="reduction"),
        ),
        reads=(access(0, 0, 2), access(1, 2, 1)),
        writes=(access(2, 0, 1),),
        work=(Work(kind="madd", element=element),),
        contraction=Contraction(
            batch=(),
            m=(0,),
            n=(1,),
            k=(2,),
            lhs=0,
            rhs=1,
            lhs_element=element,
            rhs_element=element,
            accumulator="f32",
        ),
        tiles=levels,
        pinned=bool(tiles),
    )
    tensors = tuple(
        Tensor(shape=shape, element=element, storage="global") for shape in ((m, k), (k, n), (m, n))
    )
    return Kernel(name="matmul", tensors=tensors, nests=(nest,))


def elementwise(*shape: int, kind: str = "exp", element: str = "f32") -> Kernel:
    """out = kind(in), point by point."""
    dims = tuple(range(len(shape)))
    nest = Nest(
        name="linalg.generic",
        dims=tuple(Dim(extent=size, kind="parallel") for size in shape),
        reads=(access(0, *dims),),
        writes=(access(1, *dims),),
        work=(Work(kind=kind, element=element),),
    )
    tensor = Tensor(shape=shape, element=element, storage="global")
    return Kernel(name="elementwise", tensors=(tensor, tensor), nests=(nest,))


def pinned(shape: tuple[int, ...], tile: tuple[int, ...]) -> Kernel:
    """exp over every point, in tiles that the IR pins."""
    kernel = elementwise(*shape)
    levels = (TileLevel(name="workgroup", sizes=tile),)
    nest = msgspec.structs.replace(kernel.nests[0], tiles=levels, pinned=True)
    return msgspec.structs.replace(kernel, nests=(nest,))


def softmax(rows: int, cols: int) -> Kernel:
    """Row maximum, exponentials with their sum's two passes, division: four nests."""
    par, red = Dim(extent=rows, kind="parallel"), Dim(extent=cols, kind="reduction")
    free = Dim(extent=cols, kind="parallel")

    def nest(kind: str, dims: tuple[Dim, ...], reads: tuple[Access, ...], write: Access) -> Nest:
        work = (Work(kind=kind, element="f32"),)
        return Nest(name="linalg.generic", dims=dims, reads=reads, writes=(write,), work=work)

    wide = Tensor(shape=(rows, cols), element="f32", storage="global")
    local = Tensor(shape=(rows, cols), element="f32", storage="local")
    column = Tensor(shape=(rows,), element="f32", storage="local")
    nests = (
        nest("max", (par, red), (access(0, 0, 1),), access(1, 0)),
        nest("exp", (par, free), (access(0, 0, 1), access(1, 0)), access(2, 0, 1)),
        nest("add", (par, red), (access(2, 0, 1),), access(3, 0)),
        nest("div", (par, free), (access(2, 0, 1), access(3, 0)), access(4, 0, 1)),
    )
    return Kernel(name="softmax", tensors=(wide, column, local, column, wide), nests=nests)


def matmul_relu(m: int, n: int, k: int) -> Kernel:
    """max(A[m, k] x B[k, n] + row[n], 0), all f32: two nests with the product between them."""
    product = matmul(m, n, k)
    dims = (Dim(extent=m, kind="parallel"), Dim(extent=n, kind="parallel"))
    after = Nest(
        name="linalg.generic",
        dims=dims,
        reads=(access(2, 0, 1), access(3, 1)),
        writes=(access(4, 0, 1),),
        work=(Work(kind="add", element="f32"), Work(kind="max", element="f32")),
    )
    between = Tensor(shape=(m, n), element="f32", storage="local")
    others = (Tensor(shape=shape, element="f32", storage="global") for shape in ((n,), (m, n)))
    tensors = (*product.tensors[:2], between, *others)
    return Kernel(name="matmul_relu", tensors=tensors, nests=(*product.nests, after))

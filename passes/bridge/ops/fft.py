"""One stage of a fast Fourier transform."""

from __future__ import annotations

from iree.compiler import ir

from xpu_shark.passes.bridge.indexing import identity
from xpu_shark.passes.bridge.kernel_builder import KernelBuilder, Reader, element_of, is_shaped
from xpu_shark.simulator.symbolic import apply, product
from xpu_shark.simulator.workload import Dim, Work


def read_fft(builder: KernelBuilder, op: ir.Operation) -> None:
    """Half as many radix-2 butterflies as elements, in place.

    A butterfly multiplies by a twiddle factor and adds and subtracts the product, on complex
    numbers: 4 multiplications and 6 additions.
    """
    arrays = [operand for operand in op.operands if is_shaped(operand)]
    targets = arrays[-2:]
    shape = builder.shape(targets[0])
    here = identity(len(shape))
    reads = [builder.read(array, here[-1:]) for array in arrays[:-2]]
    reads += [builder.read(array, here) for array in targets]
    writes = [builder.write(target, here) for target in list(op.results) or targets]
    element = element_of(targets[0])
    builder.emit(
        op,
        (Dim(extent=size, kind="parallel") for size in shape),
        reads,
        writes,
        (Work(kind="mul", element=element, count=4), Work(kind="add", element=element, count=6)),
        points=apply("floordiv", product(shape), 2),
    )


READERS: dict[str, Reader] = {"iree_linalg_ext.fft": read_fft}

"""All readers: op name to the function that reads it."""

from __future__ import annotations

from xpu_shark.passes.bridge.kernel_builder import Reader
from xpu_shark.passes.bridge.ops import (
    attention,
    buffers,
    elements,
    fft,
    forall,
    gather_scatter,
    inner_tiled,
    loops,
    mapped,
    order,
    softmax,
    structured,
    tensor_move,
    views,
    winograd,
)

# In order of precedence: the general readers give way to the others.
FAMILIES: tuple[dict[str, Reader], ...] = (
    structured.READERS,
    mapped.READERS,
    attention.READERS,
    buffers.READERS,
    elements.READERS,
    fft.READERS,
    forall.READERS,
    gather_scatter.READERS,
    inner_tiled.READERS,
    loops.READERS,
    order.READERS,
    softmax.READERS,
    tensor_move.READERS,
    views.READERS,
    winograd.READERS,
)
READERS: dict[str, Reader] = {name: read for family in FAMILIES for name, read in family.items()}

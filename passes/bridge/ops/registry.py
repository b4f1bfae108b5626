"""All readers: op name to the function that reads it."""

from __future__ import annotations

from collections.abc import Callable

from iree.compiler import ir

from xpu_shark.passes.bridge.kernel_builder import KernelBuilder
from xpu_shark.passes.bridge.ops import buffers, structured, views

Reader = Callable[[KernelBuilder, ir.Operation], None]

# In order of precedence: the general reader of structured ops gives way to the others.
FAMILIES: tuple[dict[str, Reader], ...] = (
    structured.READERS,
    buffers.READERS,
    views.READERS,
)
READERS: dict[str, Reader] = {name: read for family in FAMILIES for name, read in family.items()}

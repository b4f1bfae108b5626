"""Parts of device buffers: which bytes a dispatch reads or writes, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.element_type import storage_bits
from xpu_shark.simulator.symbolic import Expr, apply, product
from xpu_shark.simulator.workload import Place

# One burst of a DDR4 or DDR5 channel (JESD79-4, JESD79-5: 8 x 8 or 16 x 4 bytes); HBM moves half.
BURST_BYTES = 64


@dataclass(frozen=True)
class Buffer:
    """A strided window into one binding (or one allocation on chip, where `local`).

    `strides` are in elements; None is a stride that is not known. `array` counts the elements of
    the dense array that a window was cut from, 0 where there is none. Two windows are the same data
    where all fields are equal.
    """

    root: Hashable
    shape: tuple[Size, ...]
    strides: tuple[Size | None, ...]
    element: str
    offsets: tuple[Size, ...] = ()
    local: bool = False
    array: Size = 0

    def window(
        self,
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        strides: Sequence[Size],
        kept: Sequence[bool],
    ) -> Buffer:
        """The part at `offsets` of `sizes` with `strides`; dimensions not `kept` are dropped."""
        if all(offset == 0 for offset in offsets) and tuple(sizes) == self.shape and all(kept):
            return self
        steps = [_times(own, step) for own, step in zip(self.strides, strides, strict=True)]
        return replace(
            self,
            shape=tuple(size for size, keep in zip(sizes, kept, strict=True) if keep),
            strides=tuple(step for step, keep in zip(steps, kept, strict=True) if keep),
            offsets=(*self.offsets, *offsets),
            array=self.whole(),
        )

    def spanned(self) -> tuple[Buffer, int]:
        """The rows that this window picks every n-th element of, whole, and n.

        What lies between elements that share a burst comes with them from memory. n is 1, and the
        window itself the result, where its elements are dense, further apart, or not known.
        """
        if not self.shape or self.local:
            return self, 1
        size, step = self.shape[-1], self.strides[-1]
        if not isinstance(size, int) or not isinstance(step, int) or size < 1 or step <= 1:
            return self, 1
        if 2 * step * storage_bits(self.element) > 8 * BURST_BYTES:
            return self, 1
        shape = (*self.shape[:-1], (size - 1) * step + 1)
        return replace(self, shape=shape, strides=(*self.strides[:-1], 1)), step

    def place(self) -> Place | None:
        """Where in what the launch binds; None for memory of the kernel's own."""
        source: Hashable = self
        array: Size = 0
        whole = True
        while True:
            if isinstance(source, Buffer):
                whole &= not source.offsets
                array = source.whole() if source.element == self.element else 0
                source = source.root
            elif isinstance(source, tuple) and not isinstance(source[0], int | str):
                whole &= source[1] != "turn"
                source = source[0]
            else:
                break
        if not isinstance(source, tuple) or not isinstance(source[0], int):
            return None
        if whole:
            return Place(binding=source[0], offset=source[1])
        return Place(binding=source[0], offset=None, start=source[1], array=array)

    def whole(self) -> Size:
        """Elements of the dense array that this is or was cut from, 0 where there is none."""
        if self.offsets or self.strides != row_major(self.shape):
            return self.array
        return product(self.shape)

    def contiguous(self) -> Size:
        """Elements that lie next to each other at least; 0 where all of them do."""
        run: Size = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size == 1:
                continue
            if stride != run:
                return run
            run = product((run, size))
        return 0


def row_major(shape: Sequence[Size]) -> tuple[Size, ...]:
    """Strides in elements of a dense array of `shape`, last dimension fastest."""
    strides: list[Size] = [1]
    for size in reversed(shape[1:]):
        strides.append(product((strides[-1], size)))
    return tuple(reversed(strides)) if shape else ()


def _times(stride: Size | None, step: Size) -> Size | None:
    if stride is None or isinstance(step, Expr):
        return None
    return apply("mul", stride, step)

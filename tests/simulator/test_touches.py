"""Which bytes a launch touches where it binds more than it uses."""

from __future__ import annotations

import pytest
from kernels import access

from xpu_shark.simulator.touches import Touch, touches
from xpu_shark.simulator.workload import Dim, Kernel, Launch, Nest, Place, Span, Tensor

SLAB = (Span(buffer=7, offset=64, bytes=4096, access="both", transient=True),)


def written(place: Place) -> tuple[Touch, ...] | None:
    """Of a launch that writes 4 f32 to a place in the slab."""
    kernel = Kernel(
        name="put",
        tensors=(Tensor(shape=(4,), element="f32", storage="global", place=place),),
        nests=(
            Nest(
                name="put",
                dims=(Dim(extent=4, kind="parallel"),),
                reads=(),
                writes=(access(0, 0),),
                work=(),
            ),
        ),
    )
    return touches(Launch(kernel="put", spans=SLAB), {"put": kernel}, {})


@pytest.mark.parametrize(
    ("place", "touched"),
    [
        # All of an array; some of one of 32 elements; some of nobody knows what.
        (Place(binding=0, offset=256), (320, 336, True)),
        (Place(binding=0, offset=None, start=256, array=32), (320, 448, False)),
        (Place(binding=0, offset=None), (64, 4160, False)),
    ],
)
def test_a_part_is_somewhere_in_its_array(place: Place, touched: tuple[int, int, bool]) -> None:
    found = written(place)
    assert found is not None
    [touch] = found
    assert (touch.start, touch.end, touch.exact) == touched
    assert touch.exact or touch.size == 16

"""What a tile touches of a tensor, counted by hand."""

from __future__ import annotations

from xpu_shark.simulator.bind import BoundTensor
from xpu_shark.simulator.footprint import Region, region
from xpu_shark.simulator.workload import Access, Index


def _access(*map_: Index) -> Access:
    return Access(tensor=0, map=map_)


TABLE = BoundTensor((1000, 48), "f32", True, 0)


def test_rows_picked_by_index_are_one_run_each() -> None:
    rows = _access(Index(terms=((0, 1),), indirect=True), Index(terms=((1, 1),)))
    assert region(TABLE, rows, (37, 48)) == Region(37 * 48, 37 * 48 * 4, 37, 48 * 4)


def test_two_indices_found_by_the_same_loop_pick_one_element_a_turn() -> None:
    picked = Index(terms=((0, 1),), indirect=True)
    assert region(TABLE, _access(picked, picked), (100,)) == Region(100, 400, 100, 4)


def test_a_window_is_loaded_once_for_all_its_taps() -> None:
    """Positions 2 i + k of 8 outputs and 3 taps: 2 x 7 + 2 + 1 elements."""
    image = BoundTensor((64,), "bf16", True, 0)
    window = _access(Index(terms=((0, 2), (1, 1))))
    assert region(image, window, (8, 3)) == Region(17, 34, 1, 34)

"""Tile sizes as lowering_config attributes spell them."""

from __future__ import annotations

import pytest

from xpu_shark.passes.bridge.tile_sizes import parse_levels


@pytest.mark.parametrize(
    ("kind", "k"),
    [
        ("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>", 16),
        ("#iree_gpu.mma_layout<MFMA_F32_16x16x32_F8E4M3FNUZ>", 32),
        ("#iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16>", 16),
        ("#iree_gpu.mma_layout<WMMAR3_F32_16x16x16_BF16>", 16),
    ],
)
def test_a_reduction_counted_in_instructions_is_given_in_elements(kind: str, k: int) -> None:
    """8 instructions deep, as the padding of 8 k in the same attribute says."""
    text = (
        f"#iree_gpu.lowering_config<{{mma_kind = {kind}, padding = [64, 128, {8 * k}], "
        "promote_operands = [0, 1], reduction = [0, 0, 8], subgroup = [2, 4, 0], "
        "workgroup = [64, 128, 0]}>"
    )
    assert dict(parse_levels(text)) == {
        "workgroup": (64, 128, 0),
        "reduction": (0, 0, 8 * k),
        "subgroup": (2, 4, 0),
    }


def test_only_the_innermost_reduction_is_counted_in_instructions() -> None:
    text = (
        "#iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, "
        "reduction = [0, 0, 1, 4], subgroup = [1, 1, 0, 0], workgroup = [64, 64, 0, 0]}>"
    )
    assert dict(parse_levels(text))["reduction"] == (0, 0, 1, 64)


def test_without_subgroup_tiles_a_reduction_is_in_elements() -> None:
    """The vector-distribution pipeline writes elements."""
    text = (
        "#iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, "
        "reduction = [0, 0, 128], subgroup_basis = [[2, 2, 1], [0, 1, 2]], "
        "workgroup = [64, 64, 0]}>"
    )
    assert dict(parse_levels(text)) == {"workgroup": (64, 64, 0), "reduction": (0, 0, 128)}


def test_an_unknown_spelling_has_no_levels() -> None:
    assert parse_levels("#other.lowering_config<tiles = [1]>") == ()

"""Which matrix unit runs a product, and at which element type."""

from __future__ import annotations

import msgspec
import pytest

from xpu_shark.simulator.target import Mma, load
from xpu_shark.simulator.units import matrix
from xpu_shark.simulator.units.cost import Cost

TINY = load("tiny")  # f32, bf16, f16, i8
GPU = Mma(m=1, n=1, k=1, macs_per_cycle={"f8E4M3FN": 8, "f8E5M2": 8, "f16": 4, "bf16": 4, "f64": 1})


def test_cost_is_that_of_the_targets_kind_of_unit() -> None:
    sizes = {"batch": 1, "m": 4, "n": 4, "k": 4}
    assert matrix.tile_cost(TINY, element="f32", **sizes) == Cost(4_000, 12_000)
    gpu = msgspec.structs.replace(TINY, matrix=GPU)
    assert matrix.tile_cost(gpu, element="f16", **sizes) == Cost(16_000, 0)  # 64 madds at 4
    assert matrix.padded_macs(gpu, **sizes) == 64


@pytest.mark.parametrize(
    ("lhs", "rhs", "ran_as"),
    [
        ("f32", "f32", "f32"),
        ("i8", "i8", "i8"),
        ("i4", "i4", "i8"),
        ("i4", "i8", "i8"),
        ("ui8", "i8", "i8"),
        ("i1", "i8", "i8"),
        ("f32", "i8", "f32"),
        ("f32", "i16", "f32"),  # 16 bits of integer in 24 of significand
        ("i8", "bf16", "bf16"),  # 7 bits of magnitude in 8
        ("f8E4M3FN", "f8E4M3FN", "bf16"),
        ("f8E5M2", "f16", "f16"),
        ("f16", "bf16", "f32"),  # neither holds the other
        ("f4E2M1FN", "bf16", "bf16"),
        ("f8E8M0FNU", "f8E8M0FNU", "bf16"),  # powers of two beyond f16
        ("f32", "i32", None),  # 32 bits do not fit 24
        ("i16", "i16", None),  # integers stay integers
        ("f64", "f64", None),
        ("complex<f32>", "complex<f32>", None),
    ],
)
def test_pair_runs_at_the_narrowest_type_that_holds_both(
    lhs: str, rhs: str, ran_as: str | None
) -> None:
    assert matrix.supports(TINY, lhs, rhs) == ran_as
    assert matrix.supports(TINY, rhs, lhs) == ran_as


@pytest.mark.parametrize(
    ("lhs", "rhs", "ran_as"),
    [
        ("f8E4M3FN", "f8E5M2", "f8E5M2"),  # listed 8-bit floats mix
        ("f8E4M3FNUZ", "f8E4M3FNUZ", "bf16"),  # not the listed kind of f8
        ("f16", "bf16", None),  # listed, but they do not mix
        ("f32", "f32", None),  # f64 would hold it, at no gain
        ("f64", "f32", "f64"),
        ("i8", "i8", None),
    ],
)
def test_unit_with_8_bit_floats_and_f64(lhs: str, rhs: str, ran_as: str | None) -> None:
    gpu = msgspec.structs.replace(TINY, matrix=GPU)
    assert matrix.supports(gpu, lhs, rhs) == ran_as


def test_target_without_matrix_unit_supports_nothing() -> None:
    assert matrix.supports(msgspec.structs.replace(TINY, matrix=None), "f32", "f32") is None


def test_fnuz_and_fn_floats_are_different_types() -> None:
    # Largest f8E4M3FN is 448, largest f8E4M3FNUZ 240; the latter's steps go down to 2**-10.
    assert matrix.supports(load("mi300x"), "f8E4M3FNUZ", "f8E4M3FNUZ") == "f8E4M3FNUZ"
    assert matrix.supports(load("mi300x"), "f8E4M3FN", "f8E4M3FN") == "bf16"

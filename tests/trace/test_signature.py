"""Inputs are checked against what a function takes before anything runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace.signature import (
    DYNAMIC,
    Type,
    check,
    parse_declaration,
    read_input,
)

DECLARATION = (
    "sync func @main(%input0: tensor<?x64xf32> {iree.abi.output = 0 : index}, %n: i32, "
    "%c: tensor<4xcomplex<f32>>, %s: tensor<f32>, %o: !hal.fence) -> (%r: tensor<?xf32>)"
)
TYPES = (
    Type("f32", (DYNAMIC, 64)),
    Type("i32", None),
    Type("complex<f32>", (4,)),
    Type("f32", ()),
    None,
)


def test_a_declaration_gives_the_types_of_the_arguments() -> None:
    assert parse_declaration(DECLARATION) == TYPES
    assert parse_declaration("sync func @f() -> ()") == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2x64xf32=0.5", Type("f32", (2, 64))),
        ("f32=1", Type("f32", ())),
        ("4xcomplex<f32>", Type("complex<f32>", (4,))),
        ("3", None),
        ("-1.5e3", None),
    ],
)
def test_an_input_says_its_type(text: str, found: Type | None) -> None:
    assert read_input(text) == [(text, found)]


def test_a_numpy_file_gives_one_input_for_each_array_in_it(tmp_path: Path) -> None:
    path = tmp_path / "two.npy"
    with path.open("wb") as file:
        np.save(file, np.zeros((3, 64), np.float32))
        np.save(file, np.zeros(2, np.int8))
    assert [found for _, found in read_input(f"@{path}")] == [
        Type("f32", (3, 64)),
        Type("i8", (2,)),
    ]


GOOD = ("7x64xf32=1", "5", "4xcomplex<f32>", "f32=0", "1xf32")


@pytest.mark.parametrize("dynamic", ["0x64xf32", "1x64xf32=2"])
def test_any_size_fits_a_dynamic_dimension(dynamic: str) -> None:
    check("main", TYPES, (dynamic, *GOOD[1:]))


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (GOOD[:3], "@main takes 5 inputs, --input gives 3"),
        (("7x63xf32", *GOOD[1:]), "dimension 1 of 64 expected, found 63"),
        (("64xf32", *GOOD[1:]), "2 dimensions expected, found 1"),
        (("7x64xf16", *GOOD[1:]), "element type f32 expected, found f16"),
        ((GOOD[0], "2xi32", *GOOD[2:]), "a scalar expected"),
        (("7x64xfoo", *GOOD[1:]), "expected SHAPExTYPE[=VALUES], a number or @FILE.npy"),
        (("@absent.npy", *GOOD[1:]), "No such file"),
        (("7x64xf32=@absent.bin", *GOOD[1:]), "no file 'absent.bin'"),
    ],
)
def test_the_first_input_that_does_not_fit_is_named(inputs: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        check("main", TYPES, inputs)
    assert said in str(caught.value)


def test_values_of_an_input_are_not_repeated_in_full() -> None:
    with pytest.raises(UsageError) as caught:
        check("main", (Type("f32", (2,)),), ("999xf32=" + "1 " * 999,))
    assert len(str(caught.value)) < 200

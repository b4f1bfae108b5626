"""Integer expressions of loop bounds: the values of the compiled program, wrapping included."""

from __future__ import annotations

import pytest

from xpu_shark.passes.instrument.expression import (
    Apply,
    Constant,
    Induction,
    Known,
    PlanError,
    Probed,
    WorkgroupCount,
    WorkgroupId,
    evaluate,
)

KNOWN = Known((3, 1, 0), (4, 2, 1), inductions={0: 16}, probed={5: -7})


def apply(name: str, bits: int, *values: int) -> int:
    return evaluate(Apply(name, bits, tuple(map(Constant, values))), KNOWN)


def test_leaves_are_what_the_run_knows() -> None:
    leaves = (Constant(9), WorkgroupId(0), WorkgroupCount(1), Induction(0), Probed(5))
    assert [evaluate(each, KNOWN) for each in leaves] == [9, 3, 2, 16, -7]


def test_arithmetic_wraps_at_its_width() -> None:
    assert apply("add", 8, 127, 1) == -128
    assert apply("mul", 32, 1 << 31, 2) == 0
    assert apply("shl", 32, 1, 31) == -(1 << 31)
    assert apply("trunc", 32, (1 << 32) + 5) == 5


def test_division_rounds_as_its_name_says() -> None:
    # -7 / 2 is -3.5
    assert apply("divs", 64, -7, 2) == -3
    assert apply("floordivs", 64, -7, 2) == -4
    assert apply("ceildivs", 64, -7, 2) == -3
    assert apply("ceildivs", 64, 7, 2) == 4
    assert apply("rems", 64, -7, 2) == -1
    assert apply("mod", 64, -7, 2) == 1


def test_unsigned_operations_see_negative_values_as_large() -> None:
    # -1 of 8 bits is 255
    assert apply("divu", 8, -1, 2) == 127
    assert apply("remu", 8, -1, 16) == 15
    assert apply("minu", 8, -1, 3) == 3
    assert apply("mins", 8, -1, 3) == -1
    assert apply("ult", 8, 3, -1) == 1
    assert apply("slt", 8, 3, -1) == 0
    assert apply("shru", 8, -1, 4) == 15
    assert apply("shrs", 8, -1, 4) == -1
    assert apply("zext", 8, -1) == 255


def test_select_takes_the_second_operand_where_the_condition_is_set() -> None:
    assert apply("select", 64, 1, 10, 20) == 10
    assert apply("select", 64, 0, 10, 20) == 20


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (Probed(6), "site 6 is used before it has a value"),
        (Induction(1), "loop 1 is used before it has a value"),
        (Apply("divs", 64, (Constant(1), Constant(0))), r"divs of \[1, 0\]"),
        (Apply("add", 64, (Constant(1),)), r"add of \[1\]"),
        (Apply("sqrt", 64, (Constant(1),)), "unknown operation 'sqrt'"),
    ],
)
def test_what_has_no_value_is_an_error_that_names_it(expression: Apply, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        evaluate(expression, KNOWN)

"""Integer SSA values become numbers or expressions over symbols."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.sizes import Leaf, Size, SizeReader
from xpu_shark.simulator.symbolic import evaluate, symbol, symbols


def _read(body: str, leaves: Mapping[str, Leaf] | None = None) -> tuple[Size, SizeReader]:
    """The size of the function's returned value; arguments are `a0`, `a1`."""
    text = f"func.func @f(%a: index, %b: index) -> index {{\n{body}\n}}"
    with ir.Context():
        module = ir.Module.parse(text)  # owns the ops below
        block = module.body.operations[0].regions[0].blocks[0]
        reader = SizeReader(leaves or {}, lambda argument: symbol(f"a{argument.arg_number}"))
        *_, last = block.operations
        return reader.read(last.operands[0]), reader


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("arith.addi %a, %b : index", 17 + 5),
        ("arith.ceildivsi %a, %b : index", 4),
        ("arith.remui %a, %b : index", 2),
        ("arith.maxsi %a, %b : index", 17),
        ("affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0 ceildiv 4)>(%a)[%b]", 34 + 2),
        ("affine.min affine_map<(d0, d1) -> (d0 - d1, 10)>(%a, %b)", 10),
        ("util.align %a, %b : index", 20),
        ("affine.linearize_index [%b, %a] by (9, 32) : index", 5 * 32 + 17),
        ("util.assume.int %a<umin = 0, umax = 64> : index", 17),
    ],
)
def test_an_expression_has_its_value(expression: str, value: int) -> None:
    size, _ = _read(f"%0 = {expression}\nreturn %0 : index")
    assert evaluate(size, {"a0": 17, "a1": 5}) == value


@pytest.mark.parametrize(
    ("predicate", "value"), [("slt", 5), ("sge", 17), ("ne", 17), ("eq", 5), ("ugt", 17)]
)
def test_select_takes_the_arm_of_its_condition(predicate: str, value: int) -> None:
    size, _ = _read(
        f"%0 = arith.cmpi {predicate}, %a, %b : index\n"
        "%1 = arith.select %0, %a, %b : index\nreturn %1 : index"
    )
    assert evaluate(size, {"a0": 17, "a1": 5}) == value


def test_a_64_bit_value_in_two_launch_constants_is_put_together() -> None:
    size, _ = _read(
        "%s = arith.constant 32 : i64\n%i = arith.index_cast %a : index to i32\n"
        "%j = arith.index_cast %b : index to i32\n%0 = arith.extui %i : i32 to i64\n"
        "%1 = arith.extui %j : i32 to i64\n%2 = arith.shli %1, %s : i64\n"
        "%3 = arith.ori %0, %2 : i64\n%4 = arith.index_castui %3 : i64 to index\n"
        "return %4 : index"
    )
    assert evaluate(size, {"a0": 7, "a1": 1}) == 7 + (1 << 32)


def test_results_of_one_op_are_told_apart() -> None:
    size, _ = _read("%0:2 = util.assume.int %a<umin = 0>, %b<umin = 0> : index, index\n"
                    "return %0#1 : index")  # fmt: skip
    assert size == symbol("a1")


def test_an_unknown_op_becomes_a_named_symbol() -> None:
    size, reader = _read("%0 = index.ceildivu %a, %b\nreturn %0 : index")
    assert symbols(size) == ("unknown.index.ceildivu",)
    assert reader.unknown == ["unknown.index.ceildivu"]


def test_a_leaf_overrides_the_table() -> None:
    size, _ = _read(
        "%0 = arith.addi %a, %b : index\nreturn %0 : index", {"arith.addi": lambda *_: 3}
    )
    assert size == 3

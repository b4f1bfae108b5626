"""Our own flags: found, checked, and refused in one line."""

from __future__ import annotations

import pytest

from xpu_shark.compiler import flags
from xpu_shark.compiler.errors import UsageError


def parse(*args: str) -> flags.Options:
    return flags.options(flags.split(args)[0])


def test_only_our_flags_are_taken_out() -> None:
    ours, theirs = flags.split(["a.mlir", "--xpu-target=tiny", "-o", "b", "--iree-xpu-like=1"])
    assert [(flag.name, text) for flag, text in ours] == [("target", "tiny")]
    assert theirs == ["a.mlir", "-o", "b", "--iree-xpu-like=1"]


def test_arguments_after_a_double_dash_are_never_ours() -> None:
    assert flags.split(["--", "--xpu-target=tiny"]) == ([], ["--", "--xpu-target=tiny"])


def test_a_value_may_be_the_next_argument() -> None:
    given = parse("--xpu-target", "tiny", "--xpu-dim", "input0.0=7", "-xpu-devices", "4")
    assert (given.target.name, given.dims, given.devices) == ("tiny", {"input0.0": 7}, 4)


def test_dims_accumulate_and_other_flags_take_the_last_value() -> None:
    given = parse(
        "--xpu-target=tiny",
        "--xpu-dim=a=1",
        "--xpu-dim=b=2",
        "--xpu-dim=a=3",
        "--xpu-tiling=best",
        "--xpu-tiling=default",
        "--xpu-fold=off",
        "--xpu-slow-link=3-4:0.5",
        "--xpu-slow-link=7:.25",
        "--xpu-passes=one,two",
    )
    assert given.dims == {"a": 3, "b": 2}
    assert list(map(str, given.slow)) == ["3-4:0.5", "7:0.25"]
    assert (given.tiling, given.fold, given.passes) == ("default", False, ("one", "two"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--xpu-targt=tiny"], "unknown flag --xpu-targt, did you mean --xpu-target?"),
        (["--xpu-zzz"], "unknown flag --xpu-zzz; see xpu-shark --help"),
        (["--xpu-target"], "--xpu-target needs a value: --xpu-target=NAME|FILE.toml"),
        (["--xpu-target="], "--xpu-target needs a value: --xpu-target=NAME|FILE.toml"),
        (["--xpu-report=x"], "--xpu-report is not available in this version"),
        (["--xpu-sarif"], "--xpu-sarif is not available in this version"),
        (["--xpu-tiling=ir"], "--xpu-target=NAME|FILE.toml is missing"),
        (["--xpu-target=tinny"], "unknown target 'tinny', did you mean 'tiny'?"),
        (["--xpu-target=no/such.toml"], "target file no/such.toml: No such file or directory"),
        (["--xpu-target=tiny", "--xpu-tiling=x"], "expected ir, default, best"),
        (["--xpu-target=tiny", "--xpu-fold=1"], "expected on, off"),
        (["--xpu-target=tiny", "--xpu-dim=a"], "expected NAME=VALUE"),
        (["--xpu-target=tiny", "--xpu-dim=a=-1"], "expected NAME=VALUE"),
        (["--xpu-target=tiny", "--xpu-devices=0"], "at least 1"),
        (["--xpu-target=tiny", "--xpu-slow-link=3-4"], "expected A-B:FACTOR for the link of two"),
        (["--xpu-target=tiny", "--xpu-slow-link=3-4:0"], "above 0 and at most 1"),
        (["--xpu-target=tiny", "--xpu-slow-link=3-4:1.5"], "above 0 and at most 1"),
        (["--xpu-target=tiny", "--xpu-slow-link=3-3:0.5"], "expected A-B:FACTOR for the link"),
        (["--xpu-target=tiny", "--xpu-passes=a,,b"], "expected NAME[,NAME...]"),
    ],
)
def test_a_bad_flag_is_named_with_what_was_expected(args: list[str], message: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse(*args)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


def test_help_shows_what_can_be_used_and_nothing_else() -> None:
    assert "--xpu-target=NAME|FILE.toml" in flags.usage()
    assert "--xpu-sarif" not in flags.usage()

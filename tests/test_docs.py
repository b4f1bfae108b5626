"""Documents name what the code has: commands, flags, row keys, target keys, files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from xpu_shark.compiler import replay_report, report
from xpu_shark.compiler.flags import FLAGS
from xpu_shark.compiler.main import COMMANDS
from xpu_shark.passes.advise.rules import RULES
from xpu_shark.simulator import target
from xpu_shark.simulator.bind import ALONE
from xpu_shark.simulator.replay import Replay, Step
from xpu_shark.simulator.result import Command, Dispatch, Finding, Function, Report

ROOT = Path(__file__).parents[1]
ROOMS = ("compiler", "passes", "simulator", "tests", "docs")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(path for room in ROOMS for path in (ROOT / room).rglob("*.md"))]
)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
Record = TypeVar("Record", bound=msgspec.Struct)
BLANK: dict[object, object] = {str: "", int: 1, float: 1.0}


def blank(kind: type[Record], **given: object) -> Record:
    """A struct of `kind` with the simplest value in each field."""
    fields = msgspec.structs.fields(kind)
    return kind(**{f.name: given.get(f.name, BLANK.get(f.type, _empty(f.type))) for f in fields})


def _empty(annotation: object) -> object:
    text = str(annotation)
    return None if "None" in text else {} if text.startswith("dict") else ()


def documented(text: str, row: str) -> list[str]:
    """Keys in the first column of the table under the heading of `row`."""
    section = text.split(f"\n## `{row}`", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize(
    "row", ["run", "function", "dispatch", "command", "finding", "call", "measured"]
)
def test_every_key_of_a_row_is_documented(row: str) -> None:
    parts = {
        "functions": (blank(Function),),
        "dispatches": (blank(Dispatch, context=ALONE),),
        "commands": (blank(Command),),
        "findings": (blank(Finding),),
    }
    whole = blank(Report, **parts)
    found = blank(
        Replay,
        report=whole,
        steps=(blank(Step),),
        events=(whole.dispatches,),
        measured_ps={0: 1000},
        recorded=1,
    )
    printed = [*report.rows(whole, "in.mlir"), *replay_report.rows(found)]
    rows = {each["type"]: each for each in printed}
    text = (ROOT / "docs" / "jsonl.md").read_text()
    assert sorted(documented(text, row)) == sorted(rows[row])


def test_the_readme_has_every_command_and_flag() -> None:
    text = (ROOT / "README.md").read_text()
    wanted = [f"xpu-shark {command.name}" for command in COMMANDS]
    assert [name for name in wanted if name not in text] == []
    table = re.findall(r"^\| `(--xpu-[\w-]+)=", text, re.MULTILINE)
    assert sorted(table) == sorted(flag.spelling for flag in FLAGS if flag.parse is not None)
    limits = text.partition("\n## Limits")[2]
    reserved = [flag.spelling for flag in FLAGS if flag.parse is None]
    assert [name for name in reserved if f"`{name}`" not in limits] == []


def test_every_key_of_a_target_file_is_documented() -> None:
    text = (ROOT / "docs" / "targets.md").read_text()
    tables = (
        *(target.Target, target.Memory, target.Dma, target.Systolic, target.Mma, target.Vector),
        *(target.HostCall, target.Submit),
        *(target.Network, target.Protocol, target.Iree, target.Uncertainty, target.Published),
    )
    keys = {field.name for table in tables for field in msgspec.structs.fields(table)}
    assert [key for key in sorted(keys) if f"`{key}`" not in text and f"[{key}]" not in text] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path: Path) -> None:
    links = LINK.findall(path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_pass_has_a_lit_test_of_its_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    passes = project["entry-points"]["xpu_shark.passes"].values()
    modules = {entry.partition(":")[0].rpartition(".")[2] for entry in passes}
    tests = {path.stem for path in (ROOT / "lit_tests").rglob("*.mlir")}
    assert modules - tests == set()


def test_the_packages_are_those_that_exist() -> None:
    """A folder that setuptools is not told of would be missing in the wheel."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = [
        ".".join(("xpu_shark", *path.parent.relative_to(ROOT).parts))
        for room in ("compiler", "passes", "simulator")
        for path in (ROOT / room).rglob("__init__.py")
    ]
    assert sorted(listed) == sorted(found)


def test_every_rule_of_advice_is_documented_and_has_a_lit_test_of_its_name() -> None:
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "advice.md").read_text(), re.MULTILINE)
    names = {rule.name for rule in RULES}
    assert names - set(table) == set()
    assert names - {path.stem for path in (ROOT / "lit_tests").rglob("*.mlir")} == set()

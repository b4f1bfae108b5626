"""IREE's constraints on tiles, as `--iree-codegen-emit-pipeline-constraints` writes them, evaluated
for a `lowering_config`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from math import prod

OPERATORS = {
    "smt.int.mul": lambda *numbers: prod(numbers),
    "smt.int.add": lambda *numbers: sum(numbers),
    "smt.int.sub": operator.sub,
    "smt.int.div": operator.floordiv,
    "smt.int.mod": operator.mod,
    "smt.int.cmp ge": operator.ge,
    "smt.int.cmp le": operator.le,
    "smt.int.cmp gt": operator.gt,
    "smt.int.cmp lt": operator.lt,
    "smt.eq": operator.eq,
    "smt.or": lambda *flags: any(flags),
    "smt.and": lambda *flags: all(flags),
    "smt.ite": lambda flag, yes, no: yes if flag else no,
}
MOST = 32  # what a free unknown is tried up to: the constraints' own limit on numbers of subgroups
_LIST = re.compile(r"\b(\w+) = (\[\[.*?\], \[.*?\]\]|\[[^\[\]]*\])")
_KNOB = re.compile(r'#iree_codegen\.smt\.int_knob<"(\w+)">')
_CHOICE = re.compile(r'#iree_codegen\.smt\.one_of_knob<"(\w+)", \[([^\[\]]*)\]>')
_KIND = re.compile(r"mma_layout<(\w+)")


def broken(block: str, config: str, how: str) -> list[str]:
    """Messages of the constraints in `block` that `config` does not keep, with the `how` of the
    kernel's translation_info. Unknowns that neither sets are free: those that suit it best."""
    known = _known(block, config, how)
    names = re.findall(r'(?:smt\.knob|smt\.declare_fun) "(\w+)"', block)
    free = {name: 1 for name in names if name not in known}
    for _ in range(3):
        for name in free:
            free[name] = min(
                range(1, MOST + 1),
                key=lambda n, name=name: len(list(_failing(block, known | free | {name: n}))),
            )
    return list(_failing(block, known | free))


def blocks(ir: str) -> list[str]:
    """The groups of constraints in a module, one a pipeline that could run the op."""
    parts = ir.split("iree_codegen.smt.constraints target")[1:]
    return [part[: part.index("\n          }")] for part in parts]


def block_of(ir: str, config: str, how: str) -> str | None:
    """The group for the pipeline that `how` names, in the spelling of `config`."""
    pipeline = re.search(r"pipeline = (#iree_gpu\.pipeline<\w+>)", how)
    assert pipeline
    for block in blocks(ir):
        sizes = _lists(block.partition("\n           dims")[0])
        same = len(sizes["workgroup"]) == len(_lists(config)["workgroup"])
        if pipeline[1] in block and same:
            return block
    return None


def _known(block: str, config: str, how: str) -> dict[str, int]:
    knobs = block.partition("\n           dims")[0]
    found: dict[str, int] = {}
    real = _lists(config)
    for name, entries in _lists(knobs).items():
        for entry, size in zip(entries, real.get(name, ()), strict=False):
            if entry.startswith("?"):
                found[entry[1:]] = int(size)
    kinds = iter(_KIND.findall(config))
    for name, choices in _CHOICE.findall(knobs):
        if "mma_layout" in choices:
            found[name] = _KIND.findall(choices).index(next(kinds))
    size = re.search(r"workgroup_size = \[(\d+), (\d+), (\d+)\] subgroup_size = (\d+)", how)
    assert size
    names = ("wg_size_x", "wg_size_y", "wg_size_z", "sg_size")
    found |= dict(zip(names, map(int, size.groups()), strict=True))
    found["use_igemm_idx"] = int("use_igemm_convolution = true" in how)
    return found


def _lists(text: str) -> dict[str, list[str]]:
    """Lists by name, the first of each, flat; an unknown is "?name"."""
    found: dict[str, list[str]] = {}
    for name, entries in _LIST.findall(_KNOB.sub(r"?\1", text)):
        found.setdefault(name, re.findall(r"[^\[\], ]+", entries))
    return found


def _failing(block: str, given: dict[str, int]) -> Iterator[str]:
    arguments, body = re.search(r"dims\((.*?)\) \{(.*)", block, re.DOTALL).groups()
    values: dict[str, int] = {}
    for number, name in enumerate(arguments.split(", ")):
        values[f"%arg{number}"] = int(re.match(r"%c(\d+)", name)[1])
    for line in body.splitlines():
        name, _, rest = line.strip().partition(" = ")
        used = [values[word] for word in re.findall(r"%\w+", rest) if word in values]
        if found := re.match(r'iree_codegen\.smt\.assert (%\w+), "(.*?)"', line.strip()):
            if not values[found[1]]:
                yield found[2]
        elif found := re.match(r"smt\.int\.constant (\d+)", rest):
            values[name] = int(found[1])
        elif found := re.match(r'(?:iree_codegen\.smt\.knob|smt\.declare_fun) "(\w+)"', rest):
            values[name] = given[found[1]]
        elif found := re.match(r"iree_codegen\.smt\.lookup .*\[(.*)\] -> \[(.*)\]", rest):
            keys, results = ([int(n) for n in text.split(",")] for text in found.groups())
            values[name] = dict(zip(keys, results, strict=True))[used[0]]
        elif found := re.match(r"(smt\.int\.cmp \w+|smt[.\w]+)", rest):
            values[name] = OPERATORS[found[1]](*used)

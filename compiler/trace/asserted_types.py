"""What a function takes, from what it asserts of its inputs when it starts.

Modules of PyTorch programs have no declaration, but IREE checks each input against its type
(`hal.buffer_view.assert`), unless it was told to strip assertions. `iree-dump-module` prints those
calls with the constants that they compare with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from xpu_shark.compiler.trace import tool
from xpu_shark.compiler.trace.signature import DYNAMIC, Type

_REGISTER: Final = re.compile(r"%[irR]\d+")
_CONSTANT: Final = re.compile(r"vm\.const\.i(?:32|64)(?:\.zero| (-?\d+))")
_ASSERT: Final = "@hal.buffer_view.assert segments"
# The highest byte of an element type is its kind, the lowest the bits
# (iree/hal/buffer_view.h, IREE_HAL_NUMERICAL_TYPE_*).
_KINDS: Final = {
    0x10: "i{}",
    0x11: "si{}",
    0x12: "ui{}",
    0x13: "i1",
    0x21: "f{}",
    0x22: "bf{}",
}
_COMPLEX: Final = 0x23


def read(path: str, function: str, count: int) -> tuple[Type | None, ...]:
    """Types of the `count` arguments of `function` in a module; None where nothing is asserted."""
    arguments = ("--output=disassembly", f"--function={function}")
    try:
        lines = [line.decode() for line in tool.lines("iree-dump-module", *arguments, path=path)]
    except tool.ToolError:
        return (None,) * count
    return parse(lines, count)


def parse(lines: Iterable[str], count: int) -> tuple[Type | None, ...]:
    """From the disassembly: constants are followed through registers up to the first jump."""
    types: list[Type | None] = [None] * count
    inputs = {f"%r{number}": number for number in range(count)}
    constants: dict[str, int] = {}
    for line in lines:
        if line.startswith("^bb1"):
            break
        results, _, call = line.rpartition(" = ")
        if _ASSERT in call:
            view, _, element, _, *shape = map(str.lower, _REGISTER.findall(call))
            if view in inputs:
                sizes = tuple(constants.get(size, DYNAMIC) for size in shape)
                types[inputs[view]] = _type(constants.get(element, 0), sizes)
        written = _REGISTER.findall(results)
        for register in written:
            inputs.pop(register, None)
            constants.pop(register, None)
        if written and (match := _CONSTANT.match(call)):
            constants[written[0]] = int(match[1] or 0)
    return tuple(types)


def _type(element: int, shape: tuple[int, ...]) -> Type | None:
    kind, bits = element >> 24 & 0xFF, element & 0xFF
    if kind == _COMPLEX:
        return Type(f"complex<f{bits // 2}>", shape)
    return Type(_KINDS[kind].format(bits), shape) if kind in _KINDS else None

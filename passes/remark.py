"""Remarks: what is said about one place of the user's program, and the one way to say it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from iree.compiler import ir

from xpu_shark.passes.text import one_line


class Kind(Enum):
    """What happened; the kinds of MLIR's remark engine."""

    PASSED = ir.RemarkKind.PASSED
    MISSED = ir.RemarkKind.MISSED
    ANALYSIS = ir.RemarkKind.ANALYSIS
    FAILURE = ir.RemarkKind.FAILURE


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One remark.

    `category` is a full one (`xpu-shark.tiling`): filters match it. `name` must differ between
    remarks at the same place, since the engine may merge equal ones. `location` is
    `file:line:col`, empty where there is none. `args` keep their order in the YAML. Names and
    values are kept as they are, which the YAML spells as it must; `message` is made one line.
    """

    kind: Kind
    category: str
    name: str
    message: str
    function: str = ""
    location: str | ir.Location = ""
    args: tuple[tuple[str, str], ...] = ()

    def emit(self, context: ir.Context) -> bool:
        """Report through the remark engine of `context`; False when nobody listens for it."""
        return bool(
            _location(self.location, context).emit_remark(
                self.kind.value,
                self.name,
                category=self.category,
                function_name=self.function,
                message=one_line(self.message),
                args=[(key, str(value)) for key, value in self.args],
            )
        )


def _location(location: str | ir.Location, context: ir.Context) -> ir.Location:
    if isinstance(location, ir.Location):
        return location
    file, line, column = [*location.rsplit(":", 2), "", ""][:3]
    if not (line.isdecimal() and column.isdecimal()):
        return ir.Location.unknown(context)
    return ir.Location.file(file, int(line), int(column), context)

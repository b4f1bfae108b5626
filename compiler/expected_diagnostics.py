"""--verify-diagnostics: what `// expected-...` comments ask for, against what was said.

The notation is MLIR's: `expected-error @+1 {{text}}`, kinds error, warning, remark and note,
places `@+N`, `@-N`, `@above`, `@below`, `@unknown`; `expected-error-re` takes `{{regex}}`
inside the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MARK = re.compile(
    r"expected-(error|warning|remark|note)(-re)?\s*(?:@([+-]\d+|above|below|unknown))?\s*"
    r"\{\{(.*?)\}\}"
)
_MARK_RE = re.compile(
    r"expected-(error|warning|remark|note)(-re)\s*(?:@([+-]\d+|above|below|unknown))?\s*\{\{(.*)\}\}"
)
_INNER = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Diagnostic:
    """Something said at `file:line:column`; line 0 where there is no place."""

    kind: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else "<unknown>"
        return f"{place}: {self.kind}: {self.message}"


@dataclass(frozen=True)
class Expectation:
    """One comment: `pattern` must be found in a message of `kind` at `line` (0: no place)."""

    kind: str
    pattern: str
    line: int
    text: str

    def matches(self, said: Diagnostic) -> bool:
        found = re.search(self.pattern, said.message)
        return said.kind == self.kind and said.line == self.line and found is not None


def expectations(source: str, first_line: int = 1) -> list[Expectation]:
    """The comments of `source`, whose first line has the number `first_line`."""
    lines = source.split("\n")
    result = []
    for index, line in enumerate(lines):
        for kind, regex, place, text in _marks(line):
            at = _line(lines, index, place)
            pattern = _pattern(text) if regex else re.escape(text)
            result.append(Expectation(kind, pattern, at + first_line if at >= 0 else 0, text))
    return result


def mismatches(expected: Sequence[Expectation], said: Iterable[Diagnostic], file: str) -> list[str]:
    """One line for each diagnostic that nobody expected and each expectation not met."""
    open_ = list(expected)
    problems = []
    for each in said:
        match = next((one for one in open_ if one.matches(each)), None)
        if match is None:
            problems.append(f"unexpected: {each}")
        else:
            open_.remove(match)
    places = ((f"{file}:{one.line}" if one.line else "<unknown>", one) for one in open_)
    problems += [f'missing: {place}: {one.kind} "{one.text}"' for place, one in places]
    return problems


def _marks(line: str) -> list[tuple[str, str, str, str]]:
    return (_MARK_RE if _MARK_RE.search(line) else _MARK).findall(line)


def _line(lines: Sequence[str], index: int, place: str) -> int:
    """Index of the line that a comment on line `index` speaks of; -1 for no place."""
    if place == "unknown":
        return -1
    if place in ("above", "below"):
        step = 1 if place == "below" else -1
        index += step
        while 0 <= index < len(lines) and _marks(lines[index]):  # comments in a row share it
            index += step
        return index
    return index + int(place or 0)


def _pattern(text: str) -> str:
    """`text` with its `{{regex}}` parts kept and the rest literal."""
    parts = _INNER.split(text)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))

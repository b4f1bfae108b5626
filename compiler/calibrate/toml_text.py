"""A target's tables as TOML: keys in the order given, numbers to four digits, always the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Comments = Mapping[str, str]


def write(tables: Mapping[str, Any], comments: Comments, head: str) -> str:
    """`comments` are for keys such as "core.load_cycles" or "memory.l2.bytes_per_s"; `head` comes
    first, each line behind a #."""
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    lines += ["", *_pairs("", tables, comments)]
    for name, value in tables.items():
        if isinstance(value, Mapping):
            lines += ["", *_table(name, value, comments)]
        elif isinstance(value, list):
            for row in value:
                key = f"{name}.{row['name']}"
                lines += ["", f"[[{name}]]", *_pairs(f"{key}.", row, comments)]
    return "\n".join(lines) + "\n"


def _table(name: str, table: Mapping[str, Any], comments: Comments) -> Iterator[str]:
    yield f"[{name}]"
    yield from _pairs(f"{name}.", table, comments)
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield ""
            yield from _table(f"{name}.{key}", value, comments)


def _pairs(prefix: str, table: Mapping[str, Any], comments: Comments) -> Iterator[str]:
    for key, value in table.items():
        nested = isinstance(value, Mapping) or (
            isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
        )
        if not nested:
            comment = comments.get(f"{prefix}{key}", "")
            yield f"{key} = {_value(value)}" + (f"  # {comment}" if comment else "")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = f"{value:.4g}"
        return text if any(mark in text for mark in ".e") else f"{text}.0"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, int):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

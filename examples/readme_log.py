"""Puts the log of the last demo, build/demo.log, into README.md, folded as the demo shows it."""

from __future__ import annotations

import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
START, END = "\n```text\n", "\n```\n"
WIDTH = 96


def fold(line: str) -> str:
    """`line` in lines of at most WIDTH characters, all but the first indented."""
    return "\n    ".join(
        textwrap.wrap(line, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    )


def main() -> None:
    log = (ROOT / "build" / "demo.log").read_text().splitlines()
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(START, 1)
    after = rest.split(END, 1)[1]
    readme.write_text(before + START + "\n".join(map(fold, log)) + END + after)


if __name__ == "__main__":
    main()

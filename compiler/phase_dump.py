"""--dump-compilation-phases-to for a compile that stops on the way.

IREE dumps the phase before the one that it resumes from once more, as it is by then. Such a
dump would take the place of the right one, so each part of the compile writes to a folder of
its own, and only phases that are new go to the user's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xpu_shark.compiler.iree_flags import PHASES


@contextmanager
def collecting(destination: str, after: str) -> Iterator[str]:
    """A folder for IREE to dump to; its files of phases past `after` go on to `destination`."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder
        Path(destination).mkdir(parents=True, exist_ok=True)
        for dump in sorted(Path(folder).iterdir()):
            if _phase_number(dump) > PHASES.index(after):
                shutil.copyfile(dump, Path(destination) / dump.name)


def _phase_number(dump: Path) -> int:
    """Place of the phase in the name `STEM.NUMBER.PHASE.mlir`; files named otherwise are new."""
    phase = dump.name.split(".")[-2] if dump.name.count(".") >= 2 else ""
    return PHASES.index(phase) if phase in PHASES else len(PHASES)

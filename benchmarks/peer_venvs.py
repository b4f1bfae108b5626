"""Virtual environments of the tools that bench_peers.py compares with, one each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "build" / "peers"
HERE = Path(__file__).resolve().parent

# Exact versions, so that figures can be compared from run to run. scalesim 3.0.0 fails with
# numpy 2; zigzag-dse 3.9.1 imports six without asking for it.
PACKAGES = {
    "scalesim": ("scalesim==3.0.0", "numpy==1.26.4"),
    "zigzag": ("zigzag-dse==3.9.1", "six"),
    "simpy": ("simpy==4.1.2",),
}


class PeerError(RuntimeError):
    """A peer could not be installed or did not finish; the message is one line."""


def python(peer: str) -> str:
    """Its Python, after installing it where that has not been done."""
    folder = FOLDER / peer
    interpreter, done = folder / "bin" / "python", folder / "installed"
    if not done.exists() or done.read_text() != "\n".join(PACKAGES[peer]):
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        result = subprocess.run([*pip, *PACKAGES[peer]], capture_output=True, text=True)
        if result.returncode:
            raise PeerError(f"{peer} cannot be installed: {_last_line(result.stderr)}")
        done.write_text("\n".join(PACKAGES[peer]))
    return str(interpreter)


def ask(interpreter: str, script: str, arguments: Sequence[object]) -> dict[str, float]:
    """Run `script` of this folder in a fresh process; its last line is JSON."""
    command = [interpreter, str(HERE / script), *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if result.returncode:
        raise PeerError(f"{script} ends with {result.returncode}: {_last_line(result.stderr)}")
    answer: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return answer


def ours(*arguments: object) -> dict[str, float]:
    return ask(sys.executable, "peer_ours.py", arguments)


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no message")

"""`python -m xpu_shark.compiler.workload_main BACKENDS ARGS...`: a program's workload, as bytes.

Runs in a process of its own because LLVM takes its flags once a process, and because a compile
that fails or crashes here must not touch the build that asked for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from xpu_shark.compiler import pipeline
from xpu_shark.compiler.session import CompileSession
from xpu_shark.passes.bridge.read_workload import read_workload

KERNELS = "executable-configurations"


def main(argv: Sequence[str]) -> int:
    """BACKENDS is a comma-separated list; MessagePack goes to standard output."""
    backends = tuple(name for name in argv[0].split(",") if name)
    command = pipeline.command_line(argv[1:])
    with CompileSession(command) as session:
        if not (session.parse() and session.advance(KERNELS)):
            return 1
        workload = session.look(lambda module: read_workload(module, backends))
    sys.stdout.buffer.write(msgspec.msgpack.encode(workload))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

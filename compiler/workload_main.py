"""`python -m xpu_shark.compiler.workload_main WHAT BACKENDS ARGS...`: a program read, as bytes.

Runs in a process of its own because LLVM takes its flags once a process, and because a compile
that fails or crashes here must not touch the build that asked for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from xpu_shark.compiler import pipeline
from xpu_shark.compiler.session import CompileSession
from xpu_shark.passes.advise.sites import Site, read_bodies, read_sites
from xpu_shark.passes.bridge.read_workload import read_workload
from xpu_shark.simulator.workload import Workload

KERNELS = "executable-configurations"


class Program(msgspec.Struct):
    """What a program's dispatches hold, and its workload where that was asked for."""

    sites: tuple[Site, ...]
    workload: Workload | None = None


def main(argv: Sequence[str]) -> int:
    """WHAT is "sites" or "workload", BACKENDS a comma-separated list; MessagePack of a `Program`
    goes to standard output."""
    what, names, *args = argv
    backends = tuple(name for name in names.split(",") if name)
    command = pipeline.command_line(args)
    with CompileSession(command) as session:
        if not (session.parse() and session.advance("dispatch-creation")):
            return 1
        bodies = session.look(read_bodies)
        if not session.advance("flow"):
            return 1
        program = Program(session.look(lambda module: read_sites(module, bodies)))
        if what == "workload":
            if not session.advance(KERNELS):
                return 1
            program.workload = session.look(lambda module: read_workload(module, backends))
    sys.stdout.buffer.write(msgspec.msgpack.encode(program))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The program that a trace carries, so that it can be simulated without its IR."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec
from iree.compiler import ir

from xpu_shark.compiler import pipeline
from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.flags import Options
from xpu_shark.compiler.iree_flags import StockOnly
from xpu_shark.compiler.session import CompileSession
from xpu_shark.compiler.simulate_main import default_device
from xpu_shark.compiler.trace import facts
from xpu_shark.compiler.trace.model import Export, Trace
from xpu_shark.passes.bridge.read_workload import read_workload
from xpu_shark.passes.module_pass import Analysis, ModulePass
from xpu_shark.simulator import target
from xpu_shark.simulator.match_recording import MismatchError, check
from xpu_shark.simulator.workload import Workload

_PHASE = "executable-configurations"


@dataclass(frozen=True)
class _ReadWorkload(ModulePass):
    name: ClassVar[str] = "xpu-read-workload"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        analysis.workload = read_workload(module)


def attach(trace: Trace, module: str, flags: Sequence[str]) -> Trace:
    """The trace with the program in the IR file `module`, compiled with iree-compile's `flags`.

    Raises `UsageError` where it does not compile or is not what ran.
    """
    workload = read(module, flags)
    try:
        check(workload, facts.recording(trace))
    except MismatchError as problem:
        raise UsageError(f"--module={module}: not what ran: {problem}") from None
    places = {kernel.name: kernel.location for kernel in workload.kernels}
    exports = tuple(
        Export(name=each.name, format=each.format, location=places.get(each.name, ""))
        for each in trace.exports
    )
    return dataclasses.replace(trace, exports=exports, program=msgspec.msgpack.encode(workload))


def read(module: str, flags: Sequence[str]) -> Workload:
    """The workload of an IR file. Raises `UsageError`."""
    args = [module, *flags, *default_device([module, *flags])]
    try:
        command = pipeline.command_line(args)
    except StockOnly as reason:
        raise UsageError(f"--module={module}: iree-compile cannot read it {reason}") from None
    command = dataclasses.replace(command, compile_to=_PHASE, output="-")
    # No pass here looks at the target: the workload is the same for all of them.
    shared = pipeline.analysis(Options(target=target.load("tiny")), module)
    with CompileSession(command) as session:
        steps = pipeline.Pipeline(session, command, default_filter="")
        done = steps.parse() and steps.run([_ReadWorkload()], shared)
    gc.unfreeze()  # of the session: the runtime's own objects have to go before the process ends
    if not done or shared.workload is None:
        raise UsageError(f"--module={module}: does not compile with these flags")
    return shared.workload

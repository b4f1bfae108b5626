"""`--xpu-instrument`: which flags and passes put probes into a program, and when none can be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NoReturn

from xpu_shark.compiler import errors, flags

if TYPE_CHECKING:
    from xpu_shark.passes.instrument.probe_coverage import ProbeCoverage
    from xpu_shark.passes.module_pass import Effort, ModulePass

Instrument = Literal["off", "workgroup", "loop"]
SIZES: Final = {"workgroup": "16mib", "loop": "64mib"}  # of the ring that probes write to
COVERAGE: Final = "xpu-probe-coverage"
_RING: Final = "iree-hal-instrument-dispatches"
_CONST_EVAL: Final = "iree-opt-const-eval"


class Refused(Exception):
    """A backend of this program takes no probes."""


@dataclass(frozen=True)
class Probing:
    """The passes of one compile with probes, and what has to be known after them."""

    coverage: ProbeCoverage
    passes: list[ModulePass] = field(default_factory=list)

    def check(self) -> None:
        """Called after each phase with passes of ours. Raises `Refused`."""
        if self.coverage.found.refused:
            raise Refused

    def tell(self) -> None:
        """Say what the user did not ask for."""
        if count := self.coverage.found.computing:
            errors.warning(
                f"--{_CONST_EVAL}=false was added: {count} constants are computed when the module "
                "is loaded, since IREE cannot run instrumented kernels while compiling"
            )


def arguments(args: Sequence[str], instrument: Instrument) -> list[str]:
    """iree-compile's `args`, with the flags that probes need; a ring size given is kept."""
    if instrument == "off":
        return list(args)
    kept = [arg for arg in args if not _is(arg, _CONST_EVAL)]
    added = [f"--{_CONST_EVAL}=false"]
    if not any(_is(arg, _RING) for arg in kept):
        added.append(f"--{_RING}={SIZES[instrument]}")
    return [*added, *kept]


def probing(instrument: Instrument, effort: Effort = "default") -> Probing | None:
    """The passes for `instrument`, in the order in which they run; None for `off`."""
    if instrument == "off":
        return None
    if effort == "high":
        errors.warning("--xpu-effort=high: not with probes, other compiles are not tried")
    from xpu_shark.passes.instrument.embed_plan import EmbedPlan
    from xpu_shark.passes.instrument.loop_probes import LoopProbes
    from xpu_shark.passes.instrument.lower_kernels import LowerKernels
    from xpu_shark.passes.instrument.order_device_globals import OrderDeviceGlobals
    from xpu_shark.passes.instrument.probe_coverage import ProbeCoverage
    from xpu_shark.passes.instrument.workgroup_probes import WorkgroupProbes

    coverage = ProbeCoverage()
    loops: list[ModulePass] = [LowerKernels(), LoopProbes()] if instrument == "loop" else []
    passes = [OrderDeviceGlobals(), coverage, WorkgroupProbes(), *loops, EmbedPlan()]
    return Probing(coverage, passes)


def readers(passes: Sequence[ModulePass]) -> list[ModulePass]:
    """`passes` that only look at the module, made to see it without probes."""
    from xpu_shark.passes.instrument.hide_probes import HideProbes

    if not passes or any(each.changes_module for each in passes):
        return list(passes)
    return [HideProbes(), *passes]


def compile_without(ours: Sequence[tuple[flags.Flag, str]], theirs: Sequence[str]) -> NoReturn:
    """Replace this process by the same compile without probes and with a remark that says why."""
    given = {flag.name: text for flag, text in ours}
    usual = flags.DEFAULT_PASSES if "target" in given else ()
    passes = given.get("passes", ",".join(usual))
    kept = [f"{flag.spelling}={text}" for flag, text in ours if flag.name not in _REPLACED]
    if "target" not in given:
        kept.append(f"--xpu-target={flags.NO_TARGET}")
    kept.append("--xpu-passes=" + ",".join(filter(None, (passes, COVERAGE))))
    command = [sys.executable, "-m", "xpu_shark.compiler.main", "compile", *kept, *theirs]
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # execv there returns to the shell before the child is done
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(sys.executable, command)


_REPLACED: Final = ("instrument", "passes")


def _is(arg: str, name: str) -> bool:
    return arg.lstrip("-").partition("=")[0] == name and arg.startswith("-")

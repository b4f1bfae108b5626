"""Probes the loops of lowered kernels, as few as the events of a run can be made whole from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from iree.compiler import ir

from xpu_shark.passes.instrument.place_probes import Placer
from xpu_shark.passes.instrument.plan import SITES, ExportPlan, Size, decode_export, encode
from xpu_shark.passes.instrument.probe_ops import PLAN, Prober, architecture, kernels, symbol
from xpu_shark.passes.instrument.read_loops import Control, has_loops, read_control
from xpu_shark.passes.instrument.remarks import decline
from xpu_shark.passes.module_pass import Analysis, ModulePass

COUNTS_CYCLES: Final = ("x86_64",)  # elsewhere user programs may not read the counter
_WORKGROUP_STAMPS: Final = 3  # low and high at the start, low at the end


@dataclass(frozen=True)
class LoopProbes(ModulePass):
    """Probes the launch's sizes and values that loop bounds and branches hang on; takes times.

    A bound that follows from constants, the workgroup's id and count, outer induction variables
    and values probed before costs nothing. The cycle counter is read at the start and end of
    each workgroup and in outermost loops whose iterations hold enough work.
    """

    name: ClassVar[str] = "xpu-loop-probes"
    changes_module: ClassVar[bool] = True
    every: ClassVar[bool] = False

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        for function, workgroup in kernels(module):
            if workgroup is not None and PLAN in function.attributes:
                _probe(function, workgroup, self.every)


def _probe(function: ir.Operation, workgroup: ir.Operation, every: bool) -> None:
    plan = decode_export(ir.StringAttr(function.attributes[PLAN]).value)
    if plan.declined:
        return
    reason = _obstacle(function, workgroup)
    if not reason:
        control = read_control(function, plan.sites)
        stamps = not every and _can_stamp(function, control)
        reason = _too_many(control, every)
    if reason:
        plan = ExportPlan(plan.name, declined=reason)
        decline(function, plan.name, f"loops have no probes: {reason}")
    else:
        _say_inside(function, control)
        first = control.reader.next_site
        placer = Placer(control, Prober(workgroup), workgroup, first, stamps, every)
        body = placer.function(function)
        sizes = tuple(Size(*each) for each in sorted(control.workload.items()))
        plan = ExportPlan(plan.name, body, sizes, placer.next_site, len(control.numbers))
    function.attributes[PLAN] = ir.StringAttr.get(encode(plan), function.context)


def _obstacle(function: ir.Operation, workgroup: ir.Operation) -> str:
    """Why the loops of `function` cannot be followed; empty if they can."""
    blocks = list(function.regions[0].blocks)
    if len(blocks) > 1:
        return "its control flow is not structured"
    if workgroup.block != blocks[0]:
        return "its workgroup probe is not at its start"
    before = [view.operation for view in blocks[0].operations]
    if any(has_loops(op) for op in before[: before.index(workgroup)]):
        return "a loop comes before its workgroup probe"
    return ""


def _too_many(control: Control, every: bool) -> str:
    needed = control.reader.next_site + every * len(control.numbers)
    return f"{needed} probe sites, at most {SITES} fit" if needed > SITES else ""


def _can_stamp(function: ir.Operation, control: Control) -> bool:
    name = symbol(function)
    machine = architecture(function)
    if machine not in COUNTS_CYCLES:
        reason = f"no times: programs may not read the cycle counter on {machine or 'this target'}"
        decline(function, name, reason)
        return False
    needed = control.reader.next_site + len(control.numbers) + _WORKGROUP_STAMPS
    if needed > SITES:
        decline(function, name, f"no times: {needed} probe sites, at most {SITES} fit")
    return needed <= SITES


def _say_inside(function: ir.Operation, control: Control) -> None:
    for op in sorted(set(control.inside)):
        decline(function, symbol(function), f"loops inside {op} have no probes and no plan")

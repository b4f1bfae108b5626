"""The most that a change to one launch can save: a closed form that spares simulations."""

from __future__ import annotations

from xpu_shark.simulator.simulate import WITHIN_BOUND, KernelRun
from xpu_shark.simulator.target import PS_PER_S, Target


def above_bound_ps(run: KernelRun) -> int:
    """For changes that leave the work as it is: the time above the bound, nothing within 5 % of it
    at the rates that the target sustains."""
    return 0 if run.at_its_best else run.time_ps - run.bounds.bound_ps


def excess_ps(run: KernelRun, target: Target) -> int:
    """For changes to what moves: the time that any hop spends on bytes beyond the compulsory ones
    and on starting transfers, where there are such bytes."""
    outer = target.memory[0]
    rate = outer.peak_bytes_per_s or outer.bytes_per_s
    needed_ps = run.bounds.least_ps[outer.name]
    if all(
        run.bytes.get(level.name, 0) <= needed_ps * rate / PS_PER_S + 1
        for level in target.memory[:-1]
    ):
        return 0
    moving = sum(s.busy_ps for s in run.streams if s.name.startswith(("load.", "store.")))
    return min(moving - needed_ps, above_bound_ps(run))


def unit_ps(run: KernelRun, unit: str) -> int:
    """For changes to the work of `unit`: its busy time, as far as no other resource needs it;
    nothing within 5 % of what another one needs."""
    busy = sum(stream.busy_ps for stream in run.streams if stream.name == unit)
    others = max(ps for name, ps in run.bounds.least_ps.items() if name != unit)
    return min(busy, run.time_ps - others) if run.time_ps > WITHIN_BOUND * others else 0

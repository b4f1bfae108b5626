"""Times of what the host program does besides launching kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from xpu_shark.simulator.collectives import ring
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.moves import move_kernel
from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import PS_PER_S
from xpu_shark.simulator.units.dma import PS_PER_NS
from xpu_shark.simulator.workload import Collective, Move

if TYPE_CHECKING:
    from xpu_shark.simulator.evaluate import Settings


class CommandRun(msgspec.Struct, frozen=True, kw_only=True):
    """One command; times None where it cannot be simulated, for `reason`."""

    time_ps: int | None = None
    bound_ps: int | None = None
    serial_ps: int | None = None
    bytes: dict[str, int] = {}
    group: int = 0
    algorithm: str = ""
    reason: str = ""


def simulate(item: Move | Collective, size: int | None, settings: Settings) -> CommandRun:
    """`size` is the payload in bytes, None where it depends on something unknown."""
    if size is None:
        return CommandRun(reason="size not known")
    if isinstance(item, Collective):
        return _collective(item, size, settings)
    if item.kind == "transfer":
        return _transfer(size, settings)
    kernel = simulate_kernel(
        move_kernel(item.kind, size), {}, settings.target, "default", fold=settings.fold
    )
    if kernel is None:
        return CommandRun(time_ps=0, bound_ps=0, serial_ps=0, reason="no work")
    return CommandRun(
        time_ps=kernel.time_ps,
        bound_ps=kernel.bounds.bound_ps,
        serial_ps=kernel.bounds.serial_ps,
        bytes=kernel.bytes,
    )


def _transfer(size: int, settings: Settings) -> CommandRun:
    network = settings.target.network
    if network is None:
        return CommandRun(reason=f"target {settings.target.name} describes no network")
    wire = -(-size * PS_PER_S // int(network.bytes_per_s))
    fixed = -int(-(network.latency_ns + network.message_ns) * PS_PER_NS // 1)
    return CommandRun(
        time_ps=wire + fixed, bound_ps=wire, serial_ps=wire + fixed, bytes={"link": size}
    )


def _collective(item: Collective, size: int, settings: Settings) -> CommandRun:
    group = item.group or settings.devices
    target = settings.target
    if item.kind not in ring.STEPS:
        return CommandRun(group=group, reason=f"no algorithm for {item.kind}")
    if target.network is None:
        return CommandRun(group=group, reason=f"target {target.name} describes no network")
    if group < 2:
        return CommandRun(group=group, reason="group size not known: give --xpu-devices=N")
    timeline = run(ring.program(target, item.kind, size, group), fold=settings.fold)
    bound = ring.bound_ps(target, item.kind, size, group)
    moved = {use.name: use.bytes for use in timeline.resources if use.bytes}
    serial = sum(use.busy_ps for use in timeline.resources)
    return CommandRun(
        time_ps=timeline.time_ps,
        bound_ps=bound,
        serial_ps=max(serial, bound),
        bytes=moved,
        group=group,
        algorithm="ring",
    )

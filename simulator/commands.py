"""Times of what the host program does besides launching kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from xpu_shark.simulator.moves import move_kernel
from xpu_shark.simulator.simulate import simulate_kernel
from xpu_shark.simulator.target import PS_PER_S
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
        from xpu_shark.simulator import collective_run  # most modules communicate nothing

        return collective_run.simulate(item, size, settings)
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
    """From one device to the next, by itself."""
    from xpu_shark.simulator.network import fabric

    network = settings.target.network
    if network is None:
        return CommandRun(reason=f"target {settings.target.name} describes no network")
    path = fabric(network, 2).path(0, 1)
    wire = max(-int(-size * PS_PER_S // link.bytes_per_s) for link in path)
    fixed = sum(link.latency_ps + link.message_ps for link in path)
    return CommandRun(
        time_ps=wire + fixed, bound_ps=wire, serial_ps=wire + fixed, bytes={"link": size}
    )

"""One launch of one kernel on one target: bind, tile, lower, run, and say what limits it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from xpu_shark.simulator import tiling as tilings
from xpu_shark.simulator.bind import ALONE, BoundKernel, Context, bind
from xpu_shark.simulator.bounds import Bounds, attainable_ps, bounds
from xpu_shark.simulator.describe import describe
from xpu_shark.simulator.edges import Edges, edges
from xpu_shark.simulator.engine import run
from xpu_shark.simulator.fit import fit, pieces
from xpu_shark.simulator.lower import lower
from xpu_shark.simulator.plan import Tiling, few_edges
from xpu_shark.simulator.stalls import Attribution, attribute
from xpu_shark.simulator.symbolic import Value
from xpu_shark.simulator.target import PS_PER_S, Target
from xpu_shark.simulator.timeline import StreamTimes, Timeline
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel

WITHIN_BOUND = 1.05  # a launch this close to its bound has nothing left to give


class KernelRun(msgspec.Struct, frozen=True):
    """One simulated launch. `utilization` is the share of peak that useful work reached, by
    resource. `what` is the work in a few words: "matmul 128x768x3072 bf16". `note` says where the
    tile sizes could not be those asked for, and is empty otherwise. `product`: some of the work
    is that of a matrix product. `attainable_ps` is the bound at the rates that the target sustains,
    never below the bound itself."""

    what: str
    time_ps: int
    bounds: Bounds
    flops: int
    bytes: dict[str, int]
    utilization: dict[str, float]
    attribution: Attribution
    tiling: dict[str, int]
    plan: Tiling
    streams: tuple[StreamTimes, ...]
    edges: Edges
    note: str = ""
    product: bool = False
    attainable_ps: int = 0

    @property
    def at_its_best(self) -> bool:
        """Whether it takes hardly more than its bound at the rates that the target sustains: a
        resource that is busy all the time at that rate has nothing left to give."""
        return self.time_ps <= WITHIN_BOUND * max(self.attainable_ps, self.bounds.bound_ps)


class AccountingError(RuntimeError):
    """The simulator broke one of its own laws: a fault of this program, never of its input."""


def simulate_kernel(
    kernel: Kernel,
    env: Mapping[str, Value],
    target: Target,
    mode: str = "ir",
    *,
    context: Context = ALONE,
    fold: bool = True,
) -> KernelRun | None:
    """None where the kernel has no work for these sizes.

    Raises `UnboundError` where sizes are missing.
    """
    bound = bind(kernel, env, context)
    if bound.empty:
        return None
    asked = tilings.choose(bound, target, mode)
    tiling, problem = fit(bound, asked, target)
    if mode == "best":
        from xpu_shark.simulator.search import search  # search simulates: it imports this file

        return search(bound, target, asked, [tiling])[0].run
    note = "; ".join(filter(None, (problem, pieces(bound, tiling))))
    result = run_bound(bound, tiling, target, fold=fold)
    return msgspec.structs.replace(result, note=note) if note else result


def time_ps(kernel: BoundKernel, tiling: Tiling, target: Target) -> int:
    """Only the time of `run_bound`: for comparing many targets."""
    return run(lower(kernel, tiling, target)).time_ps


def run_bound(
    kernel: BoundKernel, tiling: Tiling, target: Target, *, fold: bool = True
) -> KernelRun:
    """Simulate a bound kernel with a given tiling (`plan.few_edges` of it)."""
    tiling = few_edges(kernel, tiling)
    timeline = run(lower(kernel, tiling, target), fold=fold)
    least = bounds(kernel, target)
    moved = {
        use.name: use.bytes
        for use in timeline.resources
        if use.name in {level.name for level in target.memory}
    }
    result = KernelRun(
        describe(kernel, target),
        timeline.time_ps,
        least,
        flops(kernel),
        moved,
        _utilization(least, moved, timeline, target),
        attribute(timeline, target),
        _sizes(kernel, tiling),
        tiling,
        timeline.streams,
        edges(kernel, tiling, target),
        product=any(nest.contraction is not None for nest in kernel.nests),
        attainable_ps=attainable_ps(least, target),
    )
    _check(kernel, target, timeline, result)
    return result


def _utilization(
    least: Bounds, moved: dict[str, int], timeline: Timeline, target: Target
) -> dict[str, float]:
    """Share of each resource's peak: bytes for memories, useful operations for units."""
    time = max(timeline.time_ps, 1)
    shares = {}
    for level in target.memory:
        if level.name in moved:
            rate = level.peak_bytes_per_s or level.bytes_per_s
            shares[level.name] = moved[level.name] * PS_PER_S / rate / time
    for unit in ("matrix", "vector"):
        shares[unit] = least.least_ps[unit] / time
    return {name: round(share, 6) for name, share in shares.items()}


def _sizes(kernel: BoundKernel, tiling: Tiling) -> dict[str, int]:
    """Tile sizes by axis name: d0, d1, ... as the first nest that has the axis counts them."""
    names: dict[int, str] = {}
    for nest in kernel.nests:
        for dim, axis in enumerate(nest.axes):
            names.setdefault(axis, f"d{dim}" if f"d{dim}" not in names.values() else f"a{axis}")
    return {names[axis]: tiling.tile[axis] for axis in sorted(names)}


def _check(kernel: BoundKernel, target: Target, timeline: Timeline, result: KernelRun) -> None:
    """The laws that always hold; cheap, so always on."""
    outer = target.memory[0].name
    if timeline.time_ps < result.bounds.bound_ps:
        raise AccountingError(f"{kernel.name}: faster than its bound")
    # The caches of a CPU keep operands from launch to launch.
    if target.core is None and result.bytes.get(outer, 0) < compulsory_bytes(kernel):
        raise AccountingError(f"{kernel.name}: moved fewer bytes than compulsory")
    for stream in timeline.streams:
        total = stream.busy_ps + sum(stream.stalls_ps.values()) + stream.idle_ps
        if total != timeline.time_ps or min((*stream.stalls_ps.values(), stream.idle_ps)) < 0:
            raise AccountingError(f"{kernel.name}: times of stream {stream.name} do not add up")
    for use in timeline.resources:
        if use.busy_ps > timeline.time_ps:
            raise AccountingError(f"{kernel.name}: {use.name} busy longer than the run")

"""The roofline's ridge: where fusing has nothing left to save."""

from __future__ import annotations

from xpu_shark.simulator.simulate import KernelRun
from xpu_shark.simulator.target import PS_PER_S, Target


def past_ridge(run: KernelRun, target: Target) -> bool:
    """Whether the run's operational intensity (operations a byte moved) is at every memory level
    outside the cores above that level's ridge (peak operations over peak bytes a second).

    With both sides multiplied by the bytes that is: the operations need at their peak as long as
    the bytes at theirs (Williams, Waterman and Patterson, Roofline, 2009). Then no byte that
    fusing saves is waited for.
    """
    least = run.bounds.least_ps
    compute_ps = max(least["matrix"], least["vector"])
    return all(
        compute_ps >= run.bytes.get(level.name, 0) * PS_PER_S / _peak(target, place)
        for place, level in enumerate(target.memory[:-1])
    )


def _peak(target: Target, place: int) -> float:
    level = target.memory[place]
    return level.peak_bytes_per_s or level.bytes_per_s

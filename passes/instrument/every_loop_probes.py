"""Probes every loop in every iteration: what the probes of `xpu-loop-probes` are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xpu_shark.passes.instrument.loop_probes import LoopProbes


@dataclass(frozen=True)
class EveryLoopProbes(LoopProbes):
    """Reports each induction variable and nothing about time; far dearer, for checks only."""

    name: ClassVar[str] = "xpu-every-loop-probes"
    every: ClassVar[bool] = True

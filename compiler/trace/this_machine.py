"""What this machine is called, for recordings and for targets calibrated on it."""

from __future__ import annotations

import os
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def identity(cpuinfo: Path = _CPUINFO) -> str:
    """The processor and how many of its threads programs may use: "AMD EPYC 7B13, 2 cores"."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{next(names, 'unknown processor')}, {cores} cores"

"""Watches, while a program runs, what else the machine did: times taken then do not count.

Linux tells the CPU time of all processes (/proc/stat), of one (/proc/PID/stat), and when the
kernel held a group of processes back (cpu.stat) or a hot processor slowed down
(thermal_throttle); proc(5) and the kernel's admin guide describe them. Elsewhere nothing is
known, and `Watch.known` says so.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

PERIOD_S: Final = 0.1
# Share of the machine's CPU time that others may use: a period has ten clock ticks a processor, so
# that less than one in ten is not told from the clock's own grain.
LIMIT: Final = 0.10
_IDLE, _IOWAIT, _STEAL, _GUEST = 3, 4, 7, 8  # columns of the line "cpu"


@dataclass(frozen=True)
class Sample:
    """Counters at one time: seconds of CPU, and how often or how long work was held back."""

    time_ns: int
    busy_s: float
    own_s: float
    throttled: int


@dataclass(frozen=True)
class Period:
    """Between two samples; `others` is the share of the machine that others used."""

    start_ns: int
    end_ns: int
    others: float
    throttled: bool

    @property
    def disturbed(self) -> bool:
        return self.throttled or self.others > LIMIT


def periods(samples: Sequence[Sample], processors: int) -> list[Period]:
    """What happened between each sample and the next."""
    found = []
    for before, after in pairwise(samples):
        length = (after.time_ns - before.time_ns) / 1e9
        others = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
        share = max(0.0, others) / (length * processors) if length > 0 else 0.0
        throttled = after.throttled > before.throttled
        found.append(Period(before.time_ns, after.time_ns, share, throttled))
    return found


def disturbed(found: Sequence[Period], start_ns: int, end_ns: int) -> bool:
    """Whether anything disturbed the time from `start_ns` to `end_ns`."""
    return any(p.disturbed for p in found if p.start_ns < end_ns and p.end_ns > start_ns)


class Watch:
    """Samples in a thread of its own until `stop`; our own processes are `pid` and this one."""

    def __init__(self, pid: int, period_s: float = PERIOD_S) -> None:
        self._pid, self._period = pid, period_s
        self._samples: list[Sample] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.known = _read_busy() is not None
        if self.known:
            self._take()
            self._thread.start()

    def stop(self) -> list[Period]:
        """The periods seen, up to now. The process may have ended."""
        self._done.set()
        if self.known:
            self._thread.join()
            self._take()
        return periods(self._samples, os.cpu_count() or 1)

    def _run(self) -> None:
        while not self._done.wait(self._period):
            self._take()

    def _take(self) -> None:
        now = time.monotonic_ns()
        busy = _read_busy() or 0.0
        self._samples.append(Sample(now, busy, _read_own(self._pid), _read_throttled()))


def _read_busy() -> float | None:
    """CPU seconds of everyone since the machine started, time stolen by other guests included."""
    try:
        with Path("/proc/stat").open() as file:
            values = [int(text) for text in file.readline().split()[1:]]
    except (OSError, ValueError):
        return None
    if len(values) <= _STEAL:
        return None
    busy = sum(values[:_GUEST]) - values[_IDLE] - values[_IOWAIT]
    return busy / os.sysconf("SC_CLK_TCK")


def _read_own(pid: int) -> float:
    """CPU seconds of process `pid` with its threads while it is there, of this process, and of
    its children that have ended."""
    ended = os.times()
    own = time.process_time() + ended.children_user + ended.children_system
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        user, system = text.rpartition(")")[2].split()[11:13]
    except (OSError, ValueError):
        return own
    return own + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _read_throttled() -> int:
    """A counter that grows when work is held back."""
    total = 0
    for line in _text("/sys/fs/cgroup/cpu.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == "nr_throttled" and value.isdigit():
            total += int(value)
    for path in Path("/sys/devices/system/cpu").glob("cpu*/thermal_throttle/*_throttle_count"):
        text = _text(str(path)).strip()
        total += int(text) if text.isdigit() else 0
    return total


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""

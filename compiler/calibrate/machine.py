"""What the system says of this machine: caches, threads, the processor's name, vector registers."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from xpu_shark.compiler.errors import UsageError

_CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_LEVELS: Final = 3
_FLOAT_BITS: Final = 32


@dataclass(frozen=True)
class Level:
    """One cache: `bytes` in sets of `ways` lines."""

    bytes: int
    ways: int
    line_bytes: int

    @property
    def sets(self) -> int:
        return max(1, self.bytes // (self.ways * self.line_bytes))


@dataclass(frozen=True)
class Machine:
    """`caches` from the nearest to the last; `lanes` f32 in one of `registers` vector registers."""

    name: str
    cores: int
    memory_bytes: int
    caches: tuple[Level, ...]
    lanes: int
    registers: int


def read(caches: Path = _CACHES) -> Machine:
    """Raises `UsageError` where the system does not tell its caches."""
    levels = tuple(_level(caches, number) for number in range(1, _LEVELS + 1))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    bits, registers = _vectors()
    cores = len(os.sched_getaffinity(0))
    return Machine(_processor(), cores, memory, levels, bits // _FLOAT_BITS, registers)


def _vectors() -> tuple[int, int]:
    """Bits of a vector register and how many there are: Intel's and AMD's manuals (AVX, 16 of
    256; AVX-512, 32 of 512; SSE, 16 of 128), and Arm's (NEON, 32 of 128)."""
    flags = set(_text(Path("/proc/cpuinfo")).split())
    if platform.machine() in ("x86_64", "AMD64"):
        if "avx512f" in flags:
            return 512, 32
        return (256, 16) if "avx2" in flags else (128, 16)
    return 128, 32


def _level(caches: Path, number: int) -> Level:
    for folder in sorted(caches.glob("index*")):
        if _text(folder / "level") == str(number) and _text(folder / "type") != "Instruction":
            size = re.fullmatch(r"(\d+)([KM]?)", _text(folder / "size"))
            ways, line = (
                _text(folder / "ways_of_associativity"),
                _text(folder / "coherency_line_size"),
            )
            if size and ways.isdigit() and line.isdigit():
                unit = {"": 1, "K": 1 << 10, "M": 1 << 20}[size[2]]
                return Level(int(size[1]) * unit, max(1, int(ways)), int(line))
    raise UsageError(
        f"calibrate: {caches} does not tell size, ways and line of a level {number} cache; "
        "copy a target file and fill in its tables by hand"
    )


def _processor() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""

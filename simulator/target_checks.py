"""What types cannot say of a target: its tables agree, its figures are those of a machine."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from xpu_shark.simulator.element_type import bits

if TYPE_CHECKING:
    from xpu_shark.simulator.target import Target

TILERS = ("cpu", "gpu", "spatial", "systolic")  # files of tilers/ that have `choose`
# What no machine goes beyond: a figure past these is a slip of the pen.
MOST_CORES = 10**6
SLOWEST_HZ, FASTEST_HZ = 1e3, 1e12
MOST_BURST = 2**20
WIDTHS = (1, 2, 4, 6, 8, 16, 19, 32, 64, 128)  # bits of an element; tf32 counts as 32
# Kinds of operation on the vector unit, as the bridge counts them, and `default` for the others.
KINDS = frozenset(
    "default madd add mul div rem int_div max compare select logic shift convert round exp log "
    "sqrt rsqrt tanh erf sin cos pow index quantise".split()
)


def problems(target: Target) -> Iterator[str]:
    """What is wrong with a target, one line each: the key, its value, what was expected."""
    yield from _shape(target)
    yield from _core(target)
    yield from _memory(target)
    yield from _clock(target)
    yield from _elements(target)


def _shape(target: Target) -> Iterator[str]:
    """How work is laid out: the tiler exists, and several cores share it out in waves."""
    if target.tiler not in TILERS:
        yield f"tiler = {target.tiler!r} is not known (known: {', '.join(sorted(TILERS))})"
    if target.execution == "sequential" and target.cores > 1:
        yield f'execution = "sequential" is for one core, cores = {target.cores}: use "waves"'
    if target.cores > MOST_CORES:
        yield f"cores = {target.cores}, at most {MOST_CORES} make sense"
    if not SLOWEST_HZ <= target.clock_hz <= FASTEST_HZ:
        yield f"clock_hz = {target.clock_hz:g} is not between 1 kHz and 1 THz"


def _core(target: Target) -> Iterator[str]:
    """A CPU: cores in waves, a main memory and two caches at least, lines the same in all."""
    if target.core is None:
        return
    if target.execution != "waves" or len(target.memory) < 3:
        yield 'a target with a table [core] needs execution = "waves" and three levels of memory'
    for table in ("madd_cycles", "latency_cycles", "fold_cycles", "gather_cycles"):
        if "default" not in getattr(target.core, table):
            yield f"core.{table} needs an entry named default"
    for level in target.memory[1:]:
        if level.ways is None:
            yield f"memory {level.name!r} has no ways, which a cache beside a table [core] needs"


def _memory(target: Target) -> Iterator[str]:
    """Levels shrink inwards, from a shared main memory to a private innermost one."""
    outer, inner = target.memory[0], target.memory[-1]
    if not outer.shared:
        yield f"memory {outer.name!r} is the main memory, so it must have shared = true"
    if inner.shared:
        yield f"memory {inner.name!r} is the last, so it must have shared = false"
    for far, near in itertools.pairwise(target.memory):
        if near.bytes > far.bytes:
            yield (
                f"memory {near.name!r} has bytes = {near.bytes}, "
                f"more than {far.name!r} outside it ({far.bytes})"
            )
        if near.name in [level.name for level in target.memory if level is not near]:
            yield f"memory name {near.name!r} is used twice"
    for level in target.memory:
        if level.burst_bytes > MOST_BURST:
            yield f"memory {level.name!r} has burst_bytes = {level.burst_bytes}, over {MOST_BURST}"
        if level.peak_bytes_per_s is not None and level.peak_bytes_per_s < level.bytes_per_s:
            yield f"memory {level.name!r} has peak_bytes_per_s below its bytes_per_s"


def _clock(target: Target) -> Iterator[str]:
    if target.sustained_clock_hz is not None and target.sustained_clock_hz > target.clock_hz:
        yield "sustained_clock_hz is above clock_hz"
    if "default" not in target.vector.cycles_per_op:
        yield "vector.cycles_per_op needs an entry named default"
    for kind in target.vector.cycles_per_op:
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, sorted(KINDS), n=1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            yield f"vector.cycles_per_op has {kind!r}, which is no kind of operation{hint}"


def _elements(target: Target) -> Iterator[str]:
    """Element types are MLIR's names, memories that figures speak of exist."""
    levels = [level.name for level in target.memory]
    for figure in target.published:
        if figure.quantity.startswith("bytes") and figure.of not in levels:
            yield f"published.of = {figure.of!r} is not a memory (known: {', '.join(levels)})"
    for key, elements in _element_keys(target):
        for element in elements:
            if not _is_element(element):
                yield f"{key} has {element!r}, which is not an element type (as f32, bf16, i8)"


def _element_keys(target: Target) -> Iterator[tuple[str, Iterable[str]]]:
    if target.matrix is not None:  # every table of a matrix unit is by element type
        for name, value in msgspec.structs.asdict(target.matrix).items():
            if isinstance(value, dict):
                yield f"matrix.{name}", value
    yield "vector.packed", target.vector.packed
    yield "vector.element_cycles", target.vector.element_cycles
    flops = [figure.of for figure in target.published if figure.quantity.endswith("flops")]
    yield "published.of", flops


def _is_element(name: str) -> bool:
    try:
        return bits(name) in WIDTHS
    except ValueError:
        return False

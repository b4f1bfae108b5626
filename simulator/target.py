"""Accelerator descriptions: the typed form of targets/*.toml, read and checked in one place."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(gt=0)]
Rate = Annotated[float, Meta(gt=0)]
Cost = Annotated[float, Meta(ge=0)]
TARGETS = Path(__file__).parent / "targets"
PS_PER_S = 10**12


class TargetError(ValueError):
    """A target is unknown or its file is not right; the message is one line for the user."""


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all target tables."""


class Memory(Struct, kw_only=True):
    """One level, from the main memory inwards; the last is private to each core.

    `bytes_per_s` is the whole level's sustained rate, reads and writes together, for a shared
    level, and one core's for a private one. `core_bytes_per_s` is what one core can draw.
    A `managed` level is filled by DMA as the program says; any other is a cache.
    """

    name: str
    bytes: Count
    bytes_per_s: Rate
    core_bytes_per_s: Rate | None = None
    latency_ns: Cost = 0.0
    burst_bytes: Count = 1
    shared: bool = True
    managed: bool = False


class Dma(Struct, kw_only=True):
    """Cost of starting one transfer, on the queue that issues it."""

    setup_ns: Cost


class Systolic(Struct, kw_only=True, tag_field="kind", tag="systolic"):
    """Weight-stationary array: `rows` (reduction) x `cols` (output) cells, `count` a core.

    `cycles_per_row[type]`: cycles to push one row of activations; weights for the next pass
    load behind the current one at `weight_cycles_per_row` a row.
    """

    count: Count
    rows: Count
    cols: Count
    cycles_per_row: dict[str, Rate]
    weight_cycles_per_row: Rate = 1.0


class Mma(Struct, kw_only=True, tag_field="kind", tag="mma"):
    """Matrix instructions on registers: `m` x `n` x `k` a step, `macs_per_cycle[type]` a core."""

    m: Count
    n: Count
    k: Count
    macs_per_cycle: dict[str, Rate]
    latency_cycles: Cost = 0.0


class Vector(Struct, kw_only=True):
    """SIMD unit of one core: `lanes` results of 32 bits a cycle for an operation of cost 1.

    `cycles_per_op[kind]` is relative to that, `default` for kinds not listed; `packed` types
    narrower than 32 bits run at 32/width times the rate.
    """

    lanes: Count
    cycles_per_op: dict[str, Rate]
    packed: tuple[str, ...] = ()
    latency_cycles: Cost = 0.0


class Network(Struct, kw_only=True):
    """Links between devices: `links` a device, each `bytes_per_s` one way."""

    topology: Literal["ring", "torus2d", "torus3d", "switch", "full"]
    links: Count
    bytes_per_s: Rate
    latency_ns: Cost
    message_ns: Cost = 0.0


class Iree(Struct, kw_only=True):
    """Backends whose tile sizes are meant for this chip."""

    backends: tuple[str, ...] = ()


class Published(Struct, kw_only=True):
    """A figure from a data sheet, to be recomputed from the tables above by a test."""

    quantity: Literal["flops", "bytes_per_s", "bytes"]
    of: str  # element type or memory name
    value: Rate
    source: str
    tolerance: Cost = 0.01


class Target(Struct, kw_only=True):
    """One accelerator device."""

    schema: Literal[1]
    name: str
    summary: str
    clock_hz: Rate
    cores: Count
    execution: Literal["sequential", "waves"]
    launch_ns: Cost
    tiler: str
    memory: Annotated[tuple[Memory, ...], Meta(min_length=2)]
    dma: Dma
    matrix: Systolic | Mma | None = None
    vector: Vector
    network: Network | None = None
    iree: Iree = Iree()
    published: tuple[Published, ...] = ()

    def ps(self, cycles: float) -> int:
        """Core cycles in whole picoseconds, rounded up: a cost is never rounded away."""
        return -int(-cycles * PS_PER_S // self.clock_hz)


def names() -> tuple[str, ...]:
    """Built-in targets, sorted."""
    return tuple(sorted(path.stem for path in TARGETS.glob("*.toml")))


def load(name_or_path: str) -> Target:
    """A built-in target by name, or a file that ends in .toml. Raises `TargetError`."""
    if not name_or_path.endswith(".toml"):
        if name_or_path not in names():
            raise TargetError(_unknown(name_or_path))
        return _decode(TARGETS / f"{name_or_path}.toml")
    return _decode(Path(name_or_path))


def _decode(path: Path) -> Target:
    try:
        target = msgspec.toml.decode(path.read_bytes(), type=Target)
    except OSError as error:
        raise TargetError(f"target file {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TargetError(f"target file {path}: {error}") from error
    _check(path, target)
    return target


def _check(path: Path, target: Target) -> None:
    """What types cannot say: levels shrink inwards and the innermost is private."""
    outer, inner = target.memory[0], target.memory[-1]
    if inner.shared:
        raise TargetError(f"target file {path}: memory {inner.name!r} is the last, so it must have shared = false")
    for far, near in zip(target.memory, target.memory[1:], strict=False):
        if near.bytes > far.bytes:
            raise TargetError(
                f"target file {path}: memory {near.name!r} holds {near.bytes} bytes, more than {far.name!r} outside it ({far.bytes})"
            )
    if not outer.shared:
        raise TargetError(f"target file {path}: memory {outer.name!r} is the main memory, so it must have shared = true")


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"unknown target {name!r}{hint} (known: {', '.join(names())}; or a path ending in .toml)"

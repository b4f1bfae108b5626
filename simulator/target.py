"""Accelerator descriptions: the typed form of targets/*.toml, read and checked in one place."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from xpu_shark.simulator.target_checks import problems

# Upper limits keep typing errors and infinities out: no machine has an exabyte or an exahertz.
Count = Annotated[int, Meta(gt=0, le=10**18)]
Rate = Annotated[float, Meta(gt=0, le=1e18)]
Cost = Annotated[float, Meta(ge=0, le=1e12)]
TARGETS = Path(__file__).parent / "targets"
PS_PER_S = 10**12


class TargetError(ValueError):
    """A target is unknown or its file is not right; the message is one line for the user."""


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all target tables."""


class Memory(Struct, frozen=True, kw_only=True):
    """One level, from the main memory inwards; the last is private to each core.

    `bytes_per_s` is the whole level's sustained rate, reads and writes together, for a shared
    level, and one core's for a private one; `peak_bytes_per_s` the data sheet's, where that is
    more. `core_bytes_per_s` is what one core can draw. A transfer takes whole bursts.
    A `managed` level is filled by DMA as the program says; any other is a cache. For a CPU core,
    a cache has `ways` lines of `burst_bytes` a set; a line that no prefetcher foresees takes the
    core `line_ns`, beside its arithmetic, `few_line_ns` where all of an operand's lines fall into
    four sets of the cache beside the core, and `set_line_ns` where they fall into one; but
    `latency_ns` over the lines that it looks ahead, where that is more. The line behind one that a
    core waits for takes `next_line_share` of that where others share the level, else nothing.
    """

    name: str
    bytes: Count
    bytes_per_s: Rate
    peak_bytes_per_s: Rate | None = None
    core_bytes_per_s: Rate | None = None
    latency_ns: Cost = 0.0
    burst_bytes: Count = 1
    shared: bool = True
    managed: bool = False
    ways: Count | None = None
    line_ns: Cost = 0.0
    few_line_ns: Cost | None = None
    next_line_share: Annotated[float, Meta(ge=0, le=1)] = 1.0
    set_line_ns: Cost | None = None


class Dma(Struct, frozen=True, kw_only=True):
    """Cost of starting one transfer, on the queue that issues it, and the most tiles of one
    operand that the chip's compiler or library keeps in flight (where they fit). `window_bytes`
    is what such a compiler gives to the tiles of one step; all that fits by default."""

    setup_ns: Cost
    stages: Count = 2
    window_bytes: Count | None = None


class Systolic(Struct, frozen=True, kw_only=True, tag_field="kind", tag="systolic"):
    """Weight-stationary array: `rows` (reduction) x `cols` (output) cells, `count` a core.

    `cycles_per_row[type]`: cycles to push one row of activations; weights for the next pass
    load behind the current one at `weight_cycles_per_row` a row; `pass_cycles` go by while they
    are swapped in. In a fused attention the array waits `gather_cycles` for a register of rows that
    lie apart, and `run_cycles` for each run of rows that fills no register (`head_layout.py`).
    """

    count: Count
    rows: Count
    cols: Count
    cycles_per_row: dict[str, Rate]
    weight_cycles_per_row: Rate = 1.0
    pass_cycles: Cost = 0.0
    gather_cycles: Cost = 0.0
    run_cycles: Cost = 0.0


class Mma(Struct, frozen=True, kw_only=True, tag_field="kind", tag="mma"):
    """Matrix instructions on registers: `m` x `n` x `k` a step, `macs_per_cycle[type]` a core."""

    m: Count
    n: Count
    k: Count
    macs_per_cycle: dict[str, Rate]
    latency_cycles: Cost = 0.0


class Vector(Struct, frozen=True, kw_only=True):
    """SIMD unit of one core: `lanes` results of 32 bits a cycle for an operation of cost 1.

    `cycles_per_op[kind]` is relative to that, `default` for kinds not listed; `packed` types
    narrower than 32 bits run at 32/width times the rate. `element_cycles[type]` says what a type
    costs relative to 32 bits where that rule is wrong. One instruction covers `width` lanes
    along the innermost dim, all of them by default.
    """

    lanes: Count
    width: Count | None = None
    cycles_per_op: dict[str, Rate]
    packed: tuple[str, ...] = ()
    element_cycles: dict[str, Rate] = {}
    latency_cycles: Cost = 0.0


class Core(Struct, frozen=True, kw_only=True):
    """A CPU core that runs loops of vector instructions on tiles that its compiler chose.

    Costs are cycles: `load_cycles` of a load or store of half a vector or less,
    `madd_cycles[type]` of one register of multiply-adds, `half_share` the part of that which half a
    register takes (1/2 where a port is half as wide as a register), `fold_cycles[kind]` of one
    element of a row that is reduced lane by lane, `spill_cycles` of one accumulator that finds no
    register, `scalar_cycles` of one step of a product that was not vectorized, `point_cycles` of
    one point of any other such loop, `ragged_cycles` of one step of a product whose tiles do not
    divide it (`scalar_cycles` by default), `apart_cycles` of one element of masked sums wider than
    a register (by default they are scalar, too), `window[kind]` how many operations a core looks
    ahead,
    `masked_cycles` of one vector of a loop whose length no whole number of vectors fills,
    `swap_cycles` of one element that goes to another lane, `shuffle_cycles` of one in a product
    (the same by default), of which and of its multiply-adds the shorter adds `shuffle_share`,
    `gather_cycles[type]` of one that is fetched on its own, `sort_cycles` of one step of a sort
    beside its comparator, `narrow_cycles[type]` to do one operation on one vector in 32 bits where
    it is stored in fewer. `latency_cycles[kind]` is how soon an operation can use the result of the
    one before it; of a product `kind` may be its type. Of lines of rows less than half a page apart
    prefetchers fetch the share `followed` in time.
    One core starts a launch; the others, asleep until then, join `wake_ns` later.
    """

    registers: Count
    wake_ns: Cost = 0.0
    load_cycles: Rate
    half_share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    madd_cycles: dict[str, Rate]
    latency_cycles: dict[str, Rate]
    fold_cycles: dict[str, Rate]
    window: dict[str, Cost] = {}
    spill_cycles: Rate
    scalar_cycles: Rate
    point_cycles: Rate
    masked_cycles: Rate
    ragged_cycles: Rate | None = None
    apart_cycles: Rate | None = None
    single_share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    swap_cycles: Rate
    shuffle_cycles: Rate | None = None
    shuffle_share: Annotated[float, Meta(ge=0, le=1)] = 0.0
    gather_cycles: dict[str, Rate]
    sort_cycles: Rate
    narrow_cycles: dict[str, Rate] = {}
    followed: Annotated[float, Meta(ge=0, le=1)] = 1.0


class Protocol(Struct, frozen=True, kw_only=True):
    """One way to hand data to a peer. `payload` is the data's share of the bytes on the wire (flags
    take the rest), `latency_ns` and `message_ns` replace the network's, `bytes_per_s` is the
    most data a device moves this way."""

    name: str
    payload: Annotated[float, Meta(gt=0, le=1)] = 1.0
    latency_ns: Cost
    message_ns: Cost = 0.0
    bytes_per_s: Rate | None = None


class Network(Struct, frozen=True, kw_only=True):
    """Links between devices: `links` a device, each `bytes_per_s` one way.

    Links are shared out evenly over the directions of a ring or torus, taken together to a switch,
    and one goes to each peer where all are connected. At most `devices` are joined this way; more
    of them are groups joined by `outer`. A torus is `shape` (as square as possible by default),
    and its axes are closed where they have `wrap_from` devices or more. `in_flight` messages a
    link may be unacknowledged. `algorithms[kind]` are those of the chip's own library for that
    collective (any by default).
    """

    topology: Literal["ring", "ring_one_way", "torus2d", "torus3d", "switch", "full"]
    links: Count
    bytes_per_s: Rate
    latency_ns: Cost
    message_ns: Cost = 0.0
    in_flight: Count | None = None
    devices: Count | None = None
    shape: tuple[Count, ...] = ()
    wrap_from: Count = 1
    algorithms: dict[str, tuple[str, ...]] = {}
    protocols: tuple[Protocol, ...] = ()
    outer: Network | None = None


class HostCall(Struct, frozen=True, kw_only=True):
    """Host time of one call of an operator: `before_ns` until the device starts, `call_ns` in all
    where that is more. What is left of it runs beside the device."""

    before_ns: Cost
    call_ns: Cost = 0.0


class Submit(Struct, frozen=True, kw_only=True):
    """Calls by kind of operator (`operator_kind.py`), as the chip's framework makes them: each
    takes another path through it. A kind that was not measured costs the target's `submit_ns`."""

    contraction: HostCall | None = None
    softmax: HostCall | None = None
    normalisation: HostCall | None = None
    elementwise: HostCall | None = None


class Iree(Struct, frozen=True, kw_only=True):
    """Backends whose tile sizes are meant for this chip."""

    backends: tuple[str, ...] = ()


class Uncertainty(Struct, frozen=True, kw_only=True):
    """How far constants may be off, as a fraction: advice must hold over the whole range.

    The defaults are the spread between a data sheet and what micro-benchmarks report.
    """

    bandwidth: Cost = 0.1
    latency: Cost = 0.3
    launch: Cost = 0.3
    compute: Cost = 0.1


class Published(Struct, frozen=True, kw_only=True):
    """A figure from a data sheet, to be recomputed from the tables above by a test.

    `flops` is the rate that `peaks.flops_per_s` gives for the type, `vector_flops` the vector
    unit's multiply-adds, both a second and two a multiply-add, at `clock_hz` where the chip was
    measured to run faster than the data sheet says.
    """

    quantity: Literal["flops", "vector_flops", "bytes_per_s", "bytes"]
    of: str  # element type or memory name
    value: Rate
    source: str
    tolerance: Cost = 0.01
    clock_hz: Rate | None = None


class Target(Struct, frozen=True, kw_only=True, eq=False):
    """One accelerator device.

    `device` is the one machine that a file was measured on, as recordings call it; empty for a
    file that describes every device of its kind.
    `clock_hz` is the data sheet's; `sustained_clock_hz` what long matrix work was measured to
    reach, where that is less. `program` is what the chip's compiler makes one program of: each
    dispatch, or a whole function, whose dispatches then leave results in the scratchpad for each
    other. `launch_ns` is paid by every program, `workgroup_ns` for each workgroup of a launch,
    which start one after another. `submit_ns` is paid once by the host for each
    batch of launches it hands over, or what `submit` says of that kind of operator. A core has
    up to `workgroups` at work at once.
    `register_bytes` of a core hold the result tile and what passes between the nests of a
    kernel; 0 where they take the innermost memory.
    """

    schema: Literal[1]
    name: str
    summary: str
    device: str = ""
    clock_hz: Rate
    sustained_clock_hz: Rate | None = None
    cores: Count
    execution: Literal["sequential", "waves"]
    program: Literal["dispatch", "function"] = "dispatch"
    workgroups: Count = 1
    launch_ns: Cost
    workgroup_ns: Cost = 0.0
    submit_ns: Cost = 0.0
    submit: Submit = Submit()
    register_bytes: Annotated[int, Meta(ge=0)] = 0
    tiler: str
    memory: Annotated[tuple[Memory, ...], Meta(min_length=2)]
    dma: Dma
    matrix: Systolic | Mma | None = None
    vector: Vector
    core: Core | None = None
    network: Network | None = None
    iree: Iree = Iree()
    uncertainty: Uncertainty = Uncertainty()
    published: tuple[Published, ...] = ()

    def ps(self, cycles: float) -> int:
        """Core cycles in whole picoseconds, rounded up: a cost is never rounded away."""
        return -int(-cycles * PS_PER_S // (self.sustained_clock_hz or self.clock_hz))


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
    for problem in problems(target):
        raise TargetError(f"target file {path}: {problem}")
    return target


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"unknown target {name!r}{hint} (known: {', '.join(names())}; or a path ending in .toml)"

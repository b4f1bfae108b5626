"""What there is to compute: kernels, and the host program that launches them.

Everything here is plain, frozen data. Sizes may be symbolic (`symbolic.Expr`): a kernel's sizes
are over its launch constants `constant0`, `constant1`, ...; a launch gives each of those as a
size over the function's symbols (`input0.0` is dimension 0 of the first argument).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from xpu_shark.simulator.symbolic import Expr

State = Literal["modelled", "partial", "unmodelled"]
Trips = tuple[tuple[int, int, int], ...]


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all workload data."""


class Place(Struct, frozen=True, kw_only=True):
    """Where a tensor starts: byte `offset` of what the launch binds as number `binding`; None
    where it is only a part of an array there, of `array` elements from byte `start` on (0 where
    that is not known)."""

    binding: int
    offset: int | Expr | None = 0
    start: int | Expr = 0
    array: int | Expr = 0


class Tensor(Struct, frozen=True, kw_only=True):
    """One array that a kernel touches.

    `global` tensors live in device memory; `shape` is then the part that the kernel reads or
    writes, and `contiguous` how many elements of it lie next to each other at least (0: all).
    `local` tensors pass between the nests of one kernel. `constant` ones cost no traffic.
    """

    shape: tuple[int | Expr, ...]
    element: str
    storage: Literal["global", "local"]
    contiguous: int | Expr = 0
    place: Place | None = None


class Index(Struct, frozen=True, kw_only=True):
    """Position along one tensor dimension: sum of coefficient x loop dim, plus `offset`.

    An `indirect` one is known at run time only: it varies with the loop dims in `terms`.
    """

    terms: tuple[tuple[int, int], ...] = ()  # (loop dim, coefficient)
    indirect: bool = False
    offset: int = 0


class Access(Struct, frozen=True, kw_only=True, cache_hash=True):
    """One operand of a nest: `tensor` is an index into `Kernel.tensors`, one `Index` a dimension.

    With an indirect index the elements touched are one run per point of the loop dims in
    `terms` of that index: what a gather or scatter does.
    """

    tensor: int
    map: tuple[Index, ...]


class Dim(Struct, frozen=True, kw_only=True):
    """One loop of a nest."""

    extent: int | Expr
    kind: Literal["parallel", "reduction"]


class Work(Struct, frozen=True, kw_only=True):
    """`count` operations of one kind a point: madd, add, mul, max, compare, exp, convert, ...

    With `loops`, the operands vary with that many leading loop dims only: compilers move such
    work out of the loops inside, so it is done once a point of those dims. `by` is the divisor or
    the exponent where that is a constant, and `by_loops` how many leading loop dims it varies with
    at most (None: unknown, all).
    """

    kind: str
    element: str
    count: int = 1
    loops: int | None = None
    by: float | None = None
    by_loops: int | None = None

    def inside(self, count: int) -> Work:
        """The work of the nest in `count` more loops around it."""
        loops, by = (None if n is None else n + count for n in (self.loops, self.by_loops))
        return msgspec.structs.replace(self, loops=loops, by_loops=by)


class Contraction(Struct, frozen=True, kw_only=True):
    """Which loop dims a matrix unit sees as what; `lhs` and `rhs` index `Nest.reads`.

    Convolutions are contractions too: filter taps and input channels are `k`, output
    positions `m`, output channels `n`, groups `batch`.
    """

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    lhs: int
    rhs: int
    lhs_element: str
    rhs_element: str
    accumulator: str


class TileLevel(Struct, frozen=True, kw_only=True):
    """Tile sizes as the IR spells them for one level, one a loop dim; 0 leaves a dim whole."""

    name: str
    sizes: tuple[int, ...]


class Nest(Struct, frozen=True, kw_only=True):
    """One loop nest. `points` is the true number of body executions where it is not the product
    of the extents (triangular or ragged bounds); `trips` repeats the whole nest. A `whole` nest
    (a sort) works on all of a reduction dim together, not piece by piece. One that is `joint` has
    the loops of the nest before it: the next result of an op that makes several."""

    name: str
    dims: tuple[Dim, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    work: tuple[Work, ...]
    contraction: Contraction | None = None
    points: int | Expr | None = None
    trips: int | Expr = 1
    tiles: tuple[TileLevel, ...] = ()
    config: str = ""  # the tiles and what goes with them as the IR spells it
    # Which of the op's loops the dims are, -1 for one around the op; empty where all in order.
    loops: tuple[int, ...] = ()
    pinned: bool = False
    whole: bool = False
    joint: bool = False
    location: str = ""


class Kernel(Struct, frozen=True, kw_only=True):
    """One dispatch's executable: nests in order, with the tensors they touch.

    `online`: the nests share their reduction loop, chunk by chunk (attention). A kernel that is
    not `modelled` says why in `reason`; `unmodelled` ones are bounded by their tensors' bytes.
    """

    name: str
    tensors: tuple[Tensor, ...]
    nests: tuple[Nest, ...]
    online: bool = False
    state: State = "modelled"
    reason: str = ""
    backend: str = ""  # the IREE backend that the tile sizes were chosen for
    location: str = ""


class Span(Struct, frozen=True, kw_only=True):
    """Bytes that a command touches: `bytes` of them from `offset` on, in a buffer of the host
    program. Buffers are numbered in each function; nobody outside sees a `transient` one, the host
    itself reads or writes one that is for the `host`, and a `carried` one is what a turn of a loop
    has from the one before."""

    buffer: int
    offset: int | Expr
    bytes: int | Expr
    access: Literal["read", "write", "both"]
    transient: bool = False
    host: bool = False
    carried: bool = False


class Launch(Struct, frozen=True, kw_only=True, tag="launch"):
    """One dispatch site; `constants[i]` is the value of the kernel's symbol `constant{i}`, and
    `spans[i]` what it binds as number i.

    `trips` are counts of a recorded run: (n, turns, entries) says that the loop whose trip count
    is the kernel's n-th such symbol was entered `entries` times and turned `turns` times in all.
    """

    kernel: str
    constants: tuple[int | Expr, ...] = ()
    spans: tuple[Span, ...] = ()
    trips: Trips = ()
    location: str = ""
    device: str = ""


def trip_name(kernel: str, number: int) -> str:
    """The symbol of a kernel's `number`-th trip count (from 1) that only a run can tell."""
    return f"{kernel}.trip{number if number > 1 else ''}"


def trip_counts(kernel: str, trips: Trips) -> dict[str, Fraction]:
    """Turns an entry of each loop that a launch's `trips` count, by symbol.

    Their product with the trip counts of the loops around is how often the body ran: exactly,
    which a rounded mean would not be.
    """
    return {
        trip_name(kernel, number): Fraction(turns, max(entries, 1))
        for number, turns, entries in trips
    }


class Move(Struct, frozen=True, kw_only=True, tag="move"):
    """Bytes that the host program fills, copies on one device, or transfers between devices."""

    kind: Literal["fill", "copy", "transfer"]
    bytes: int | Expr
    spans: tuple[Span, ...] = ()
    location: str = ""
    device: str = ""
    source: str = ""  # the other device of a transfer


class Collective(Struct, frozen=True, kw_only=True, tag="collective"):
    """One collective over `group` devices (0: all); `bytes` is the larger of what one device
    sends and receives. `groups` are the devices of every group that does it at the same time, by
    rank, where the program says; `pairs` is who sends to whom of a send_recv, by rank in the
    group; `problem` why it can never complete."""

    kind: str  # all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, broadcast, ...
    reduction: str
    element: str
    bytes: int | Expr
    group: int = 0
    groups: tuple[tuple[int, ...], ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    problem: str = ""
    spans: tuple[Span, ...] = ()
    location: str = ""
    device: str = ""


class Concurrent(Struct, frozen=True, kw_only=True, tag="concurrent"):
    """Commands that nothing orders among each other."""

    body: tuple[Command, ...]


class Repeat(Struct, frozen=True, kw_only=True, tag="repeat"):
    """A loop of the host program; `name` is the symbol to bind where `trips` is unknown."""

    trips: int | Expr
    body: tuple[Command, ...]
    name: str = ""


class Choice(Struct, frozen=True, kw_only=True, tag="choice"):
    """A branch of the host program; `name` is the symbol that tells which arm was taken."""

    arms: tuple[tuple[Command, ...], ...]
    name: str = ""

    def taken(self, env: Mapping[str, int]) -> int:
        """The arm that `env` names; else the one with most commands, the first of them."""
        arm = env.get(self.name, len(self.arms))
        if arm < len(self.arms):
            return arm
        return max(range(len(self.arms)), key=lambda n: (len(self.arms[n]), -n))


Command = Launch | Move | Collective | Concurrent | Repeat | Choice


def launches(body: Iterable[Command]) -> Iterator[Launch]:
    """Launch sites in `body`, in program order, those of every arm of a branch included."""
    for command in body:
        if isinstance(command, Launch):
            yield command
        elif isinstance(command, Concurrent | Repeat):
            yield from launches(command.body)
        elif isinstance(command, Choice):
            for arm in command.arms:
                yield from launches(arm)


class Function(Struct, frozen=True, kw_only=True):
    """One public function, calls inlined, or a module initializer."""

    name: str
    body: tuple[Command, ...]
    location: str = ""


class Workload(Struct, frozen=True, kw_only=True):
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]

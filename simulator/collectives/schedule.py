"""What a collective does, as data: who sends which blocks to whom, in which order.

A schedule has lanes that run side by side, each on its own equal share of the payload. A lane's
share is a grid of blocks. Either every device does the same relative to its own place (`Alike`),
or single transfers are listed (`Listed`). Both give the same thing to whoever executes them:
rounds of transfers.

Chunks cut every message into equal pieces that follow each other: a piece is passed on as soon as
it is there. They change when things happen, never what is sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:  # an import takes as long as many a choice
    import numpy as np
    import numpy.typing as npt

Rank = TypeVar("Rank", int, "npt.NDArray[np.int64]")


class Struct(msgspec.Struct, frozen=True):
    """Base of all schedule data."""


class Transfer(Struct, frozen=True):
    """`blocks` of the lane's grid, by number, from one device to another. With `reduce` the
    target adds them to its own, else it keeps them."""

    source: int
    target: int
    blocks: tuple[int, ...]
    reduce: bool = False


class Place(Struct, frozen=True):
    """A block coordinate in iteration t of a phase, for a device at x on `axis`:
    x + shift + turn * t, around the extent."""

    axis: int
    shift: int = 0
    turn: int = 0


class Phase(Struct, frozen=True):
    """`count` iterations in which every device sends to the one `step + turn * t` further along
    `axis`. `places` says which blocks: None is every coordinate of that block axis.

    `chained`: what is sent needs what the iteration before received. Otherwise all iterations send
    what was there when the phase began.
    """

    count: int
    axis: int
    step: int
    turn: int
    places: tuple[Place | None, ...]
    reduce: bool
    chained: bool


class Alike(Struct, frozen=True):
    """All devices do the same. Devices form a grid of `dims`, first axis fastest, and so do blocks
    (`blocks`)."""

    dims: tuple[int, ...]
    blocks: tuple[int, ...]
    phases: tuple[Phase, ...]


class Listed(Struct, frozen=True):
    """Transfers in rounds; the lane's grid is `blocks` in a row. A transfer waits for what
    earlier rounds sent to its source of the blocks that it sends."""

    blocks: int
    rounds: tuple[tuple[Transfer, ...], ...]


Lane = Alike | Listed


class Schedule(Struct, frozen=True):
    """`devices` take part. `order[i]` is the device that acts as number i; () is device i itself.

    `disjoint`: with that order every message takes a link or two that no other device's does.
    A lane's grid spans the payloads of `copies` devices: of all where each block has one owner.
    """

    devices: int
    lanes: tuple[Lane, ...]
    order: tuple[int, ...] = ()
    disjoint: bool = False
    copies: int = 1


def block_count(lane: Lane) -> int:
    return lane.blocks if isinstance(lane, Listed) else prod(lane.blocks)


def message_blocks(lane: Alike, phase: Phase) -> int:
    """Blocks in each of a phase's messages."""
    return prod(n for n, place in zip(lane.blocks, phase.places, strict=True) if place is None)


def rounds(lane: Lane) -> Iterator[tuple[bool, list[Transfer]]]:
    """(whether it may use what the round before it brought, its transfers), round by round."""
    if isinstance(lane, Listed):
        yield from ((True, list(transfers)) for transfers in lane.rounds)
        return
    for phase in lane.phases:
        for turn in range(phase.count):
            yield phase.chained or turn == 0, list(_transfers(lane, phase, turn))


def peer(lane: Alike, phase: Phase, turn: int, rank: Rank) -> Rank:
    """Whom `rank` sends to in an iteration; an array of ranks gives an array."""
    stride, extent = prod(lane.dims[: phase.axis]), lane.dims[phase.axis]
    at = rank // stride % extent
    return rank + ((at + phase.step + phase.turn * turn) % extent - at) * stride


def source(lane: Alike, phase: Phase, turn: int, rank: int) -> int:
    """Whom `rank` receives from in an iteration."""
    stride, extent = prod(lane.dims[: phase.axis]), lane.dims[phase.axis]
    at = rank // stride % extent
    return rank + ((at - phase.step - phase.turn * turn) % extent - at) * stride


def _transfers(lane: Alike, phase: Phase, turn: int) -> Iterator[Transfer]:
    for rank in range(prod(lane.dims)):
        blocks = tuple(_blocks(lane, phase, turn, rank))
        yield Transfer(rank, peer(lane, phase, turn, rank), blocks, phase.reduce)


def _blocks(lane: Alike, phase: Phase, turn: int, rank: int) -> Iterator[int]:
    """Numbers of the blocks, first axis fastest."""
    choices: list[list[int]] = []
    stride = 1
    for extent, place in zip(lane.blocks, phase.places, strict=True):
        if place is None:
            choices.append([stride * n for n in range(extent)])
        else:
            at = rank // prod(lane.dims[: place.axis]) % lane.dims[place.axis]
            choices.append([stride * ((at + place.shift + place.turn * turn) % extent)])
        stride *= extent
    for parts in itertools.product(*reversed(choices)):
        yield sum(parts)

"""Executes schedules on numbers, and says what each collective has to give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xpu_shark.simulator.collectives.schedule import Lane, Schedule, block_count, rounds

Bytes = npt.NDArray[np.uint8]
Held = dict[int, Bytes]  # block number -> its data on one device


def inputs(schedule: Schedule, kind: str, size: int, seed: int = 1) -> list[Bytes]:
    """Every device's payload: `size` bytes each. Sums wrap around at 256."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, size, dtype=np.uint8) for _ in range(schedule.devices)]


def expected(kind: str, data: list[Bytes]) -> list[Bytes]:
    """What the collective gives on every device. A gather's payload is the result: its parts are
    the devices' own; a rooted one leaves the other devices with what `execute` ignores."""
    p, n = len(data), len(data[0])
    total = np.sum(data, axis=0, dtype=np.uint8)
    if kind in ("all_reduce", "reduce"):
        return [total] * p
    if kind == "reduce_scatter":
        return [total[part(n, p, d)] for d in range(p)]
    if kind == "all_gather":
        return [np.concatenate([data[d][part(n, p, d)] for d in range(p)])] * p
    if kind == "all_to_all":
        return [np.concatenate([data[s][part(n, p, d)] for s in range(p)]) for d in range(p)]
    if kind in ("broadcast", "send", "recv"):
        return [data[0]] * p
    raise ValueError(kind)


def part(size: int, parts: int, number: int) -> slice:
    """The number-th of `parts` nearly equal parts, all of them together everything once."""
    return slice(size * number // parts, size * (number + 1) // parts)


def execute(schedule: Schedule, kind: str, data: list[Bytes], chunks: int = 1) -> list[Bytes]:
    """What every device ends up with."""
    p = schedule.devices
    order = schedule.order or tuple(range(p))
    results: list[list[Bytes]] = [[] for _ in range(p)]
    whole = len(data[0])
    for number, lane in enumerate(schedule.lanes):
        for chunk in range(chunks):
            piece = (number * chunks + chunk, len(schedule.lanes) * chunks)
            for rank, result in enumerate(_lane(lane, kind, data, order, piece)):
                results[order[rank]].append(result)
    joined = [_join(kind, pieces, p) for pieces in results]
    assert all(len(result) <= whole + p for result in joined)
    return joined


def _lane(
    lane: Lane, kind: str, data: list[Bytes], order: tuple[int, ...], piece: tuple[int, int]
) -> list[list[Bytes]]:
    """The parts that every rank has in the end, of one piece of every block."""
    p, count = len(data), block_count(lane)
    held = [_start(kind, data, order, rank, count, piece) for rank in range(p)]
    snapshot = held
    for fresh, transfers in rounds(lane):
        if fresh:
            snapshot = [dict(blocks) for blocks in held]
        for transfer in transfers:
            assert transfer.source != transfer.target
            for block in transfer.blocks:
                value = snapshot[transfer.source][block]
                own = held[transfer.target]
                own[block] = own[block] + value if transfer.reduce else value
    return [_finish(kind, held[rank], order, rank, p, count) for rank in range(p)]


def _start(
    kind: str,
    data: list[Bytes],
    order: tuple[int, ...],
    rank: int,
    count: int,
    piece: tuple[int, int],
) -> Held:
    """Blocks that a device has at first. Block b of a scatter or gather is device order[b]'s."""
    p, own = len(data), data[order[rank]]

    def cut(block: Bytes) -> Bytes:
        return block[part(len(block), piece[1], piece[0])]

    if kind == "all_gather":
        return {rank: cut(own[part(len(own), p, order[rank])])}
    if kind == "all_to_all":
        return {rank + p * to: cut(own[part(len(own), p, order[to])]) for to in range(p)}
    if kind in ("broadcast", "send", "recv") and rank:
        return {}
    if kind == "reduce_scatter":
        return {b: cut(own[part(len(own), p, order[b])]) for b in range(count)}
    return {b: cut(own[part(len(own), count, b)]) for b in range(count)}


def _finish(
    kind: str, held: Held, order: tuple[int, ...], rank: int, p: int, count: int
) -> list[Bytes]:
    """The result's parts, in the order of devices."""
    place = {device: number for number, device in enumerate(order)}
    if kind == "reduce_scatter":
        return [held[rank]]
    if kind == "all_gather":
        return [held[place[d]] for d in range(p)]
    if kind == "all_to_all":
        return [held[place[s] + p * rank] for s in range(p)]
    if kind == "reduce" and rank:
        return []
    return [held[b] for b in range(count) if b in held]


def _join(kind: str, pieces: list[list[Bytes]], p: int) -> Bytes:
    """Pieces of every part, lane by lane and chunk by chunk, back to one array."""
    parts = zip(*pieces, strict=True)
    return np.concatenate([np.concatenate(part) for part in parts] or [np.zeros(0, np.uint8)])

"""Who runs how many workgroups of a launch, as IREE's task system hands them out on a CPU.

A worker reserves workgroups in blocks: `RESERVED` at a time where there are as many for each
worker, else one (IREE_TASK_DISPATCH_MAX_TILES_PER_SHARD_RESERVATION in runtime/src/iree/task).
Workers that are done take the next block, so the last blocks may leave some of them without work.
"""

from __future__ import annotations

RESERVED = 8


def turns(count: int, cores: int, each: int, wake: int) -> list[tuple[int, int]]:
    """(turns, cores at work in each of them) of `count` workgroups that take `each`, in order; all
    but the first core join after `wake`, in the same unit."""
    size = RESERVED if count >= RESERVED * cores else 1
    if cores == 1:
        wake = 0
    blocks = -(-count // size)
    ahead = min(blocks, -(-wake // (size * each)))  # that the first core takes before others wake
    rounds, rest = divmod(blocks - ahead, cores)
    first = size * (ahead + rounds)
    others = [size * (rounds + (number < rest)) for number in range(cores - 1)]
    short = blocks * size - count  # of the last block
    if rest:
        others[rest - 1] -= short
    else:
        first -= short
    alone = min(first, wake // each)
    return [(alone, 1)] * (alone > 0) + _together([first - alone, *others])


def _together(left: list[int]) -> list[tuple[int, int]]:
    """Turns of cores that begin at once, each with so many workgroups `left`."""
    found, done = [], 0
    for until in sorted(set(left) - {0}):
        found.append((until - done, sum(each >= until for each in left)))
        done = until
    return found

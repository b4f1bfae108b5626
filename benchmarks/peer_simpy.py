"""The pipeline of bench_peers.py as simpy processes; started with the Python that has simpy.

    python peer_simpy.py TILES

Load, compute and store, two buffers on either side, one memory that load and store share. Prints
one line of JSON: CPU seconds without imports, the simulated time, instructions executed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import simpy  # type: ignore[import-not-found]

LOAD, COMPUTE, STORE, BUFFERS = 7, 10, 5, 2


def main(tiles: int) -> None:
    start = time.process_time()
    env = simpy.Environment()
    memory = simpy.Resource(env)
    free_in, full_in, free_out, full_out = (
        simpy.Container(env, init=initial) for initial in (BUFFERS, 0, BUFFERS, 0)
    )
    unit = simpy.Resource(env)
    env.process(stage(env, tiles, memory, LOAD, [free_in], [full_in]))
    env.process(stage(env, tiles, unit, COMPUTE, [full_in, free_out], [free_in, full_out]))
    env.process(stage(env, tiles, memory, STORE, [full_out], [free_out]))
    env.run()
    seconds = time.process_time() - start
    print(json.dumps({"cpu_s": seconds, "time": env.now, "instructions": 3 * tiles}))


def stage(
    env: simpy.Environment,
    tiles: int,
    resource: simpy.Resource,
    service: int,
    waits: list[simpy.Container],
    posts: list[simpy.Container],
) -> Iterator[simpy.Event]:
    """One stream: for each tile wait for credits, hold the resource, post credits."""
    for _ in range(tiles):
        for channel in waits:
            yield channel.get(1)
        with resource.request() as turn:
            yield turn
            yield env.timeout(service)
        for channel in posts:
            yield channel.put(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""What limits a run: the resource that is busiest, or the waiting that keeps all of them idle."""

from __future__ import annotations

import msgspec

from xpu_shark.simulator.target import Target
from xpu_shark.simulator.timeline import StreamTimes, Timeline

COMPUTE = ("matrix", "vector")
LATENCY = "latency"


class Attribution(msgspec.Struct, frozen=True):
    """`limit`: the resource with most busy time, "launch", or "latency" where chains of waits
    leave every resource idle for longer. `busy_share` is that resource's busy time over the run's.

    `stream` is the unit that does most of the work: `busy_ps` plus all `stalls_ps` is the run's
    time; `waited_for` names what it waited for longest, `waited_share` of the time.
    """

    limit: str
    busy_share: float
    stream: str
    busy_ps: int
    stalls_ps: dict[str, int]
    waited_for: str
    waited_share: float


def attribute(timeline: Timeline, target: Target) -> Attribution:
    """Attribution of a finished run."""
    time = max(timeline.time_ps, 1)
    names = {level.name for level in target.memory} | {*COMPUTE, "launch"}
    busy = {use.name: use.busy_ps for use in timeline.resources if use.name in names}
    limit = max(busy, key=lambda name: (busy[name], name))
    share = busy[limit] / time
    if share < 0.5 and busy[limit] < timeline.time_ps - sum(busy.values()):
        limit, share = LATENCY, (timeline.time_ps - sum(busy.values())) / time
    stream = _worker(timeline)
    stalls = dict(stream.stalls_ps)
    if stream.idle_ps:
        stalls["drain"] = stalls.get("drain", 0) + stream.idle_ps
    cause = max(stalls, key=lambda name: (stalls[name], name), default="")
    waited = stalls.get(cause, 0) / time
    return Attribution(limit, share, stream.name, stream.busy_ps, stalls, cause, waited)


def _worker(timeline: Timeline) -> StreamTimes:
    """The compute stream with most work, or the busiest of all where nothing is computed."""
    streams = [stream for stream in timeline.streams if stream.name != "launch"]
    compute = [stream for stream in streams if stream.name in COMPUTE]
    return max(compute or streams, key=lambda stream: (stream.busy_ps, stream.name))

"""From a schedule to a program for the engine: of all devices, or of one that stands for all.

A message is four instructions or more, each in a stream of its own: `issue` waits for what the
message needs; `read` takes main memory for the bytes sent while `send` holds the first link for as
long as they take; each further link is held from when the first byte gets there (cut-through);
`store` takes the receiver's memory for the write and, where it reduces, for two reads and one more
write. The message has come when every link and the read are done.

Where all devices do the same and the fabric looks the same to each (`foldable`), what a device
receives leaves its peer when its own message leaves. So one device that sends to itself, over ports
in place of links, takes the time of all.
"""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.simulator.collectives.lower_alike import AlikeLane
from xpu_shark.simulator.collectives.lower_listed import ListedLane
from xpu_shark.simulator.collectives.pieces import Job, Names
from xpu_shark.simulator.collectives.schedule import Alike, Schedule
from xpu_shark.simulator.emit import Bodies, Emitter
from xpu_shark.simulator.network import Fabric
from xpu_shark.simulator.program import Instruction, Program


def lower(schedule: Schedule, fabric: Fabric, job: Job, *, folded: bool) -> Program:
    """The program; `folded` needs a schedule that is `foldable` on the fabric."""
    return _lower([schedule], fabric, job, Names(Emitter(), folded=folded))


def lower_all(schedules: Sequence[Schedule], fabric: Fabric, job: Job) -> Program:
    """The program of several groups of devices, one schedule each, at the same time."""
    return _lower(schedules, fabric, job, Names(Emitter(), folded=False))


def one_for_all(schedule: Schedule, fabric: Fabric, job: Job) -> tuple[Program, Names]:
    """The folded program, and which of its streams and channels lead to other devices."""
    names = Names(Emitter(), folded=True)
    return _lower([schedule], fabric, job, names), names


def _lower(schedules: Sequence[Schedule], fabric: Fabric, job: Job, names: Names) -> Program:
    bodies: Bodies = {}
    lanes = [(schedule, lane) for schedule in schedules for lane in schedule.lanes]
    for number, (schedule, lane) in enumerate(lanes):
        if isinstance(lane, Alike):
            for rank in range(1 if names.folded else schedule.devices):
                AlikeLane(schedule, fabric, job, names, lane, number, rank, bodies).emit()
        else:
            ListedLane(schedule, fabric, job, names, lane, number, bodies).emit()
    _launch(names, bodies, job)
    return names.emitter.program(bodies)


def foldable(schedule: Schedule, fabric: Fabric) -> bool:
    """Whether schedule and fabric together look the same from every device."""
    if fabric.straggles:
        return False
    dims = [lane.dims for lane in schedule.lanes if isinstance(lane, Alike)]
    if len(dims) < len(schedule.lanes):
        return False
    return schedule.disjoint or (fabric.uniform and all(_refines(fabric, d) for d in dims))


def _refines(fabric: Fabric, dims: tuple[int, ...]) -> bool:
    """Moving along any axis of `dims` leaves the fabric as it is: each level is one axis, or, where
    all of its devices are alike in any order, several."""
    left = list(dims)
    for level in fabric.levels:
        size = left.pop(0) if left else 1
        while size < level.extent and left and level.kind in ("switch", "full"):
            size *= left.pop(0)
        if size != level.extent:
            return False
    return not left


def _launch(names: Names, bodies: Bodies, job: Job) -> None:
    """A launch on each device, before whatever waits for it."""
    for device, channels in names.launched.items():
        stream = names.at("launch", device)
        resource = names.emitter.resource(names.at("launch", device))
        posts = tuple((channel, 1) for channel in channels)
        bodies[stream] = [Instruction(resource, job.launch_ps, 0, (), posts)]

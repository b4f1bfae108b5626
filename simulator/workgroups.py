"""Starting workgroups: one place of the device hands them to the cores, one after another."""

from __future__ import annotations

from xpu_shark.simulator.emit import Bodies, Emitter
from xpu_shark.simulator.gang import Wave
from xpu_shark.simulator.program import Instruction
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.units.launch import workgroups_ps

AHEAD = 2  # waves that have started and not loaded yet: a core holds the next one ready


def start_each(emitter: Emitter, bodies: Bodies, wave: Wave, target: Target) -> None:
    """Let every stream of a wave's body wait until the wave has started, on the launch stream.

    Nothing is added where a target says nothing about it.
    """
    service = workgroups_ps(target, sum(variant.cores for variant in wave.variants))
    names = [name for name, items in bodies.items() if items]
    if not service or not names:
        return
    posts = []
    for name in names:
        started = emitter.channel(("workgroup", name), "launch")
        posts.append((started, 1))
        first: Bodies = {}
        emitter.wait(first, name, started)
        bodies[name][:0] = first[name]
    room = emitter.channel(("workgroup", "free"), "buffer", AHEAD)
    emitter.post(bodies, names[0], room)
    start = Instruction(emitter.resource("launch"), service, waits=((room, 1),), posts=tuple(posts))
    bodies["launch"] = [start]

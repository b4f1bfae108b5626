"""Ring algorithms: every device sends a part to its neighbour, step by step.

On a ring all devices do the same, so one stands for all: the part that a device receives in a
step leaves its neighbour when its own leaves. With p devices and n bytes, link bandwidth B and
latency a, an all-reduce takes 2 (p - 1) (a + n / (p B)) when nothing else limits.
"""

from __future__ import annotations

from collections.abc import Callable

from xpu_shark.simulator.emit import Bodies, Emitter, loop
from xpu_shark.simulator.program import Instruction, Program
from xpu_shark.simulator.target import PS_PER_S, Network, Target
from xpu_shark.simulator.units.dma import PS_PER_NS, occupancy_ps
from xpu_shark.simulator.units.launch import launch_ps

# Steps of a ring of p devices, and the part of the payload that each step sends.
STEPS: dict[str, Callable[[int], tuple[int, int]]] = {
    "all_reduce": lambda p: (2 * (p - 1), p),
    "all_gather": lambda p: (p - 1, p),
    "reduce_scatter": lambda p: (p - 1, p),
    "broadcast": lambda p: (p - 1, p),
    "reduce": lambda p: (p - 1, p),
    "all_to_all": lambda p: (p - 1, p),
    "send_recv": lambda p: (1, 1),
    "send": lambda p: (1, 1),
    "recv": lambda p: (1, 1),
}
REDUCING = ("all_reduce", "reduce_scatter", "reduce")


def program(target: Target, kind: str, bytes: int, group: int) -> Program:
    """One device's program: `bytes` is the whole payload, as `workload.Collective` has it.

    Every step is a send over the link, a write of what arrives and, where the collective
    reduces, a read, an add and a write of the part. Raises `KeyError` for an unknown kind.
    """
    steps, parts = STEPS[kind](group)
    network = _network(target)
    part = -(-bytes // parts)
    emitter = Emitter()
    bodies: Bodies = {}
    started = emitter.channel("launch", "launch")
    launch = Instruction(emitter.resource("launch"), launch_ps(target), posts=((started, 1),))
    bodies["launch"] = [launch]
    emitter.wait(bodies, "link", started)
    arrived = emitter.channel("arrived", "link", initial=0)
    stored = emitter.channel("stored", target.memory[0].name, initial=1)
    step: Bodies = {}
    wire = -(-part * PS_PER_S // int(network.bytes_per_s)) + _ps(network.message_ns)
    link = emitter.resource("link")
    step["link"] = [
        Instruction(link, wire, _ps(network.latency_ns), ((stored, 1),), ((arrived, 1),), part)
    ]
    moved = part * (3 if kind in REDUCING else 1)
    memory = target.memory[0]
    store = Instruction(
        emitter.resource(memory.name),
        occupancy_ps(memory, moved),
        0,
        ((arrived, 1),),
        ((stored, 1),),
        moved,
    )
    step["store"] = [store]
    for stream, items in loop(step, steps, emitter.tag("steps")).items():
        bodies.setdefault(stream, []).extend(items)
    return emitter.program(bodies)


def bound_ps(target: Target, kind: str, bytes: int, group: int) -> int:
    """What the link alone needs: every byte that has to leave a device, at its rate."""
    steps, parts = STEPS[kind](group)
    return -(-bytes * steps * PS_PER_S // (parts * int(_network(target).bytes_per_s)))


def _network(target: Target) -> Network:
    if target.network is None:
        raise ValueError(f"target {target.name} describes no network")
    return target.network


def _ps(nanoseconds: float) -> int:
    return -int(-nanoseconds * PS_PER_NS // 1)

"""How much of a function's communication is exposed, and what each command of it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from xpu_shark.simulator.blocks import Block
from xpu_shark.simulator.dependences import following, reachable
from xpu_shark.simulator.function_timeline import run


class Struct(msgspec.Struct, frozen=True):
    """Base of the data here."""


class Exposure(Struct, frozen=True, kw_only=True):
    """Of all commands with one record, loops counted, in picoseconds: what they add to the time
    of the launches in the order of the program (`exposed_ps`), what of their time passes behind
    those (`hidden_ps`), and what they would add if each began as soon as what it needs is there
    (`async_exposed_ps`). The others are names: what one waits for directly, what waits for it
    directly, and what neither comes before it nor after it by any chain of waits."""

    exposed_ps: int = 0
    hidden_ps: int = 0
    async_exposed_ps: int = 0
    waits_for: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def exposures(blocks: Iterable[Block]) -> dict[int, Exposure]:
    """By the identity (`id`) of the record."""
    found: dict[int, Exposure] = {}
    for block in blocks:
        now = run(block.in_order()).exposed_ps
        then = run(block.as_needed()).exposed_ps
        places = _places(block)
        for number, step in enumerate(block.steps):
            if not step.network:
                continue
            old = found.get(id(step.record), Exposure())
            waits, needed, beside = places[number]
            found[id(step.record)] = Exposure(
                exposed_ps=old.exposed_ps + block.times * now[number],
                hidden_ps=old.hidden_ps + block.times * (step.time_ps - now[number]),
                async_exposed_ps=old.async_exposed_ps + block.times * then[number],
                waits_for=_joined(old.waits_for, waits),
                needed_by=_joined(old.needed_by, needed),
                beside=_joined(old.beside, beside),
            )
    return found


def _places(block: Block) -> dict[int, tuple[list[str], list[str], list[str]]]:
    """For each step on the network: what it waits for, what waits for it, what could run beside."""
    steps = block.steps
    needs = [step.needs for step in steps]
    before, after = reachable(needs), following(needs)
    users: list[list[str]] = [[] for _ in steps]
    named: dict[str, int] = {}  # steps with one label, as bits by number
    for number, step in enumerate(steps):
        named[step.label] = named.get(step.label, 0) | 1 << number
        for need in step.needs:
            users[need].append(step.label)
    found = {}
    for number, step in enumerate(steps):
        if step.network:
            tied = before[number] | after[number] | 1 << number
            beside = [label for label, bits in named.items() if bits & ~tied]
            found[number] = ([steps[other].label for other in step.needs], users[number], beside)
    return found


def _joined(old: tuple[str, ...], new: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*old, *new)))

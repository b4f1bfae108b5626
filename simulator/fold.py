"""Exact folding: skip whole periods of a loop whose state repeats.

The future of a run depends only on its state: each stream's position and clock, the credits in
each channel and each resource's release time. When a loop of an anchor stream starts an
iteration in a state that equals the state p iterations earlier, except that every time is D
later and every counter of that loop p higher, then the next p iterations do the same again, D
later, as long as no stream leaves the loop. So n such periods are skipped in one step: counters
advance by n p, times by n D, and every total by n times what one period added.

Five parts of the state are compared by what they can still cause, not by their raw values:

- A credit that became visible before its consumer's clock delays nothing: it counts as visible
  at that clock. (Ready = max(clock, credits), and the stall is measured from the clock.)
- A resource released before now delays nothing: every later request is ready no earlier than
  now, since services happen in order of ready time.
- A resource that one stream has to itself is free whenever that stream is: it delays nothing.
- A result that became visible before now is not the last one of the run: it counts as visible
  now.
- A stream outside the loop takes part in a period only by standing still: it must be blocked or
  finished, at the same position, clock and credits in both states. A stream that is outside
  and may still move makes the state not comparable.

Nothing is approximated, and where no period shows, the loop simply runs. The search keeps one
saved state a loop and moves it at powers of two (Brent's method), so memory does not grow
and a period of any length is found; the states of a loop's first few iterations are all kept,
since that is where most periods show.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xpu_shark.simulator.code import End, Op, StreamState
from xpu_shark.simulator.engine import Machine

Key = tuple[int, ...]
LEAST_TRIPS = 4  # a shorter loop has nothing to skip that is worth the looking
WINDOW = 8  # states kept from the first iterations of a loop, where the period mostly shows


@dataclass(slots=True)
class Saved:
    """One remembered moment of a loop."""

    iteration: int
    now: int
    executed: list[int]
    stalls: list[dict[str, int]]


@dataclass(slots=True)
class Watch:
    """The states of one loop since it was entered. `limit`: states later than the window are
    replaced when their number doubles (Brent)."""

    iteration: int = -1
    age: int = 0
    limit: int = WINDOW
    saved: dict[Key, Saved] = field(default_factory=dict)


class Folder:
    """Watches the loops of one machine, each in the first stream by name that has it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.watches: dict[int, Watch] = {}
        self.queues = [
            (machine.streams[consumer], queue)
            for consumer, queue in zip(machine.consumer, machine.credits, strict=True)
            if consumer >= 0
        ]
        self.shared = _shared(machine)
        anchor: dict[int, int] = {}
        for stream in machine.by_rank:
            for op in stream.code:
                if isinstance(op, End) and op.count >= LEAST_TRIPS:
                    op.watched = anchor.setdefault(op.tag, stream.number) == stream.number

    def skip(self, stream: StreamState, tag: int, now: int) -> bool:
        """At the start of an iteration of loop `tag`: skip periods if the state repeats.

        Returns whether anything was skipped (the queue of ready instructions changed then).
        """
        iteration = stream.done[stream.tags.index(tag)]
        watch = self.watches.get(tag)
        if watch is None or watch.iteration >= iteration:
            watch = self.watches[tag] = Watch()
        watch.iteration = iteration
        inside = [tag in other.tags for other in self.machine.streams]
        key = self._key(tag, iteration, inside, now)
        if key is None:
            return False
        if key in watch.saved:
            del self.watches[tag]
            return self._skip_periods(tag, watch.saved[key], iteration, now, inside)
        self._remember(watch, key, now)
        return False

    def _remember(self, watch: Watch, key: Key, now: int) -> None:
        if watch.age == watch.limit:
            watch.saved.clear()
            watch.limit *= 2
        if watch.age < WINDOW or not watch.saved:
            stalls = [dict(stream.stalls) for stream in self.machine.streams]
            executed = [op.executed for op in self.machine.ops]
            watch.saved[key] = Saved(watch.iteration, now, executed, stalls)
        watch.age += 1

    def _key(self, tag: int, iteration: int, inside: list[bool], now: int) -> Key | None:
        """The state as one row of numbers; what it means at a place follows from those before."""
        row: list[int] = []
        for stream, within in zip(self.machine.streams, inside, strict=True):
            row.append(stream.pc)
            if not within:
                if stream.pending:
                    return None
                row += (*stream.done, stream.clock, stream.visible)
                continue
            level = stream.tags.index(tag)
            row += stream.done
            row[level - len(stream.done)] -= iteration
            row.append(stream.clock - now)
            row.append(stream.visible - now if stream.visible > now else 0)
        for consumer, queue in self.queues:
            row.append(len(queue))
            if queue:
                clock = consumer.clock
                origin = now if inside[consumer.number] else 0
                row += [(t if t > clock else clock) - origin for t in queue]
        for resource in self.shared:
            free = self.machine.free[resource]
            row.append(free - now if free > now else 0)
        return tuple(row)

    def _skip_periods(
        self, tag: int, saved: Saved, iteration: int, now: int, inside: list[bool]
    ) -> bool:
        machine, period = self.machine, iteration - saved.iteration
        moving = [s for s, within in zip(machine.streams, inside, strict=True) if within]
        levels = [stream.tags.index(tag) for stream in moving]
        periods = min(
            (stream.counts[level] - 1 - stream.done[level]) // period
            for stream, level in zip(moving, levels, strict=True)
        )
        if periods < 1:
            return False
        shift = periods * (now - saved.now)
        self._add_totals(saved, periods)
        for stream, level in zip(moving, levels, strict=True):
            stream.done[level] += periods * period
            stream.clock += shift
            stream.visible = max(stream.visible, now) + shift
        for channel, consumer in enumerate(machine.consumer):
            if consumer >= 0 and inside[consumer]:
                queue = machine.credits[channel]
                for position in range(len(queue)):
                    queue[position] += shift
        machine.free = [t + shift if t > now else t for t in machine.free]
        # All queued instructions belong to moving streams; one shift keeps the heap's order.
        machine.heap[:] = [(ready + shift, number) for ready, number in machine.heap]
        return True

    def _add_totals(self, saved: Saved, periods: int) -> None:
        machine = self.machine
        for op, old in zip(machine.ops, saved.executed, strict=True):
            more = periods * (op.executed - old)
            op.executed += more
            machine.folded += more
        for stream, before in zip(machine.streams, saved.stalls, strict=True):
            for cause, value in stream.stalls.items():
                stream.stalls[cause] = value + periods * (value - before.get(cause, 0))


def _shared(machine: Machine) -> list[int]:
    """Resources that more than one stream uses."""
    users: dict[int, set[int]] = {}
    for stream in machine.streams:
        for op in stream.code:
            if isinstance(op, Op):
                users.setdefault(op.resource, set()).add(stream.number)
    return sorted(resource for resource, streams in users.items() if len(streams) > 1)

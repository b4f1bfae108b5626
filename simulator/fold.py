"""Exact folding: skip whole periods of a loop whose state repeats.

The future of a run depends only on its state: each stream's position and clock, the credits in
each channel and each resource's release time. When a loop of an anchor stream starts an
iteration in a state that equals the state p iterations earlier, except that every time is D
later and every counter of that loop p higher, then the next p iterations do the same again, D
later, as long as no stream leaves the loop. So n such periods are skipped in one step: counters
advance by n p, times by n D, and every total by n times what one period added.

Four parts of the state are compared by what they can still cause, not by their raw values:

- A credit that became visible before its consumer's clock delays nothing: it counts as visible
  at that clock. (Ready = max(clock, credits), and the stall is measured from the clock.)
- A resource released before now delays nothing: every later request is ready no earlier than
  now, since services happen in order of ready time.
- A result that became visible before now is not the last one of the run: it counts as visible
  now.
- A stream outside the loop takes part in a period only by standing still: it must be blocked or
  finished, at the same position, clock and credits in both states. A stream that is outside
  and may still move makes the state not comparable.

Nothing is approximated, and where no period shows, the loop simply runs. The search keeps one
saved state a loop and moves it at powers of two (Brent's method), so memory does not grow
and a period of any length is found.
"""

from __future__ import annotations

from dataclasses import dataclass

from xpu_shark.simulator.engine import Machine, StreamState

Key = tuple[object, ...]
MIN_ITERATIONS_LEFT = 2


@dataclass(slots=True)
class Saved:
    """One remembered moment of a loop."""

    key: Key
    iteration: int
    now: int
    totals: list[int]
    stalls: list[dict[str, int]]
    age: int = 0
    limit: int = 1


class Folder:
    """Watches the loops of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.anchor: dict[int, int] = {}
        for stream in machine.streams:
            for op in stream.code:
                tag = getattr(op, "tag", None)
                if tag is not None:
                    self.anchor.setdefault(tag, stream.number)
        self.saved: dict[int, Saved] = {}

    def skip(self, stream: StreamState, tag: int, now: int) -> bool:
        """At the start of an iteration of loop `tag`: skip periods if the state repeats.

        Returns whether anything was skipped (the queue of ready instructions changed then).
        """
        if self.anchor[tag] != stream.number:
            return False
        level = stream.tags.index(tag)
        iteration = stream.done[level]
        if stream.counts[level] - iteration < MIN_ITERATIONS_LEFT:
            return False
        inside = [tag in other.tags for other in self.machine.streams]
        key = self._key(tag, iteration, inside, now)
        if key is None:
            return False
        saved = self.saved.get(tag)
        if saved is None or saved.iteration >= iteration:
            self.saved[tag] = self._save(key, iteration, now, 1)
            return False
        if saved.key == key:
            del self.saved[tag]
            return self._skip_periods(tag, saved, iteration - saved.iteration, now, inside)
        saved.age += 1
        if saved.age == saved.limit:
            self.saved[tag] = self._save(key, iteration, now, 2 * saved.limit)
        return False

    def _key(self, tag: int, iteration: int, inside: list[bool], now: int) -> Key | None:
        machine = self.machine
        parts: list[object] = []
        for stream, within in zip(machine.streams, inside, strict=True):
            if not within and stream.pending:
                return None
            done = list(stream.done)
            if within:
                done[stream.tags.index(tag)] -= iteration
            origin = now if within else 0
            visible = max(stream.visible, now) if within else stream.visible
            parts.append((stream.pc, tuple(done), stream.clock - origin, visible - origin))
        for consumer, queue in zip(machine.consumer, machine.credits, strict=True):
            if consumer < 0:
                continue
            clock = machine.streams[consumer].clock
            origin = now if inside[consumer] else 0
            parts.append(tuple([(t if t > clock else clock) - origin for t in queue]))
        parts.append(tuple([t - now if t > now else 0 for t in machine.free]))
        return tuple(parts)

    def _save(self, key: Key, iteration: int, now: int, limit: int) -> Saved:
        stalls = [dict(stream.stalls) for stream in self.machine.streams]
        return Saved(key, iteration, now, self._totals(), stalls, 0, limit)

    def _totals(self) -> list[int]:
        machine = self.machine
        totals = [stream.busy for stream in machine.streams]
        totals += [stream.executed for stream in machine.streams]
        return totals + machine.busy + machine.bytes

    def _skip_periods(
        self, tag: int, saved: Saved, period: int, now: int, inside: list[bool]
    ) -> bool:
        machine = self.machine
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
        deltas = iter(
            periods * (new - old) for new, old in zip(self._totals(), saved.totals, strict=True)
        )
        for stream in machine.streams:
            stream.busy += next(deltas)
        for stream in machine.streams:
            stream.executed += next(deltas)
        machine.busy = [value + next(deltas) for value in machine.busy]
        machine.bytes = [value + next(deltas) for value in machine.bytes]
        for stream, old in zip(machine.streams, saved.stalls, strict=True):
            for cause, value in stream.stalls.items():
                stream.stalls[cause] = value + periods * (value - old.get(cause, 0))

"""Streams of a lane whose transfers are listed: each transfer has its own, looping over chunks."""

from __future__ import annotations

from xpu_shark.simulator.collectives.lower_alike import device_of
from xpu_shark.simulator.collectives.pieces import (
    REDUCE_TRAFFIC,
    Job,
    Names,
    Use,
    hold,
    message_bytes,
    traffic,
)
from xpu_shark.simulator.collectives.schedule import Listed, Schedule, Transfer
from xpu_shark.simulator.emit import Bodies
from xpu_shark.simulator.network import Fabric
from xpu_shark.simulator.program import Instruction, Loop


class ListedLane:
    """Emits a lane. Transfer i waits, chunk by chunk, for the stores of `before[i]`."""

    def __init__(
        self,
        schedule: Schedule,
        fabric: Fabric,
        job: Job,
        names: Names,
        lane: Listed,
        number: int,
        bodies: Bodies,
    ) -> None:
        self.schedule, self.fabric, self.job = schedule, fabric, job
        self.names, self.lane, self.number, self.bodies = names, lane, number, bodies
        self.transfers, self.before = ordered(lane)
        self.after: list[list[int]] = [[] for _ in self.transfers]
        for later, sources in enumerate(self.before):
            for earlier in sources:
                self.after[earlier].append(later)

    def emit(self) -> None:
        """Append the streams of every transfer to the bodies."""
        for number, transfer in enumerate(self.transfers):
            self._transfer(number, transfer)

    def _transfer(self, number: int, transfer: Transfer) -> None:
        origin = device_of(self.schedule, transfer.source)
        to = device_of(self.schedule, transfer.target)
        size = message_bytes(self.schedule, len(transfer.blocks), self.lane.blocks, self.job)
        arrivals = [self._read(number, origin, size)] if self.job.memory is not None else []
        path = self.fabric.path(origin, to)
        for hop in range(len(path)):
            role = f"hop{hop}" if hop else "send"
            stream = self._name(role, number)
            waits: Use = ((self._channel("head", hop, number), 1),) if hop else ()
            head = self._channel("head", hop + 1, number) if hop + 1 < len(path) else None
            arrivals.append(self._channel("arrival", hop, number))
            waits = waits or self._needs("send", number)
            code = hold(self.names, path, hop, stream, size, waits, head, arrivals[-1])
            self._loop(stream, origin if hop == 0 else None, code)
        self._store(number, transfer, to, size, arrivals)

    def _read(self, number: int, origin: int, size: int) -> int:
        stream, done = self._name("read", number), self._channel("arrival", "read", number)
        code = traffic(self.names, self.job, origin, stream, size)
        waits, posts = self._needs("read", number), ((done, 1),)
        code = Instruction(code.resource, code.service_ps, 0, waits, posts, code.bytes)
        self._loop(stream, origin, [code])
        return done

    def _store(
        self, number: int, transfer: Transfer, to: int, size: int, arrivals: list[int]
    ) -> None:
        stream = self._name("store", number)
        moved = size * (1 + (REDUCE_TRAFFIC if transfer.reduce else 0))
        code = traffic(self.names, self.job, to, stream, moved)
        roles = ("send", "read") if self.job.memory is not None else ("send",)
        posts = tuple(
            (self._channel(role, number, later), 1)
            for later in self.after[number]
            for role in roles
        )
        waits = tuple((channel, 1) for channel in arrivals)
        code = Instruction(code.resource, code.service_ps, 0, waits, posts, code.bytes)
        self._loop(stream, None, [code])

    def _needs(self, role: str, number: int) -> Use:
        return tuple((self._channel(role, before, number), 1) for before in self.before[number])

    def _loop(self, stream: str, launched: int | None, code: list[Instruction]) -> None:
        """Every chunk's code, after the launch of device `launched` where there is one."""
        body = self.bodies.setdefault(stream, [])
        if launched is not None and self.job.launch_ps:
            waits = self.names.after_launch(launched, stream)
            body.append(Instruction(self.names.queue(stream), 0, 0, waits))
        if self.job.chunks > 1:
            body.append(Loop(self.job.chunks, tuple(code), self.names.emitter.tag(self.number)))
        else:
            body.extend(code)

    def _name(self, role: str, number: int) -> str:
        return f"{role}.{self.number}.{number:05d}"

    def _channel(self, role: str, one: object, other: object) -> int:
        cause = "link" if role in ("head", "arrival") else "data"
        return self.names.emitter.channel((self.number, role, one, other), cause)


def ordered(lane: Listed) -> tuple[list[Transfer], list[tuple[int, ...]]]:
    """Transfers in order, and for each the earlier ones, by number, that its source waits for:
    those that earlier rounds sent there and that brought any of its blocks."""
    transfers: list[Transfer] = []
    before: list[tuple[int, ...]] = []
    incoming: dict[tuple[int, int], list[int]] = {}  # (device, block) -> who brought it
    for transfers_of_round in lane.rounds:
        first = len(transfers)
        for transfer in transfers_of_round:
            brought = (incoming.get((transfer.source, b), ()) for b in transfer.blocks)
            transfers.append(transfer)
            before.append(tuple(sorted({number for numbers in brought for number in numbers})))
        for number in range(first, len(transfers)):
            for block in transfers[number].blocks:
                incoming.setdefault((transfers[number].target, block), []).append(number)
    return transfers, before

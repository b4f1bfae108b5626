"""Simulates a workload: every distinct launch once, counted as often as the program launches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from xpu_shark.simulator import commands
from xpu_shark.simulator.bind import ALONE, Context, kernel_symbols
from xpu_shark.simulator.blocks import Block, Site, blocks, on_network
from xpu_shark.simulator.exposure import Exposure, exposures
from xpu_shark.simulator.operator_kind import operator_kind
from xpu_shark.simulator.result import Command, Dispatch, Function, Report
from xpu_shark.simulator.simulate import KernelRun, simulate_kernel
from xpu_shark.simulator.stay import Path, contexts
from xpu_shark.simulator.symbolic import Expr, Value, symbols
from xpu_shark.simulator.target import Target
from xpu_shark.simulator.touches import value
from xpu_shark.simulator.units.launch import host_call_ps, launch_ps
from xpu_shark.simulator.workload import (
    Choice,
    Collective,
    Concurrent,
    Kernel,
    Launch,
    Move,
    Repeat,
    Workload,
    trip_counts,
)
from xpu_shark.simulator.workload import Command as Item
from xpu_shark.simulator.workload import Function as Source

if TYPE_CHECKING:
    from xpu_shark.simulator.network import Slow


@dataclass(frozen=True)
class Settings:
    """How to simulate: `dims` are the values of named sizes, `mode` the tiling to use."""

    target: Target
    dims: Mapping[str, int] = field(default_factory=dict)
    mode: str = "ir"
    devices: int = 1
    fold: bool = True
    slow: tuple[Slow, ...] = ()  # links and devices that are slower than the others


def simulate(workload: Workload, settings: Settings) -> Report:
    """The report of a whole module."""
    runner = _Runner(workload, settings)
    parts = [_FunctionWalk(runner, function).result() for function in workload.functions]
    return Report(
        target=settings.target.name,
        tiling=settings.mode,
        functions=tuple(function for function, _, _ in parts),
        dispatches=tuple(item for _, dispatches, _ in parts for item in dispatches),
        commands=tuple(item for _, _, items in parts for item in items),
    )


class _Runner:
    """Kernels of one workload, each simulated once for the same sizes."""

    def __init__(self, workload: Workload, settings: Settings) -> None:
        self.settings = settings
        self.kernels = {kernel.name: kernel for kernel in workload.kernels}
        self.needs = {kernel.name: kernel_symbols(kernel) for kernel in workload.kernels}
        self._runs: dict[object, KernelRun | None] = {}

    def run(self, kernel: Kernel, env: Mapping[str, Value], context: Context) -> KernelRun | None:
        values = tuple((name, env[name]) for name in self.needs[kernel.name])
        key = (kernel.name, values, context)
        if key not in self._runs:
            s = self.settings
            self._runs[key] = simulate_kernel(
                kernel, env, s.target, s.mode, context=context, fold=s.fold
            )
        return self._runs[key]


@dataclass
class _Tally:
    """What is alike in one function: how often, and where."""

    locations: dict[str, None] = field(default_factory=dict)
    sites: int = 0
    launches: int = 0
    per: dict[str, None] = field(default_factory=dict)

    def add(self, location: str, times: int, per: tuple[str, ...]) -> None:
        if location:
            self.locations[location] = None
        self.sites += 1
        self.launches += times
        self.per.update(dict.fromkeys(per))


class _FunctionWalk:
    def __init__(self, runner: _Runner, source: Source) -> None:
        self.runner, self.source = runner, source
        self.env = dict(runner.settings.dims)
        prefix = f"{source.name}."
        for name, size in runner.settings.dims.items():
            if name.startswith(prefix):
                self.env[name.removeprefix(prefix)] = size
        self.dispatches: dict[
            object, tuple[_Tally, Kernel, Launch, Context, tuple[int | None, ...], tuple[str, ...]]
        ]
        self.dispatches = {}
        self.contexts: Mapping[Path, Context] = {}
        target = runner.settings.target
        if target.program == "function":
            self.contexts = contexts(source.body, runner.kernels, self.env, target)
        elif target.core is not None:
            from xpu_shark.simulator import last_cache  # of CPUs only

            self.contexts = last_cache.contexts(source.body, runner.kernels, self.env, target)
        self.commands: dict[object, tuple[_Tally, Move | Collective, int | None]] = {}
        self.unknown: dict[str, None] = {}
        self.sites: list[Site] = []
        self.piece = 0  # number of the straight piece that the walk is in

    def result(self) -> tuple[Function, list[Dispatch], list[Command]]:
        self._walk(self.source.body, (), 1, ())
        dispatches = [self._dispatch(*entry) for entry in self.dispatches.values()]
        items = [self._command(*entry) for entry in self.commands.values()]
        found, pieces = self._exposure(dispatches, items)
        items = [msgspec.structs.replace(each, exposure=found.get(id(each))) for each in items]
        dispatches.sort(key=lambda d: -(d.run.time_ps * d.launches if d.run else 0))
        return self._function(dispatches, items, pieces), dispatches, items

    def _exposure(
        self, dispatches: list[Dispatch], items: list[Command]
    ) -> tuple[dict[int, Exposure], tuple[Block, ...]]:
        """Nothing where nothing goes over the network."""
        if not any(on_network(site.command) for site in self.sites):
            return {}, ()
        records: dict[object, Dispatch | Command] = {
            **dict(zip(self.dispatches, dispatches, strict=True)),
            **dict(zip(self.commands, items, strict=True)),
        }
        s, kernels = self.runner.settings, self.runner.kernels
        pieces = blocks(self.sites, records, kernels, self.env, s.target)
        return exposures(pieces), pieces

    def _walk(
        self,
        body: tuple[Item, ...],
        path: Path,
        times: int,
        per: tuple[str, ...],
        group: Path | None = None,
    ) -> None:
        """`group` is the place of the outermost concurrent region around."""
        for number, item in enumerate(body):
            here = (*path, number)
            if isinstance(item, Launch):
                key = self._launch(item, self.contexts.get(here, ALONE), times, per)
                self._site(item, key, times, group or here)
            elif isinstance(item, Concurrent):
                self._walk(item.body, here, times, per, group or here)
            elif isinstance(item, Repeat):
                self.piece += 1
                trips = self._value(item.trips)
                if trips is None and (trips := self.env.get(item.name)) is None:
                    self.unknown[item.name] = None
                    self._walk(item.body, here, times, (*per, item.name))
                else:
                    self._walk(item.body, here, times * trips, per)
                self.piece += 1
            elif isinstance(item, Choice):
                self.piece += 1
                self._choose(item, here, times, per)
                self.piece += 1
            else:
                self._site(item, self._move(item, times, per), times, group or here)

    def _site(self, item: Launch | Move | Collective, key: object, times: int, group: Path) -> None:
        self.sites.append(Site(piece=self.piece, times=times, group=group, command=item, key=key))

    def _choose(self, item: Choice, path: Path, times: int, per: tuple[str, ...]) -> None:
        """The arm that `--xpu-dim NAME=N` says; else the one with most commands, and say so."""
        taken = item.taken(self.env)
        if self.env.get(item.name) != taken:
            self.unknown[item.name] = None
        self._walk(item.arms[taken], (*path, taken), times, per)

    def _launch(self, launch: Launch, context: Context, times: int, per: tuple[str, ...]) -> object:
        """The key of the launch's record."""
        kernel = self.runner.kernels.get(launch.kernel)
        if kernel is None:
            kernel = Kernel(
                name=launch.kernel,
                tensors=(),
                nests=(),
                state="unmodelled",
                reason="no executable of this name in the module",
            )
        needed = self.runner.needs.get(kernel.name, ())
        values = tuple(
            self._value(size) if f"constant{number}" in needed else None
            for number, size in enumerate(launch.constants)
        )
        missing = self._missing(launch, needed, values)
        key = (kernel.name, values, launch.trips, context, missing)
        tally, *_ = self.dispatches.setdefault(
            key, (_Tally(), kernel, launch, context, values, missing)
        )
        tally.add(launch.location, times, per)
        return key

    def _missing(
        self, launch: Launch, needed: tuple[str, ...], values: tuple[int | None, ...]
    ) -> tuple[str, ...]:
        """Names that a user can give a value, for every size that has none."""
        names: dict[str, None] = {}
        known = {**self.env, **trip_counts(launch.kernel, launch.trips)}
        for symbol in needed:
            number = symbol.removeprefix("constant")
            if number.isdigit() and int(number) < len(values):
                if values[int(number)] is None:
                    size = launch.constants[int(number)]
                    names.update(dict.fromkeys(n for n in symbols(size) if n not in self.env))
            elif symbol not in known:
                names[symbol] = None
        self.unknown.update(names)
        return tuple(names)

    def _move(self, item: Move | Collective, times: int, per: tuple[str, ...]) -> object:
        """The key of the command's record."""
        size = self._value(item.bytes)
        if size is None:
            self.unknown.update(dict.fromkeys(n for n in symbols(item.bytes) if n not in self.env))
        kind: object = item.kind
        if isinstance(item, Collective):
            kind = (item.kind, item.reduction, item.group, item.groups, item.pairs, item.problem)
        tally, *_ = self.commands.setdefault((kind, size), (_Tally(), item, size))
        tally.add(item.location, times, per)
        return kind, size

    def _value(self, size: int | Expr) -> int | None:
        return value(size, self.env)

    def _dispatch(
        self,
        tally: _Tally,
        kernel: Kernel,
        launch: Launch,
        context: Context,
        values: tuple[int | None, ...],
        missing: tuple[str, ...],
    ) -> Dispatch:
        run, reason = None, kernel.reason
        if missing:
            reason = f"no value for {', '.join(missing)}"
        elif kernel.state != "unmodelled" or kernel.nests:
            env: dict[str, Value] = {**self.env, **trip_counts(kernel.name, launch.trips)}
            env.update({f"constant{n}": v for n, v in enumerate(values) if v is not None})
            run = self.runner.run(kernel, env, context)
            reason = "; ".join(filter(None, (reason, run.note))) if run else reason or "no work"
        return Dispatch(
            function=self.source.name,
            name=kernel.name,
            locations=tuple(tally.locations) or ((kernel.location,) if kernel.location else ()),
            sites=tally.sites,
            launches=tally.launches,
            per=tuple(tally.per),
            state=kernel.state,
            reason=reason,
            missing=missing,
            constants=values,
            trips=launch.trips,
            context=context,
            run=run,
        )

    def _command(self, tally: _Tally, item: Move | Collective, size: int | None) -> Command:
        result = commands.simulate(item, size, self.runner.settings)
        return Command(
            function=self.source.name,
            kind=item.kind,
            locations=tuple(tally.locations),
            launches=tally.launches,
            per=tuple(tally.per),
            element=item.element if isinstance(item, Collective) else "",
            payload_bytes=size,
            group=result.group,
            algorithm=result.algorithm,
            time_ps=result.time_ps,
            bound_ps=result.bound_ps,
            serial_ps=result.serial_ps,
            bytes=result.bytes,
            reason=result.reason,
        )

    def _function(
        self, dispatches: list[Dispatch], items: list[Command], pieces: tuple[Block, ...]
    ) -> Function:
        sized = not any(d.missing for d in dispatches) and not any(
            item.payload_bytes is None for item in items
        )
        # Something of which nothing has a time takes an unknown time, not none.
        has_time = any(d.run or d.state == "modelled" for d in dispatches) or any(
            item.time_ps is not None for item in items
        )
        totals: list[int] | list[None] = [None, None, None]
        if sized and has_time:
            runs = [(d.launches, d.run) for d in dispatches if d.run is not None]
            times = [(n, r.time_ps, r.bounds.bound_ps, r.bounds.serial_ps) for n, r in runs]
            times += [
                (i.launches, i.time_ps or 0, i.bound_ps or 0, i.serial_ps or 0) for i in items
            ]
            totals = [sum(row[0] * row[column] for row in times) for column in (1, 2, 3)]
            running = self.runner.settings.target.program == "function"
            if runs and self.contexts and running:  # one program, launched once
                launch = launch_ps(self.runner.settings.target)
                totals = [total + launch for total in totals]
            if runs:  # the host hands kernels over once; collectives are timed on the devices
                kind = operator_kind(kernel for _, kernel, *_ in self.dispatches.values())
                before, call = host_call_ps(self.runner.settings.target, kind)
                device, bound, serial = totals
                totals = [max(before + device, call), bound, before + serial]
        return Function(
            name=self.source.name,
            location=self.source.location,
            time_ps=totals[0],
            bound_ps=totals[1],
            serial_ps=totals[2],
            dispatches=sum(d.sites for d in dispatches),
            modelled=sum(d.sites for d in dispatches if d.state == "modelled"),
            launches=sum(d.launches for d in dispatches),
            unmodelled=tuple((d.name, d.reason) for d in dispatches if d.state != "modelled"),
            unknown=tuple(self.unknown),
            blocks=pieces if totals[0] is not None else (),
            **self._network_totals(items if totals[0] is not None else []),
        )

    @staticmethod
    def _network_totals(items: list[Command]) -> dict[str, int]:
        linked = [each for each in items if each.exposure is not None]
        if any(each.time_ps is None for each in linked):
            return {}
        found = [each.exposure for each in linked]
        names = ("exposed_ps", "hidden_ps", "async_exposed_ps")
        return {name: sum(getattr(each, name) for each in found) for name in names if found}

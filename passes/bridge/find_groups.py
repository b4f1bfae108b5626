"""Finds the groups of devices that the input gives a collective and the compiler forgets.

IREE takes a single group for all devices unless the module says how many there are
(`mhlo.num_partitions`): its default channel has no members. The input still names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import msgspec
from iree.compiler import ir

from xpu_shark.passes.bridge.host_channels import Groups
from xpu_shark.passes.bridge.host_program import walk
from xpu_shark.passes.bridge.locations import source_location
from xpu_shark.passes.module_pass import Analysis, ModulePass, Phase
from xpu_shark.simulator.workload import Choice, Collective, Command, Concurrent, Repeat, Workload

ATTRIBUTE = "replica_groups"  # of StableHLO; a row a group, shorter ones filled up with -1
# With a channel these join all partitions of the replicas named, unless global ids are said to be.
BY_REPLICA = ("stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.reduce_scatter")
_CHANNEL = "channel_handle"


@dataclass(frozen=True)
class FindGroups(ModulePass):
    """Notes the devices of every collective with one group, by its place."""

    name: ClassVar[str] = "xpu-find-groups"
    phase: ClassVar[Phase] = "start"

    def run(self, module: ir.Operation, analysis: Analysis) -> None:
        analysis.groups.update(single_groups(module))


def single_groups(module: ir.Operation) -> Iterator[tuple[str, Groups]]:
    """(place, groups) of each op with one group, which has a device at least."""
    for op in walk(module):
        if ATTRIBUTE not in op.attributes or not _by_device(op):
            continue
        rows = ir.DenseIntElementsAttr(op.attributes[ATTRIBUTE])
        place, members = source_location(op.location), tuple(filter(_is_device, rows))
        if place and members and ir.ShapedType(rows.type).shape[0] == 1:
            yield place, (members,)


def _by_device(op: ir.Operation) -> bool:
    names = op.attributes
    return op.name not in BY_REPLICA or "use_global_device_ids" in names or _CHANNEL not in names


def _is_device(number: int) -> bool:
    return number >= 0


def with_groups(workload: Workload, groups: Mapping[str, Groups]) -> Workload:
    """`workload` with these groups for collectives of all devices, by place."""
    if not groups:
        return workload
    functions = tuple(
        msgspec.structs.replace(each, body=_body(groups, each.body)) for each in workload.functions
    )
    return msgspec.structs.replace(workload, functions=functions)


def _body(groups: Mapping[str, Groups], body: tuple[Command, ...]) -> tuple[Command, ...]:
    return tuple(_command(groups, command) for command in body)


def _command(groups: Mapping[str, Groups], command: Command) -> Command:
    if isinstance(command, Concurrent | Repeat):
        return msgspec.structs.replace(command, body=_body(groups, command.body))
    if isinstance(command, Choice):
        arms = tuple(map(partial(_body, groups), command.arms))
        return msgspec.structs.replace(command, arms=arms)
    if isinstance(command, Collective) and not command.groups and command.location in groups:
        found = groups[command.location]
        return msgspec.structs.replace(command, groups=found, group=len(found[0]))
    return command

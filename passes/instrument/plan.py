"""The probe plan: which probe site of which export means what, and what needs no probe.

One export is the tree of its control flow, in program order and only as far as loops are in it.
`reconstruct` walks that tree with the events of a run. A site is a number from 0 to 255, unique
in its export: the `ordinal` of `hal.instrument.value`. The plan is JSON in the compiled module.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from xpu_shark.passes.instrument.expression import Expression, PlanError

SCHEMA: Final = 1
SITES: Final = 256  # an ordinal has 8 bits
REFLECTION: Final = "xpu-shark.plan"  # key of the plan in the reflection of QUERY
QUERY: Final = "__query_instruments"  # the function that IREE's runner asks for the dump
NONE: Final = -1  # no probe
_Kind = TypeVar("_Kind")


class Value(msgspec.Struct, frozen=True, omit_defaults=True, tag="value"):
    """A probe of a 32-bit value that later bounds or conditions are made of, or a size (`trip`,
    as for a `Loop`)."""

    site: int
    trip: int = 0


class Stamp(msgspec.Struct, frozen=True, omit_defaults=True, tag="stamp"):
    """A probe of the cycle counter: its low 32 bits, and its high ones if `high` is a site.

    `loop` is the loop whose iteration starts here, NONE for the start or end of the workgroup.
    """

    site: int
    high: int = NONE
    loop: int = NONE


class Loop(msgspec.Struct, frozen=True, omit_defaults=True, tag="for"):
    """`for lower <= i < upper, by step`. `site` reports i in every iteration, if there is one.

    `trip`: its trip count is the kernel's symbol of that number in the workload; 0 for none.
    """

    number: int
    lower: Expression
    upper: Expression
    step: Expression
    body: tuple[Node, ...] = ()
    site: int = NONE
    location: str = ""
    trip: int = 0


class While(msgspec.Struct, frozen=True, omit_defaults=True, tag="while"):
    """Runs `before`, then as long as `condition` holds `body` and `before` again.

    It has no induction variable: `site`, if there is one, reports 0 in every iteration. `trip`
    as for a `Loop`.
    """

    number: int
    before: tuple[Node, ...]
    condition: Expression
    body: tuple[Node, ...] = ()
    site: int = NONE
    location: str = ""
    trip: int = 0


class Branch(msgspec.Struct, frozen=True, omit_defaults=True, tag="if"):
    """Runs `then` if `condition` is not 0, else `otherwise`. `trip` is of `then`."""

    condition: Expression
    then: tuple[Node, ...] = ()
    otherwise: tuple[Node, ...] = ()
    trip: int = 0


Node = Value | Stamp | Loop | While | Branch


class Size(msgspec.Struct, frozen=True):
    """Number `ordinal` of the sizes that the launch was given: a dynamic dimension, mostly."""

    ordinal: int
    value: Expression


class ExportPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """Probes of one export. `declined` says why it has no probe but that of its workgroups."""

    name: str
    body: tuple[Node, ...] = ()
    sizes: tuple[Size, ...] = ()
    sites: int = 0
    loops: int = 0
    declined: str = ""


class Plan(msgspec.Struct, frozen=True):
    """Plans of all exports of a module, in its order."""

    exports: tuple[ExportPlan, ...] = ()
    schema: int = SCHEMA


def encode(plan: Plan | ExportPlan) -> str:
    """JSON text, the same for the same plan."""
    return msgspec.json.encode(plan).decode()


def decode(text: str) -> Plan:
    """The plan in `text`. Raises `PlanError` where that is not one of this version."""
    plan = _decode(text, Plan)
    if plan.schema != SCHEMA:
        raise PlanError(f"probe plan of schema {plan.schema}, expected {SCHEMA}")
    return plan


def decode_export(text: str) -> ExportPlan:
    """Like `decode`, for the plan of one export."""
    return _decode(text, ExportPlan)


def _decode(text: str, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as problem:
        raise PlanError(f"not a probe plan: {problem}") from None

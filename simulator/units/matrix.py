"""The matrix unit of a target, whichever kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType

from xpu_shark.simulator.element_type import bits, is_float
from xpu_shark.simulator.target import Mma, Systolic, Target
from xpu_shark.simulator.units import mma, systolic
from xpu_shark.simulator.units.cost import Cost
from xpu_shark.simulator.units.number_format import holds

# A kind of unit: its struct in target.py, and the module with its three functions.
_KINDS: dict[type, ModuleType] = {Systolic: systolic, Mma: mma}


def tile_cost(target: Target, *, batch: int, m: int, n: int, k: int, element: str) -> Cost:
    """One tile on one core's unit, at a type that `supports` gave."""
    unit = target.matrix
    cost: Cost = _KINDS[type(unit)].tile_cost(
        target, unit, batch=batch, m=m, n=n, k=k, element=element
    )
    return cost


def padded_macs(target: Target, *, batch: int, m: int, n: int, k: int) -> int:
    """Multiply-adds that the unit spends on a tile, padding included."""
    unit = target.matrix
    macs: int = _KINDS[type(unit)].padded_macs(unit, batch=batch, m=m, n=n, k=k)
    return macs


def macs_per_cycle(target: Target, element: str) -> float:
    """Peak of one core at a listed type."""
    unit = target.matrix
    rate: float = _KINDS[type(unit)].macs_per_cycle(unit, element)
    return rate


def supports(target: Target, lhs_element: str, rhs_element: str) -> str | None:
    """The type at which the unit multiplies this pair, or None: then it is vector work.

    A listed type runs as it is, and so do two listed float types of 8 bits. Any other pair runs
    at the narrowest listed type that holds both exactly (the fastest of those): i4 x i8 at i8,
    f8 at bf16, i8 x bf16 at bf16. Two integers stay integers, for their sum must be exact;
    nothing is widened to f64, which is no way to run narrower work.
    """
    listed = _listed(target)
    if lhs_element == rhs_element and lhs_element in listed:
        return lhs_element
    if lhs_element in listed and rhs_element in listed and _mixes(lhs_element, rhs_element):
        return max(lhs_element, rhs_element, key=lambda element: (listed[element], element))
    fits = [element for element in listed if _fits(element, lhs_element, rhs_element)]
    return min(fits, key=lambda element: (bits(element), listed[element], element), default=None)


def _listed(target: Target) -> Mapping[str, float]:
    """Types of the unit, with what each costs relative to the others."""
    if isinstance(target.matrix, Systolic):
        return target.matrix.cycles_per_row
    if isinstance(target.matrix, Mma):
        return {element: 1 / rate for element, rate in target.matrix.macs_per_cycle.items()}
    return {}


@cache
def _mixes(lhs: str, rhs: str) -> bool:
    """Units that take 8-bit floats take any pair of the ones they list; 16-bit ones do not mix."""
    return is_float(lhs) and is_float(rhs) and bits(lhs) == bits(rhs) == 8


@cache
def _fits(element: str, lhs: str, rhs: str) -> bool:
    if bits(element) == 64 and 64 not in (bits(lhs), bits(rhs)):
        return False
    if is_float(element) and not is_float(lhs) and not is_float(rhs):
        return False
    return holds(element, lhs) and holds(element, rhs)

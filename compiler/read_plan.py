"""Reads the probe plan that a compiled module carries."""

from __future__ import annotations

from xpu_shark.passes.instrument import plan


def read_plan(path: str) -> plan.Plan | None:
    """The plan of the .vmfb at `path`; None of a module that was compiled without probes.

    Raises `PlanError` for a plan of another version, and what IREE's runtime raises for a file
    that is no module.
    """
    from iree.runtime import VmInstance, VmModule

    module = VmModule.mmap(VmInstance(), path)
    query = module.lookup_function(plan.QUERY) if plan.QUERY in module.function_names else None
    text = query.reflection.get(plan.REFLECTION) if query is not None else None
    return None if text is None else plan.decode(text)

"""A dispatch of one kernel, as rules see it."""

from __future__ import annotations

from xpu_shark.passes.advise.case import Case
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.simulate import KernelRun, simulate_kernel
from xpu_shark.simulator.target import Target, load
from xpu_shark.simulator.workload import Kernel


def dispatch(name: str, run: KernelRun | None, *locations: str) -> Dispatch:
    """A dispatch of `main`, launched once at each of its `locations`, or once without any."""
    return Dispatch(
        function="main",
        name=name,
        locations=locations,
        sites=max(len(locations), 1),
        launches=max(len(locations), 1),
        per=(),
        state="modelled",
        reason="",
        missing=(),
        constants=(),
        run=run,
    )


def case(kernel: Kernel, target: str | Target) -> Case:
    """The kernel launched once, with the target's own tiles or those that the kernel pins."""
    device = load(target) if isinstance(target, str) else target
    run = simulate_kernel(kernel, {}, device)
    assert run is not None
    return Case(dispatch(kernel.name, run), bind(kernel, {}), run, device)

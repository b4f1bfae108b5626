"""What remarks say, in words: pure functions from results to one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from xpu_shark.simulator.exposure import Exposure
from xpu_shark.simulator.result import Command, Dispatch, Finding, Function
from xpu_shark.simulator.simulate import WITHIN_BOUND, KernelRun

SHOWN_SHARE = 0.01  # of work: less rounds to nothing
FAR = 1000  # times the bound: how many more says nothing
_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_UNITS = {"matrix": "the matrix unit", "vector": "the vector unit", "launch": "the launch"}
_LIMITS = {
    "matrix": "the matrix unit, busy {share} of the time",
    "vector": "the vector unit, busy {share} of the time",
    "launch": "its launch, {share} of the time",
    "latency": "latency: nothing is busy {share} of the time",
}
_WAITS = {
    "launch": "the launch",
    "buffer": "a free buffer",
    "block": "the last result of the block before",
    "drain": "its last results to be stored",
    "store": "a tensor to be stored first",
    "matrix": "the matrix unit",
    "vector": "the vector unit",
}


def time(picoseconds: float) -> str:
    """Three significant digits in the unit that suits: "9.84 us"."""
    unit = "ps"
    for name, size in _PS.items():
        if picoseconds >= size:
            unit = name
    return (
        f"{picoseconds / _PS[unit]:.3g} {unit}"
        if picoseconds < 1e15
        else f"{picoseconds / 1e12:.0f} s"
    )


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def dispatch(item: Dispatch, target: str) -> str:
    """The line of one distinct dispatch."""
    if item.missing:
        return (
            f"{item.name}: sizes depend on {', '.join(item.missing)}; give "
            + " ".join(f"--xpu-dim={name}=N" for name in item.missing)
            + _places(item)
        )
    if item.run is None and item.state == "unmodelled":
        return f"{item.name}: not modelled, {item.reason}; it has no time{_places(item)}"
    if item.run is None:
        return f"{item.name}: no work, takes no time on {target}{_places(item)}"
    run = item.run
    line = (
        f"{run.what} on {target} takes {time(run.time_ps)}, {ratio(run)} its bound: "
        f"limited by {limit(run)}; {wait(run)}"
    )
    if run.at_its_best and run.time_ps > WITHIN_BOUND * run.bounds.bound_ps:
        line += "; the target sustains no more"
    line += _tiles(run)
    if item.state != "modelled":
        line += f"; {item.state}: {item.reason}, bounded by its bytes"
    elif run.note:
        line += f"; {run.note}"
    return line + _places(item)


def _tiles(run: KernelRun) -> str:
    """What the tile sizes waste, where it is worth a word."""
    shares = {
        "the work is in edge tiles": run.edges.edge_share,
        "the matrix unit's work is padding": run.edges.padded_share,
    }
    said = (
        f"; {int(100 * share)} % of {of}" for of, share in shares.items() if share >= SHOWN_SHARE
    )
    return "".join(said)


def limit(run: KernelRun) -> str:
    """What takes most of the time, with its share."""
    found = run.attribution
    text = _LIMITS.get(found.limit, f"{found.limit} traffic, busy {{share}} of the time")
    return text.format(share=percent(found.busy_share))


def wait(run: KernelRun) -> str:
    """What the unit that does the work waits for most."""
    found = run.attribution
    unit = _UNITS.get(found.stream, f"the transfer {found.stream}")
    if found.waited_share < 0.005:
        return f"{unit} hardly waits"
    cause = _WAITS.get(found.waited_for, f"{found.waited_for} loads")
    return f"{unit} waits for {cause} {percent(found.waited_share)} of the time"


def ratio(run: KernelRun) -> str:
    """How far the time is from the bound: "1.7x". Past `FAR` the latency of one access is all."""
    times = run.time_ps / max(run.bounds.bound_ps, 1)
    if times >= FAR:
        return f">{FAR}x"
    return f"{times:.2g}x" if times < 100 else f"{times:.0f}x"


def command(item: Command, target: str) -> str:
    """The line of one kind of collective, transfer, copy or fill."""
    size = "?" if item.payload_bytes is None else f"{item.payload_bytes} B"
    what = f"{item.kind} of {size}" + (f" {item.element}" if item.element else "")
    what += f" over {item.group} devices" if item.group else ""
    times = f", {item.launches} times" if item.launches > 1 else ""
    if item.time_ps is None:
        return f"{what}{times}: not simulated, {item.reason}"
    how = f" ({item.algorithm})" if item.algorithm else ""
    bound = time(item.bound_ps or 0)
    return f"{what}{how} on {target} takes {time(item.time_ps)}, bound {bound}{times}" + exposure(
        item.exposure, ";"
    )


def exposure(item: Exposure | Function | None, behind: str) -> str:
    """How much of it adds to the time of the launches, now and at best."""
    if item is None or item.exposed_ps is None:
        return ""
    text = f"{behind} {time(item.exposed_ps)} exposed, {time(item.hidden_ps or 0)} hidden"
    if (least := item.async_exposed_ps or 0) < item.exposed_ps:
        text += f" ({time(least)} exposed if asynchronous)"
    return text


def no_function(target: str) -> str:
    """The line of a module that nobody can call."""
    return f"no function found, nothing to simulate on {target}"


def function(item: Function, distinct: int, items: Sequence[Command], target: str) -> str:
    """The summary line of one function; `items` are what it does besides launching kernels."""
    if not item.dispatches and not items:
        return f"{item.name}: no dispatch found, nothing to simulate"
    launches = _count(item.launches, "launch")
    parts = f"{_count(item.dispatches, 'dispatch')} ({distinct} distinct, {launches})"
    if item.time_ps is None:
        text = f"{item.name} on {target}: no time for {parts}"
    elif item.time_ps == 0:
        text = f"{item.name} on {target}: no work in {parts}"
    else:
        text = (
            f"{item.name} on {target} takes {time(item.time_ps)} (bound {time(item.bound_ps or 0)},"
            f" serial {time(item.serial_ps or 0)}) in {parts}"
        )
    text += f"; {item.modelled} modelled"
    if item.unmodelled:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in item.unmodelled)
        text += f", {item.dispatches - item.modelled} not ({reasons})"
    if moves := [each for each in items if each.time_ps is not None]:
        spent = sum((each.time_ps or 0) * each.launches for each in moves)
        count = sum(each.launches for each in moves)
        kinds = ", ".join(dict.fromkeys(each.kind for each in moves))
        text += f"; {time(spent)} of it is {_count(count, 'command')} of the host ({kinds})"
    text += exposure(item, "; communication:")
    if item.unknown:
        names = ", ".join(item.unknown)
        text += f"; unknown: {names} (give --xpu-dim=NAME=N; a loop counts as one trip)"
    return text


def finding(item: Finding, target: str) -> str:
    """The line of one suggestion."""
    what = item.what or " and ".join(dict.fromkeys(run.what for run in item.before))
    gain = f"{item.speedup:.2f}x ({item.speedup_low:.2f} to {item.speedup_high:.2f})"
    if item.state == "indeterminate":
        constants = ", ".join(item.depends_on)
        gain = f"indeterminate, {gain}: it depends on the {constants} of {target}, not certain"
    if item.confidence == "hypothetical":
        return (
            f"{what} on {target} takes {item.measured}; with {item.suggestion} it would be "
            f"{gain} as fast: no change of the program gives that"
        )
    return (
        f"{what} on {target} takes {item.measured}; {item.suggestion} instead of "
        f"{item.condition}: {gain}, saves {time(max(item.saved_ps, 0))}, "
        f"{100 * item.share:.1f} % of {item.function}"
    )


def advice(
    item: Function, found: list[Finding], saved: int, skipped: Sequence[Dispatch], target: str
) -> str:
    """What all suggestions for a function come to; `skipped` are the dispatches that no rule could
    look at, for lack of a size or of a model."""
    left_out = ""
    if skipped:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in skipped)
        left_out = f"; indeterminate for {_count(len(skipped), 'dispatch')} ({reasons})"
    if item.time_ps is None and not found:
        return f"{item.name} on {target}: advice needs a time{left_out}"
    if not found:
        return f"{item.name} on {target}: no findings{left_out}"
    real = [each for each in found if each.confidence != "hypothetical"]
    active = sum(each.state == "active" for each in real)
    others = f", {len(found) - len(real)} about another machine" if len(real) < len(found) else ""
    whole = item.time_ps or 1
    return (
        f"{item.name} on {target}: {_count(active, 'suggestion')} and "
        f"{len(real) - active} that depend on uncertain constants{others}; "
        f"the best of each dispatch together save {time(saved)}, {percent(saved / whole)}: "
        f"{whole / max(whole - saved, 1):.2f}x{left_out}"
    )


def _count(number: int, what: str) -> str:
    """For example "1 dispatch", "3 dispatches"."""
    ending = "" if number == 1 else "es" if what.endswith("ch") else "s"
    return f"{number} {what}{ending}"


def _places(item: Dispatch) -> str:
    """How often, and where else: remarks stand at the first place."""
    text = f"; {item.launches} launches" if item.launches > 1 else ""
    if item.per:
        text += f"; counted per trip of {', '.join(item.per)}"
    if len(item.locations) > 1:
        text += f"; at {', '.join(shorten(item.locations))}"
    return text


def shorten(locations: tuple[str, ...]) -> list[str]:
    """`line:col` for places in the file of the first one."""
    file = locations[0].rsplit(":", 2)[0] + ":"
    return [place.removeprefix(file) for place in locations]

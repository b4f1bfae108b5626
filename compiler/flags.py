"""Our own flags: found in a command line, checked, and turned into options of one compile."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from xpu_shark.compiler.errors import UsageError
from xpu_shark.simulator import target as targets
from xpu_shark.simulator.target import Target, TargetError

if TYPE_CHECKING:
    from xpu_shark.compiler.probing import Instrument
    from xpu_shark.passes.module_pass import Effort, Tiling
    from xpu_shark.simulator.network import Slow
    from xpu_shark.simulator.recording import Recording

MOST: Final = 2**63 - 1  # an index in MLIR
PREFIX: Final = "--xpu-"
DEFAULT_PASSES: Final = ("xpu-report-limits", "xpu-give-advice")
NO_TARGET: Final = "tiny"  # where only probes are asked for: nothing is simulated
_INSTRUMENTS: Final[tuple[Instrument, ...]] = ("off", "workgroup", "loop")
_TILINGS: Final[tuple[Tiling, ...]] = ("ir", "default", "best")
_EFFORTS: Final[tuple[Effort, ...]] = ("low", "default", "high")
_SLOW = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?:(\d*\.?\d+)")
_DIM = re.compile(r"([A-Za-z_][\w.$-]*)=(\d+)")


@dataclass(frozen=True)
class Options:
    """Values of the `--xpu-` flags of one command line."""

    target: Target
    tiling: Tiling = "ir"
    dims: Mapping[str, int] = field(default_factory=dict)
    devices: int = 1
    fold: bool = True
    slow: tuple[Slow, ...] = ()
    effort: Effort = "default"
    results_per_call: int | None = None
    passes: tuple[str, ...] = DEFAULT_PASSES
    instrument: Instrument = "off"
    trace: str = ""
    recording: Recording | None = None  # what the trace says


@dataclass(frozen=True)
class Flag:
    """One flag: `parse` turns its text into the value of the option `name`.

    Without `parse` the flag is known and not available in this version.
    """

    name: str
    metavar: str
    help: str
    parse: Callable[[str], Any] | None = None

    @property
    def spelling(self) -> str:
        return PREFIX + self.name


def split(args: Iterable[str]) -> tuple[list[tuple[Flag, str]], list[str]]:
    """Our flags with their texts, and the arguments that are iree-compile's.

    A value follows `=` or is the next argument. Raises `UsageError` for an unknown flag, one
    without a value, or one that is not available.
    """
    ours: list[tuple[Flag, str]] = []
    theirs: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            theirs += [arg, *rest]
        elif arg.startswith((PREFIX, PREFIX[1:])):
            flag, text = _find(arg)
            if flag.parse is not None and text is None:
                text = next(rest, None)
            ours.append((flag, _present(flag, text)))
        else:
            theirs.append(arg)
    return ours, theirs


def options(
    given: Iterable[tuple[Flag, str]], default_target: str = "", *, probes: bool = False
) -> Options:
    """The checked values; `UsageError` names the flag and what it takes.

    `probes`: whether the command takes --xpu-instrument. That flag alone needs no target.
    """
    values: dict[str, Any] = {"target": _target(default_target)} if default_target else {}
    for flag, text in given:
        assert flag.parse is not None
        value = flag.parse(text)
        values[flag.name] = _REPEATED[flag.name](values, value) if flag.name in _REPEATED else value
    instrumented = values.get("instrument", "off") != "off"
    if instrumented and not probes:
        raise UsageError("--xpu-instrument belongs to xpu-shark compile; leave it out here")
    if probes and "instrument" in values and "target" not in values:
        values = {"target": _target(NO_TARGET), "passes": (), **values}
    if "target" not in values:
        known = ", ".join(targets.names())
        raise UsageError(f"--xpu-target=NAME|FILE.toml is missing (known names: {known})")
    if "trace" in values:
        values["trace"], values["recording"] = values["trace"]
    return Options(**{_FIELDS.get(name, name): value for name, value in values.items()})


def usage() -> str:
    """One line a flag, for `--help`."""
    shown = [(f"{f.spelling}={f.metavar}", f.help) for f in FLAGS if f.parse is not None]
    width = max(len(left) for left, _ in shown)
    return "\n".join(f"  {left:{width}}  {right}" for left, right in shown)


def _find(arg: str) -> tuple[Flag, str | None]:
    spelling, equals, text = arg.partition("=")
    name = "--" + spelling.lstrip("-")
    for flag in FLAGS:
        if flag.spelling == name:
            return flag, text if equals else None
    known = [flag.name for flag in FLAGS if flag.parse is not None]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
    hint = f", did you mean {PREFIX}{near[0]}?" if near else "; see xpu-shark --help"
    raise UsageError(f"unknown flag {name}{hint}")


def _present(flag: Flag, text: str | None) -> str:
    if flag.parse is None:
        raise UsageError(f"{flag.spelling} is not available in this version")
    if not text:
        raise UsageError(f"{flag.spelling} needs a value: {flag.spelling}={flag.metavar}")
    return text


def _target(text: str) -> Target:
    try:
        return targets.load(text)
    except TargetError as problem:
        raise UsageError(f"--xpu-target: {problem}") from problem


def _choice(flag: str, *choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise UsageError(f"--xpu-{flag}={text}: expected {', '.join(choices)}")
        return text

    return parse


def _fold(text: str) -> bool:
    return _choice("fold", "on", "off")(text) == "on"


def _dim(text: str) -> dict[str, int]:
    match = _DIM.fullmatch(text)
    if match is None:
        raise UsageError(f"--xpu-dim={text}: expected NAME=VALUE, such as input0.0=128")
    if len(match[2]) > len(str(MOST)) or int(match[2]) > MOST:
        raise UsageError(f"--xpu-dim={text}: expected a value of at most {MOST}")
    return {match[1]: int(match[2])}


def _count(flag: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise UsageError(f"--xpu-{flag}={text}: expected a whole number of at least 1")
        return int(text)

    return parse


def _slow_link(text: str) -> tuple[Slow, ...]:
    match = _SLOW.fullmatch(text)
    if match is None or not 0 < float(match[3]) <= 1 or match[1] == match[2]:
        raise UsageError(
            f"--xpu-slow-link={text}: expected A-B:FACTOR for the link of two neighbours or "
            "A:FACTOR for a device, FACTOR of the full rate above 0 and at most 1, such as 3-4:0.5"
        )
    from xpu_shark.simulator.network import Slow

    return (Slow(tuple(int(device) for device in match.group(1, 2) if device), float(match[3])),)


def _passes(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise UsageError(f"--xpu-passes={text}: expected NAME[,NAME...]")
    return names


def _trace(text: str) -> tuple[str, Recording]:
    """Read here, so that a trace that is no good ends the command before any compiling."""
    from xpu_shark.compiler.trace import facts

    return text, facts.recording(facts.load(text))


_FIELDS: Final = {"dim": "dims", "per": "results_per_call", "slow-link": "slow"}
_REPEATED: Final[Mapping[str, Callable[[Mapping[str, Any], Any], Any]]] = {
    "dim": lambda before, value: {**before.get("dim", {}), **value},
    "slow-link": lambda before, value: (*before.get("slow-link", ()), *value),
}
FLAGS: Final = (
    Flag("target", "NAME|FILE.toml", "accelerator to simulate (xpu-shark targets)", _target),
    Flag("tiling", "ir|default|best", "tile sizes to simulate", _choice("tiling", *_TILINGS)),
    Flag("dim", "NAME=VALUE", "size of a dynamic dimension; repeatable", _dim),
    Flag("devices", "N", "devices that share the work of collectives", _count("devices")),
    Flag("slow-link", "A-B:F|A:F", "link or device at F of its rate; repeatable", _slow_link),
    Flag("per", "N", "results of one call, such as tokens: launches by result", _count("per")),
    Flag("effort", "low|default|high", "how hard to look for advice", _choice("effort", *_EFFORTS)),
    Flag("fold", "on|off", "skip over repeated tiles (same result, faster)", _fold),
    Flag("passes", "NAME[,NAME...]", "passes to run instead of the default ones", _passes),
    Flag("trace", "FILE.xputrace", "facts of a recorded run", _trace),
    Flag("report", "DIR", "folder for the report"),
    Flag("timeline", "FILE.json", "timeline for Perfetto"),
    Flag("sarif", "FILE.sarif", "findings for code scanning"),
    Flag("tuning-spec", "FILE.mlir", "advice as a tuning spec"),
    Flag(
        "instrument",
        "off|workgroup|loop",
        "probes in the compiled program (llvm-cpu; compile only)",
        _choice("instrument", *_INSTRUMENTS),
    ),
)

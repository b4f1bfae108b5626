"""The command `xpu-shark`: picks the subcommand, and turns bad arguments into one line."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xpu_shark.compiler import errors, flags
from xpu_shark.compiler.errors import USAGE, UsageError

INTERRUPTED: Final = 130
# Commands that read their arguments themselves; `compile --help` is iree-compile's.
_WITHOUT_PARSER: Final = ("simulate", "explain", "targets", "tool-path")
_FLAGS: Final = "flags of compile and simulate, next to all of iree-compile's:"


@dataclass(frozen=True)
class Command:
    """A subcommand; `module` has `main(arguments) -> exit code` and is imported when used."""

    name: str
    arguments: str
    help: str
    module: str


COMMANDS: Final = (
    Command(
        "compile",
        "IN.mlir -o OUT.vmfb [--xpu-target=NAME ...] [ANY IREE-COMPILE FLAG ...]",
        "iree-compile, with remarks on what limits each dispatch",
        "compile_main",
    ),
    Command(
        "simulate",
        "IN.mlir|T.xputrace --xpu-target=NAME [--format=text|jsonl] [ANY IREE-COMPILE FLAG ...]",
        "print the simulation without producing a module",
        "simulate_main",
    ),
    Command(
        "explain",
        "RULE | ID IN.mlir --xpu-target=NAME [...]",
        "what a rule checks, or the two simulations behind a finding",
        "explain_main",
    ),
    Command(
        "record",
        "OUT.vmfb|--from=FILE ... -o T.xputrace [--function=F] [--input=...] [--module=IN.mlir]",
        "run a module, or read files that a run left, and write what happened as a trace",
        "record_main",
    ),
    Command(
        "calibrate",
        "-o host.toml",
        "measure this machine through IREE into a target file",
        "calibrate_main",
    ),
    Command("targets", "[NAME]", "list the accelerators, or show one", "targets_main"),
    Command("tool-path", "", "print a folder for IREE_TOOL_PATH", "tool_path"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: this process's); returns the exit code."""
    args = sys.argv[1:] if argv is None else list(argv)
    try:
        code = _dispatch(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader (head, less) has seen enough
        errors.close_stdout()
        return 1
    except UsageError as problem:
        errors.error(problem)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def _dispatch(args: list[str]) -> int:
    if not args or args[0] in ("--help", "-h", "help"):
        print(_help())
        return 0 if args else USAGE
    if args[0] in ("--version", "-V", "version"):
        print(_version())
        return 0
    return _run(args[0], args[1:])


def _run(name: str, args: list[str]) -> int:
    command = next((each for each in COMMANDS if each.name == name), None)
    if command is None:
        raise UsageError(f"unknown command {name!r}{_hint(name)}")
    if name in _WITHOUT_PARSER and args[:1] in (["--help"], ["-h"]):
        print(_usage(command))
        return 0
    run = importlib.import_module(f"xpu_shark.compiler.{command.module}").main
    return int(run(args))


def _hint(name: str) -> str:
    near = difflib.get_close_matches(name, [each.name for each in COMMANDS], n=1)
    return f", did you mean {near[0]!r}?" if near else "; see xpu-shark --help"


def _version() -> str:
    """Of this package, and of the compiler and the runtime that it works with."""
    from importlib import metadata  # slow to import, and for this alone

    ours, *iree = (
        f"{name} {metadata.version(name)}"
        for name in ("xpu-shark", "iree-base-compiler", "iree-base-runtime")
    )
    return f"{ours} ({', '.join(iree)})"


def _usage(command: Command) -> str:
    line = f"usage: xpu-shark {command.name} {command.arguments}".rstrip()
    flagged = [_FLAGS, flags.usage()] if "--xpu-target" in command.arguments else []
    return "\n".join([line, "", f"  {command.help}", "", *flagged]).rstrip()


def _help() -> str:
    lines = ["usage: xpu-shark COMMAND ...", ""]
    for each in COMMANDS:
        lines += [f"  xpu-shark {each.name} {each.arguments}".rstrip(), f"      {each.help}"]
    return "\n".join([*lines, "", _FLAGS, flags.usage()])


if __name__ == "__main__":
    sys.exit(main())

"""Steps that `compile` and `simulate` share: from a command line to passes that have run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from xpu_shark.compiler import errors, input_bytes, iree_api, outputs, pass_registry, stock
from xpu_shark.compiler.flags import Options
from xpu_shark.compiler.iree_flags import PHASES, CommandLine, StockOnly, read
from xpu_shark.compiler.probing import Probing
from xpu_shark.compiler.remark_sink import RemarkSink, print_record
from xpu_shark.compiler.session import CompileSession, stops
from xpu_shark.passes.bridge.find_groups import ATTRIBUTE, FindGroups
from xpu_shark.passes.bridge.find_pins import PINS, FindPins
from xpu_shark.passes.bridge.find_repeats import FindRepeats
from xpu_shark.passes.module_pass import Analysis, ModulePass
from xpu_shark.simulator.names import known_names, unused


def command_line(args: Sequence[str]) -> CommandLine:
    """`args` as iree-compile reads them, LLVM's flags set for this process.

    Raises `StockOnly` where iree-compile has to do the whole job.
    """
    program = str(stock.binary())
    command = read(args, lambda flags: iree_api.accepts_flags((program, *flags)))
    input_bytes.check(command.input)
    iree_api.set_flags((program, *command.flags))
    return command


def passes(options: Options, command: CommandLine) -> list[ModulePass]:
    """The passes asked for, after `FindRepeats`, `FindGroups` where the input may name devices, and
    `FindPins` where it may fix tile sizes.

    Raises `StockOnly` if one of the default passes is not installed.
    """
    for name in options.passes:
        if name not in pass_registry.available():
            raise StockOnly(f"analysis skipped: pass {name} is not in this installation")
    wanted = [pass_registry.create(name) for name in options.passes]
    pins = [FindPins()] if _may_pin(command) else []
    first: list[ModulePass] = [FindRepeats()] if command.compile_from == "start" else []
    if first and input_bytes.mentions(command.input, (ATTRIBUTE,)):
        first.append(FindGroups())
    return [*first, *pins, *wanted]


def _may_pin(command: CommandLine) -> bool:
    """Whether this compile passes the phase of `FindPins`, with an input that names tile sizes.

    Told from the bytes of the input, so that a compile without pins has no stop more.
    """
    phases = (command.compile_from, FindPins.phase, command.compile_to)
    first, pins, last = map(PHASES.index, phases)
    return first <= pins <= last and input_bytes.mentions(command.input, PINS)


def analysis(options: Options, source: str) -> Analysis:
    """What passes share; `source` is the input as the user named it."""
    return Analysis(
        target=options.target,
        dims=options.dims,
        tiling=options.tiling,
        devices=options.devices,
        fold=options.fold,
        slow=options.slow,
        effort=options.effort,
        results_per_call=options.results_per_call,
        trace=options.trace,
        recording=options.recording,
        source=source,
    )


class Pipeline:
    """A compile session whose remarks go where the command line says."""

    def __init__(self, session: CompileSession, command: CommandLine, default_filter: str) -> None:
        self._session = session
        self._command = command
        self.complete = True  # whether every pass saw the module and returned
        pattern = command.remarks_filter or default_filter
        self._sink = RemarkSink(session.context, pattern, print_record)

    def parse(self) -> bool:
        """Read the input; False after IREE's message. `StockOnly` if it cannot be opened."""
        try:
            with self._iree_remarks():
                return self._session.parse()
        except ValueError:
            raise StockOnly from None

    def advance(self, phase: str) -> bool:
        with self._iree_remarks():
            return self._session.advance(phase)

    def run(
        self, group: Sequence[ModulePass], shared: Analysis, probing: Probing | None = None
    ) -> bool:
        """Stop at each phase that a pass wants; False after IREE's message.

        Phases that this command line leaves out are said in one line. Passes of `probing` run
        after those of `group`, for which a fault there is no reason to stop. Raises `Refused`
        where the program takes no probes, and `StockOnly` where they failed.
        """
        if shared.effort == "high" and probing is None:
            from xpu_shark.compiler import alternatives

            shared.more_findings = partial(alternatives.findings, self._command)
        wanted = stops(group) + (stops(probing.passes) if probing else [])
        wanted.sort(key=lambda stop: PHASES.index(stop[0]))
        if left_out := [phase for phase, _ in wanted if not self._session.reaches(phase)]:
            errors.warning(f"analysis skipped at {', '.join(left_out)}: {self._range()}")
            self.complete = False
        for phase, ready in wanted:
            if phase in left_out:
                continue
            if phase != "start" and not self.advance(phase):
                return False
            if not self._hand_over(ready, shared, probing):
                break
        _warn_of_unused_dims(shared)
        return True

    def _hand_over(
        self, ready: Sequence[ModulePass], shared: Analysis, probing: Probing | None
    ) -> bool:
        """Run passes of one phase; whether the ones of later phases are to run.

        What probing passes say is held back until it is clear that there will be probes.
        """
        probes = probing is not None and ready[0] in probing.passes
        before = len(self._sink.records)
        with self._sink.listening(tell=not probes):
            done = self._session.hand_over(ready, shared)
        self.complete &= done
        if probing is None or not probes:
            return done or probing is not None
        if not done:
            raise StockOnly("compiled without probes")
        probing.check()
        for record in self._sink.records[before:]:
            print_record(record)
        return True

    def write_remarks(self) -> None:
        """The YAML file, if one was asked for; a file that cannot be written is one line."""
        path = self._command.remarks_output_file
        if not path:
            return
        try:
            outputs.replace(path, self._sink.write_yaml)
        except (OSError, ValueError) as problem:
            errors.warning(f"--remarks-output-file {path}: {problem}")

    def _iree_remarks(self) -> AbstractContextManager[None]:
        """IREE's own remarks: iree-compile keeps them where filter and file are given."""
        if self._command.remarks_filter and self._command.remarks_output_file:
            return self._sink.listening(tell=False)
        return nullcontext()

    def _range(self) -> str:
        """Why a phase is not part of this compile."""
        start, end = self._command.compile_from, self._command.compile_to
        given = [("--compile-from", start, "start"), ("--compile-to", end, "end")]
        flags = [f"{flag}={value}" for flag, value, usual in given if value != usual]
        return f"{' '.join(flags)} leaves it out"


def _warn_of_unused_dims(shared: Analysis) -> None:
    """A line for each --xpu-dim that the program has no use for, once it is read."""
    if shared.workload is None:
        return
    for name in unused(shared.workload, shared.dims):
        known = ", ".join(known_names(shared.workload)) or "none"
        errors.warning(f"--xpu-dim={name}: no size, loop or branch has this name (known: {known})")


@contextmanager
def repeatable_stdin(args: Sequence[str]) -> Iterator[None]:
    """Let standard input be read again from its start after this block, if `args` name it."""
    if "-" not in args:
        yield
        return
    if not _seekable(0):
        _spool()
    start = os.lseek(0, 0, os.SEEK_CUR)
    yield
    os.lseek(0, start, os.SEEK_SET)


def _seekable(descriptor: int) -> bool:
    try:
        os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return False
    return True


def _spool() -> None:
    """Put what a pipe still holds into a file, and the file in the pipe's place."""
    with tempfile.TemporaryFile() as spool:
        while chunk := os.read(0, 1 << 20):
            spool.write(chunk)
        spool.seek(0)
        os.dup2(spool.fileno(), 0)

"""From a program through IREE to simulated kernels: the work is the one counted by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import pytest
from counted_programs import PROGRAMS, Program
from iree.compiler import ir
from iree.compiler.api import Session, Source

from xpu_shark.compiler import iree_api
from xpu_shark.passes.bridge.read_workload import read_workload
from xpu_shark.simulator import target
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.evaluate import Settings, simulate
from xpu_shark.simulator.result import Dispatch
from xpu_shark.simulator.work import compulsory_bytes
from xpu_shark.simulator.workload import Kernel, Workload

LAST = "executable-configurations"
BACKENDS = {
    "llvm-cpu": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
    ),
    "rocm": ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
    "cuda": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "vulkan-spirv": ("--iree-hal-target-device=vulkan",),
}
# IREE would turn f64 into f32 before anything else.
KEEP_F64 = "--iree-input-demote-f64-to-f32=false"
# A few on every backend, all on one.
EVERYWHERE = (
    *("matmul", "matmul_prime", "matmul_f16_f32", "batch_matmul", "matvec", "conv_nhwc"),
    *("conv_strided", "conv_grouped", "conv_depthwise", "sum_last", "max_pool", "gather"),
)


@dataclass(frozen=True)
class Compiled:
    workload: Workload
    dispatches: Counter[str]  # flow.dispatch ops by function
    lines: dict[str, range]


@pytest.fixture(scope="module", params=BACKENDS)
def compiled(request: pytest.FixtureRequest) -> Compiled:
    """The programs of one backend, as one module."""
    return _compile(request.param)


def _of(backend: str) -> tuple[Program, ...]:
    if backend == "llvm-cpu":
        return PROGRAMS
    return tuple(program for program in PROGRAMS if program.name in EVERYWHERE)


@cache
def _compile(backend: str) -> Compiled:
    session, programs = Session(), _of(backend)
    session.set_flags(*BACKENDS[backend], KEEP_F64)
    invocation = session.invocation()
    text = "\n".join(program.text for program in programs)
    source = Source.wrap_buffer(session, f"{text}\0".encode(), buffer_name="programs.mlir")
    assert invocation.parse_source(source)
    iree_api.set_phases(invocation, "start", "flow")
    assert invocation.execute()
    module = invocation.export_module()
    found = _dispatches(module)
    invocation.import_module(module)
    iree_api.set_phases(invocation, "flow", LAST)
    assert invocation.execute()
    workload = read_workload(module)
    ends = list(accumulate(program.text.count("\n") + 1 for program in programs))
    lines = {
        program.name: range(end - program.text.count("\n"), end + 1)
        for program, end in zip(programs, ends, strict=True)
    }
    invocation.close()
    return Compiled(workload, found, lines)


def _dispatches(module: ir.Operation) -> Counter[str]:
    counts: Counter[str] = Counter()
    for view in module.regions[0].blocks[0].operations:
        function = view.operation
        if function.name == "util.func" and len(function.regions[0].blocks):
            name = str(function.attributes["sym_name"].value)
            for block in function.regions[0].blocks:
                counts[name] += sum(op.operation.name == "flow.dispatch" for op in block.operations)
    return counts


@pytest.fixture(scope="module", params=["tiny", "tpu_v6e"])
def simulated(
    compiled: Compiled, request: pytest.FixtureRequest
) -> tuple[Compiled, str, dict[str, list[Dispatch]]]:
    """Dispatches by function."""
    report = simulate(compiled.workload, Settings(target.load(request.param)))
    found: dict[str, list[Dispatch]] = {name: [] for name in compiled.lines}
    for dispatch in report.dispatches:
        found[dispatch.function].append(dispatch)
    return compiled, request.param, found


Simulated = tuple[Compiled, str, dict[str, list[Dispatch]]]


def _programs(compiled: Compiled) -> list[Program]:
    return [program for program in PROGRAMS if program.name in compiled.lines]


def _compulsory(workload: Workload, dispatch: Dispatch) -> int:
    kernels: dict[str, Kernel] = {kernel.name: kernel for kernel in workload.kernels}
    sizes = {f"constant{n}": v for n, v in enumerate(dispatch.constants) if v is not None}
    return compulsory_bytes(bind(kernels[dispatch.name], sizes))


def test_every_dispatch_of_the_program_is_there_and_modelled(simulated: Simulated) -> None:
    compiled, _, found = simulated
    for name, dispatches in found.items():
        assert sum(dispatch.sites for dispatch in dispatches) == compiled.dispatches[name], name
        states = {(dispatch.state, dispatch.reason) for dispatch in dispatches}
        assert states == {("modelled", "")}, name


def test_flops_are_those_of_the_definition(simulated: Simulated) -> None:
    compiled, _, found = simulated
    got = {
        name: sum(d.run.flops * d.launches for d in dispatches if d.run)
        for name, dispatches in found.items()
    }
    assert got == {program.name: program.flops for program in _programs(compiled)}


def test_compulsory_bytes_are_arguments_and_results(simulated: Simulated) -> None:
    compiled, _, found = simulated
    got = {
        name: sum(_compulsory(compiled.workload, d) * d.launches for d in dispatches)
        for name, dispatches in found.items()
    }
    assert got == {program.name: program.size for program in _programs(compiled)}


def test_the_matrix_unit_has_work_where_it_takes_the_types(simulated: Simulated) -> None:
    compiled, name, found = simulated
    lacks = ("i4",) if name == "tiny" else ()
    for program in _programs(compiled):
        if any(element in program.name for element in lacks) or "f8" in program.name:
            continue
        used = any(d.run.utilization["matrix"] > 0 for d in found[program.name] if d.run)
        assert used == program.matrix, program.name


def test_time_is_above_its_bound_and_traffic_above_the_compulsory(simulated: Simulated) -> None:
    compiled, _, found = simulated
    for name, dispatches in found.items():
        for dispatch in dispatches:
            assert dispatch.run is not None, name
            assert dispatch.run.time_ps >= dispatch.run.bounds.bound_ps > 0, name
            assert dispatch.run.bytes["hbm"] >= _compulsory(compiled.workload, dispatch), name


def test_whole_tiles_that_fit_the_scratchpad_move_once(simulated: Simulated) -> None:
    """Rows of 64 bytes and more, all in one tile of tpu_v6e: traffic is the compulsory one."""
    compiled, name, found = simulated
    if name != "tpu_v6e":
        pytest.skip("the scratchpad of tiny is smaller than the arrays")
    for program in ("matmul", "batch_matmul", "conv_nhwc", "sum_last", "matmul_bias_relu"):
        for dispatch in found.get(program, ()):
            assert dispatch.run is not None
            assert dispatch.run.bytes["hbm"] == _compulsory(compiled.workload, dispatch), program


def test_locations_are_lines_of_the_function(simulated: Simulated) -> None:
    compiled, _, found = simulated
    for name, dispatches in found.items():
        for dispatch in dispatches:
            assert dispatch.locations, name
            for location in dispatch.locations:
                file, line, _ = location.split(":")
                assert file == "programs.mlir"
                assert int(line) in compiled.lines[name], name

"""Kernels on a made-up CPU (`hosts.py`): 1 GHz, so that a cycle is 1000 ps; two cores."""

from __future__ import annotations

import copy
from pathlib import Path

import msgspec
import pytest

from tests.simulator.hosts import HOST, TABLES, changed
from tests.simulator.kernels import elementwise, matmul, softmax
from xpu_shark.compiler.calibrate import toml_text
from xpu_shark.simulator import cache_traffic, core_cost, lower_core
from xpu_shark.simulator.bind import BoundKernel, Context, bind
from xpu_shark.simulator.plan import Tiling
from xpu_shark.simulator.simulate import run_bound, simulate_kernel
from xpu_shark.simulator.target import Target, TargetError, load
from xpu_shark.simulator.workload import Kernel, TileLevel, Work


def tiled(kernel: Kernel, peeled: bool = True, **levels: tuple[int, ...]) -> Kernel:
    """The kernel with tile sizes as llvm-cpu spells them; contractions have a level more."""
    found = [TileLevel(name=name, sizes=sizes) for name, sizes in levels.items()]
    if peeled and "distribution" in levels:
        found.append(TileLevel(name="cache_parallel", sizes=levels["distribution"]))
    nest = msgspec.structs.replace(kernel.nests[0], tiles=tuple(found))
    return msgspec.structs.replace(kernel, nests=(nest,), backend="llvm-cpu")


def product(m: int, n: int, k: int, *, peeled: bool = True, columns: int = 16) -> BoundKernel:
    return bind(
        tiled(
            matmul(m, n, k),
            peeled,
            distribution=(8, columns, 0),
            vector_common_parallel=(8, 8, 0),
            vector_reduction=(0, 0, 8),
        ),
        {},
    )


def copied_columns(rows: int, columns: int, taken: int) -> BoundKernel:
    """The first `taken` of the columns, in an array of their own."""
    kernel = elementwise(rows, taken, kind="add")
    tensors = list(kernel.tensors)
    read = kernel.nests[0].reads[0].tensor
    tensors[read] = msgspec.structs.replace(tensors[read], shape=(rows, columns))
    return bind(
        tiled(
            msgspec.structs.replace(kernel, tensors=tuple(tensors)),
            peeled=False,
            distribution=(64, taken),
            vector_common_parallel=(1, 8),
        ),
        {},
    )


def cycles(kernel: BoundKernel, *extents: int, target: Target = HOST) -> float:
    return core_cost.cycles(kernel, kernel.nests[0], target, extents)


def test_a_product_takes_its_steps_on_the_busiest_port() -> None:
    # 2 tiles of 8 x 8, 64 steps each, 8 multiply-adds of a cycle in a step.
    assert cycles(product(8, 16, 64), 8, 16, 64) == 2 * 64 * 8


def test_peeled_edges_are_tiles_of_their_own() -> None:
    # 9 rows are a tile of 8 and one of a single accumulator, whose chain takes 4 cycles a step.
    assert cycles(product(9, 16, 64), 9, 16, 64) == pytest.approx(2 * 64 * (8 + 4))
    # Workgroups of 12 columns are a tile of 8 and one of 4, which takes as long.
    twelve = product(8, 12, 64, columns=12)
    assert cycles(twelve, 8, 12, 64) == pytest.approx(2 * 64 * 8)
    # The last 3 columns of an array are left over where the compiler does not see them.
    assert cycles(product(8, 16, 64), 8, 11, 64) == pytest.approx(64 * 8 + 8 * 3 * 64 * 5.0)


def test_a_product_that_does_not_divide_and_is_not_peeled_is_scalar() -> None:
    kernel = product(8, 16, 64, peeled=False)
    assert cycles(kernel, 8, 11, 64) == 8 * 11 * 64 * 5.0


def test_a_masked_loop_pays_for_every_vector() -> None:
    kernel = bind(tiled(elementwise(4, 64), peeled=False, vector_common_parallel=(1, 8)), {})
    assert cycles(kernel, 4, 64) == 4 * 8 * 16.0  # exp, 16 cycles a vector
    # 60 columns: 8 vectors a row, each masked, for 20 cycles more.
    assert cycles(kernel, 4, 60) == pytest.approx(4 * 8 * (16.0 + 20.0))


def test_narrow_types_are_computed_in_32_bits() -> None:
    kernel = elementwise(4, 64, kind="add", element="bf16")
    bound = bind(tiled(kernel, peeled=False, vector_common_parallel=(1, 8)), {})
    assert cycles(bound, 4, 64) == 4 * 8 * (1.0 + 6.0)


def test_a_nest_without_tiles_runs_point_by_point() -> None:
    kernel = bind(elementwise(4, 64, kind="add"), {})
    assert cycles(kernel, 4, 64) == 4 * 64 * (2.0 + 1.0)


def test_a_sort_compares_neighbours_as_often_as_there_are_elements() -> None:
    # 4 rows of 10 elements, 10 x 9 steps each: 7 cycles, and the comparator. The nest has 4 of
    # its operation of one cycle an element, for the 4 halvings of 10.
    kernel = matmul(4, 1, 10)
    work = (Work(kind="compare", element="f32", count=4),)
    nest = msgspec.structs.replace(kernel.nests[0], whole=True, work=work, contraction=None)
    sort = bind(msgspec.structs.replace(kernel, nests=(nest,)), {})
    assert cycles(sort, 4, 1, 10) == 4 * 10 * 9 * (7.0 + 1.0)


def test_two_cores_share_the_workgroups() -> None:
    # 8 x 64 results of 64 steps in 4 workgroups of 2 tiles: 2 waves of 1024 cycles, if nothing
    # has to be waited for, after a launch of 100 ns.
    fast = [
        msgspec.structs.replace(level, line_ns=0.0, set_line_ns=None, bytes_per_s=1e15)
        for level in HOST.memory
    ]
    levels = tuple(msgspec.structs.replace(level, core_bytes_per_s=None) for level in fast)
    quick = msgspec.structs.replace(HOST, memory=levels)
    kernel, tiling = product(8, 64, 64), Tiling((8, 16, 64), (0, 1))
    assert run_bound(kernel, tiling, quick).time_ps == 100_000 + 2 * 1024_000
    # The second core sleeps for 1.1 us: one workgroup is done by then, the three others take
    # two waves.
    assert quick.core is not None
    core = msgspec.structs.replace(quick.core, wake_ns=1100.0)
    late = msgspec.structs.replace(quick, core=core)
    assert run_bound(kernel, tiling, late).time_ps == 100_000 + 3 * 1024_000


def test_foreseen_lines_take_bandwidth() -> None:
    # 2^16 sums of f32: 256 KiB read, and as much read and written over, at 16 GB/s: 49.2 us. Eight
    # elements a ns and core would take 4.1 us.
    kernel = tiled(
        elementwise(1 << 16, kind="add"),
        peeled=False,
        distribution=(4096,),
        vector_common_parallel=(8,),
    )
    run = simulate_kernel(kernel, {}, HOST)
    assert run is not None
    assert run.bytes["dram"] == 3 << 18
    assert run.time_ps == pytest.approx((3 << 18) / 16e9 * 1e12, rel=0.01)
    assert run.attribution.limit == "dram"


@pytest.mark.parametrize(("columns", "waited"), [(511, False), (512, True)])
def test_rows_less_than_half_a_page_apart_are_foreseen(columns: int, waited: bool) -> None:
    # 8 of the columns of each of 512 rows are copied; 512 columns are 2048 bytes. Of the result,
    # the first two lines of each of 8 workgroups are not foreseen; they are read and written.
    kernel = copied_columns(512, columns, 8)
    flow = cache_traffic.traffic(kernel, Tiling((64, 8), (0,)), HOST)
    assert flow.held_bytes["dram"] == 8 * 2 * 2 * 64 + (512 * 64 if waited else 0)


def test_the_first_two_lines_of_each_run_are_waited_for() -> None:
    # 256 of 1024 columns, 64 rows: runs of 16 lines, of which a prefetcher has to see two. The
    # result lies in one piece, whose lines are read and written.
    kernel = copied_columns(64, 1024, 256)
    flow = cache_traffic.traffic(kernel, Tiling((64, 256), (0,)), HOST)
    assert flow.held_bytes["dram"] == (64 * 2 + 2 * 2) * 64
    assert flow.waits_ps == [(64 * 2 + 2 * 2) * 50_000]


def skipping() -> BoundKernel:
    """One row of 512 results: columns of B are 64 lines of 64 rows, in tiles of 8 columns."""
    return bind(
        tiled(
            matmul(1, 512, 64),
            distribution=(1, 64, 0),
            vector_common_parallel=(1, 8, 0),
            vector_reduction=(0, 0, 8),
        ),
        {},
    )


def test_lines_that_a_stride_skips_to_are_waited_for() -> None:
    # L1 has 16 lines, L2 64: of every line both halves come from L2, once it came from the last
    # cache.
    flow = lower_core.traffic(skipping(), Tiling((1, 64, 64), (0, 1)), HOST)
    assert flow.held_bytes["l3"] >= 64 * 32 * 64
    assert flow.waits_ps[0] >= 64 * 32 * 10_000


def test_a_core_runs_ahead_of_lines_that_it_waits_for() -> None:
    # Steps of one register take 4 cycles, 4096 of them 16.4 us; 2048 lines of 10 ns from the last
    # cache and as many of 5 ns for the other half from L2 take longer: nothing is added.
    kernel, tiling = skipping(), Tiling((1, 64, 64), (0, 1))
    waits = lower_core.traffic(kernel, tiling, HOST).waits_ps[0]
    assert waits > 4096 * 4 * 1000
    time, _ = lower_core.estimate(kernel, tiling, msgspec.structs.replace(HOST, cores=1))
    assert time == pytest.approx(100_000 + waits, rel=1e-3)


@pytest.mark.parametrize(("cached", "level"), [(True, "l3"), (False, "dram"), (None, "dram")])
def test_operands_come_from_where_the_launches_before_left_them(
    cached: bool | None, level: str
) -> None:
    kernel = elementwise(512, 512, kind="add")
    kernel = tiled(kernel, peeled=False, distribution=(64, 512), vector_common_parallel=(1, 8))
    there = ((0, 1.0), (1, 1.0)) if cached else ()
    context = Context(cached=None if cached is None else there)
    flow = lower_core.traffic(bind(kernel, {}, context), Tiling((64, 512), (0,)), HOST)
    moved = sum(part.get(level, 0) for part in (flow.bytes, flow.held_bytes))
    assert moved == sum(flow.bytes.values()) + sum(flow.held_bytes.values()) > 0


@pytest.mark.parametrize(("rows", "times"), [(8, 1), (16, 2)])
def test_a_maximum_is_computed_for_the_sum_and_for_the_results(rows: int, times: int) -> None:
    # Where tiles of 8 rows make a loop; IREE's code for a softmax of 32 rows a workgroup has the
    # maximum in it twice, that of 6 rows once.
    kernel = softmax(64, 64)
    most, _, total, last = kernel.nests
    wide, column = most.reads[0], most.writes[0]
    total = msgspec.structs.replace(total, reads=(wide, column))
    last = msgspec.structs.replace(last, reads=(wide, column, *total.writes))
    levels = (
        TileLevel(name="vector_common_parallel", sizes=(8, 0)),
        TileLevel(name="vector_reduction", sizes=(0, 8)),
    )
    nests = tuple(msgspec.structs.replace(nest, tiles=levels) for nest in (most, total, last))
    bound = bind(msgspec.structs.replace(kernel, nests=nests), {})
    found = [core_cost.copies(bound, number, (rows, 64)) for number in range(len(nests))]
    assert found == [times, 1, 1]


def test_a_product_of_rows_is_added_up_lane_by_lane() -> None:
    # One result at a time, 8 steps of it in a register: each addition waits 3 cycles for the last.
    kernel = bind(
        tiled(
            matmul(8, 8, 64),
            peeled=False,
            distribution=(8, 8, 0),
            vector_common_parallel=(1, 1, 0),
            vector_reduction=(0, 0, 8),
        ),
        {},
    )
    nest = kernel.nests[0]
    assert core_cost.cycles(kernel, nest, HOST, (8, 8, 64)) == 8 * 8 * 64 * 3.0


def test_estimate_is_the_time_of_the_program() -> None:
    kernel, tiling = product(64, 64, 64), Tiling((8, 16, 64), (0, 1))
    time, _ = lower_core.estimate(kernel, tiling, changed(wake_ns=2500.0))
    run = run_bound(kernel, tiling, changed(wake_ns=2500.0))
    assert time == pytest.approx(run.time_ps, rel=1e-6)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("execution", "sequential", 'needs execution = "waves" and three levels'),
        ("core.madd_cycles", {"f32": 1.0}, "core.madd_cycles needs an entry named default"),
        ("memory.1.ways", None, "'l3' has no ways"),
    ],
)
def test_tables_that_no_cpu_has_are_refused(
    tmp_path: Path, key: str, value: object, problem: str
) -> None:
    tables: dict[str, object] = copy.deepcopy(TABLES)
    place: object = tables
    *path, last = key.split(".")
    for step in path:
        place = place[int(step)] if isinstance(place, list) else place[step]  # type: ignore[index]
    assert isinstance(place, dict)
    if value is None:
        del place[last]
    else:
        place[last] = value
    if key == "execution":
        tables["cores"] = 1
    file = tmp_path / "cpu.toml"
    file.write_text(toml_text.write(tables, {}, "made up"))
    with pytest.raises(TargetError, match=problem.replace("[", r"\[")):
        load(str(file))

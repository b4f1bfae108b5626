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
from xpu_shark.simulator.units import core as units
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
    assert [sum(wait.ps for wait in waits) for waits in flow.waits] == [(64 * 2 + 2 * 2) * 50_000]


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
    assert sum(wait.ps for wait in flow.waits[0]) >= 64 * 32 * 10_000


def longer(part: cache_traffic.Wait, arithmetic_ps: float) -> float:
    """How much longer lines take than the steps in which they come."""
    return max(0.0, part.ps - arithmetic_ps * part.share)


def test_a_core_runs_ahead_of_lines_that_it_waits_for() -> None:
    # 4096 steps of one register take 4 cycles each. What lines from one level take beyond the
    # steps in which they come is added.
    kernel, tiling = skipping(), Tiling((1, 64, 64), (0, 1))
    arithmetic = 4096 * 4 * 1000
    waits = lower_core.traffic(kernel, tiling, HOST).waits[0]
    later = sum(longer(wait, arithmetic) for wait in waits)
    assert 0 < later < sum(wait.ps for wait in waits)
    time, _ = lower_core.estimate(kernel, tiling, msgspec.structs.replace(HOST, cores=1))
    assert time == pytest.approx(100_000 + arithmetic + later, rel=1e-3)


def cold(columns: int, tile: int = 16, step: int = 8) -> BoundKernel:
    """8 rows of results; a matrix of 4096 rows, more than what the last cache is taken to keep."""
    return bind(
        tiled(
            matmul(8, columns, 4096),
            distribution=(8, tile, 0),
            vector_common_parallel=(8, tile, 0),
            vector_reduction=(0, 0, step),
        ),
        {},
    )


def slowest(kernel: BoundKernel, target: Target, tile: int = 16) -> cache_traffic.Wait:
    tiling = Tiling((8, tile, 4096), (0, 1))
    waits = cache_traffic.traffic(kernel, tiling, target).waits[0]
    return max(waits, key=lambda wait: wait.ps)


def with_level(place: int, **keys: object) -> Target:
    levels = list(HOST.memory)
    levels[place] = msgspec.structs.replace(levels[place], **keys)
    return msgspec.structs.replace(HOST, memory=tuple(levels))


@pytest.mark.parametrize(("window", "each_ns"), [(8.0, 300.0), (48.0, 100.0), (960.0, 50.0)])
def test_memory_is_waited_for_as_few_lines_are_asked_for_at_a_time(
    window: float, each_ns: float
) -> None:
    # A line of B is for 16 multiply-adds, two registers of 8 rows: a core that looks `window` of
    # them ahead has asked for 1, 3 or 60 lines, which come after 300 ns; and each takes 50.
    target = with_level(0, latency_ns=300.0)
    assert target.core is not None
    core = msgspec.structs.replace(target.core, window={"madd": window})
    found = slowest(cold(1024), msgspec.structs.replace(target, core=core))
    assert found == cache_traffic.Wait(pytest.approx(4096 * 64 * each_ns * 1000), 1.0)


@pytest.mark.parametrize("followed", [0.25, 0.75, 1.0])
def test_of_near_rows_prefetchers_fetch_what_was_measured(followed: float) -> None:
    # 8 of 256 columns of 512 rows, 1024 bytes apart, and of the result what nobody foresees.
    kernel, tiling = copied_columns(512, 256, 8), Tiling((64, 8), (0,))
    flow = cache_traffic.traffic(kernel, tiling, changed(followed=followed))
    assert flow.held_bytes["dram"] == (1 - followed) * 512 * 64 + 8 * 2 * 2 * 64


def test_lines_that_meet_in_four_sets_or_one_have_their_own_cost() -> None:
    level = msgspec.structs.replace(HOST.memory[2], few_line_ns=3.0)
    found = [cache_traffic._line_ns(level, sets) for sets in (1, 2, 4, 8)]
    assert found == [5.0, 4.0, 3.0, 2.0]
    # Where nobody measured it, four sets are as quick as any.
    found = [cache_traffic._line_ns(HOST.memory[2], sets) for sets in (1, 2, 4, 8)]
    assert found == [5.0, 3.5, 2.0, 2.0]


@pytest.mark.parametrize(
    ("columns", "step", "share"),
    [(1024, 1, 0.5), (1024, 8, 1.0), (1040, 1, 1.0)],  # one set of 8, and all of them
)
def test_lines_of_one_set_that_are_asked_for_one_by_one_take_a_share(
    columns: int, step: int, share: float
) -> None:
    plain, single = (
        slowest(cold(columns, step=step), changed(single_share=each)) for each in (1.0, 0.5)
    )
    assert single.ps == pytest.approx(share * plain.ps)


@pytest.mark.parametrize(("share", "lines"), [(1.0, 2.0), (0.5, 1.5), (0.0, 1.0)])
def test_the_line_behind_one_that_is_fetched_costs_a_share_of_it(
    share: float, lines: float
) -> None:
    # Register tiles of 32 columns are two lines of each row.
    two = slowest(cold(1024, tile=32), with_level(0, next_line_share=share), tile=32)
    assert two.ps == pytest.approx(4096 * 32 * lines * 50_000)


@pytest.mark.parametrize(("share", "each"), [(0.0, 8.0), (0.25, 9.5)])
def test_shuffles_take_a_part_of_the_ports_of_multiply_adds(share: float, each: float) -> None:
    # 8 multiply-adds of a cycle, and 8 elements of 0.75 that go to other lanes.
    kernel = matmul(8, 8, 64)
    nest = kernel.nests[0]
    swapped = msgspec.structs.replace(nest.reads[1], map=tuple(reversed(nest.reads[1].map)))
    reads = (nest.reads[0], swapped)
    kernel = msgspec.structs.replace(kernel, nests=(msgspec.structs.replace(nest, reads=reads),))
    levels = {"vector_common_parallel": (8, 8, 0), "vector_reduction": (0, 0, 8)}
    bound = bind(tiled(kernel, distribution=(8, 8, 0), **levels), {})
    assert cycles(bound, 8, 8, 64, target=changed(shuffle_share=share)) == pytest.approx(64 * each)


@pytest.mark.parametrize(("rows", "steps"), [(8, 1), (8, 8), (4, 16)])
def test_masked_sums_wider_than_a_register_are_taken_apart(rows: int, steps: int) -> None:
    # 16 columns a tile are two registers of 8 lanes; of the last workgroup 4 columns are there.
    levels = {"vector_common_parallel": (rows, 16, 0), "vector_reduction": (0, 0, steps)}
    levels["cache_parallel"] = (32, 64, 0)
    kernel = bind(tiled(matmul(32, 68, 64), distribution=(32, 64, 0), **levels), {})
    spent = cycles(kernel, 32, 4, 64, target=changed(apart_cycles=0.5))
    assert spent == 0.5 * (32 // rows) * (64 // steps) * 16 * (rows + steps)
    assert cycles(kernel, 32, 4, 64) == 32 * 4 * 64 * HOST.core.scalar_cycles
    # However quick that is, the tile's multiply-adds remain: two registers for each row and term.
    least = cycles(kernel, 32, 4, 64, target=changed(apart_cycles=1e-6))
    assert least == pytest.approx(32 * 64 * 2 * HOST.core.madd_cycles["default"])


def test_a_product_whose_tiles_do_not_divide_it_has_its_own_cost() -> None:
    kernel = product(8, 16, 64, peeled=False)
    assert cycles(kernel, 8, 11, 64, target=changed(ragged_cycles=0.5)) == 8 * 11 * 64 * 0.5


def test_a_narrow_type_has_its_own_chain_and_looks_less_far_ahead() -> None:
    # Of bf16 a multiply-add takes 4 cycles: 30 that a core looks ahead are 7.5. One sum of 64
    # terms, 10 cycles each.
    core = changed(
        window={"madd": 30.0}, latency_cycles={"default": 3.0, "madd": 4.0, "bf16": 10.0}
    ).core
    assert core is not None
    step = units.Product(1, 8, 64)
    found = units.product_cycles(HOST, core, step, "bf16", 32)
    assert found == pytest.approx(10 * 64 / (64 + 7.5))


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

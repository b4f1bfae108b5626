"""Built-in targets agree with their data sheets; bad target files are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from xpu_shark.simulator import peaks, target_checks, tiling
from xpu_shark.simulator.target import TARGETS, Published, Target, TargetError, load, names

TINY = (TARGETS / "tiny.toml").read_text()
FIGURES = [(name, figure) for name in names() for figure in load(name).published]


def _computed(target: Target, figure: Published) -> float:
    slower = (figure.clock_hz or target.clock_hz) / target.clock_hz
    if figure.quantity == "flops":
        return slower * peaks.flops_per_s(target, figure.of)
    if figure.quantity == "vector_flops":
        return slower * peaks.vector_flops_per_s(target, figure.of)
    if figure.quantity == "bytes_per_s":
        return peaks.bytes_per_s(target, figure.of)
    return peaks.level_named(target, figure.of).bytes


def _refusal(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "chip.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(TargetError) as refused:
        load(str(path))
    message = str(refused.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_the_wanted_targets_are_there() -> None:
    wanted = {"tiny", "tpu_v4", "tpu_v5e", "tpu_v6e", "a100", "h100", "h200", "mi210", "mi300x"}
    assert wanted | {"xdna2"} <= set(names())


@pytest.mark.parametrize("name", names())
def test_target_loads_under_its_file_name(name: str) -> None:
    assert load(name).name == name


@pytest.mark.parametrize("name", names())
def test_target_file_opens_with_its_derivation_and_has_figures(name: str) -> None:
    assert (TARGETS / f"{name}.toml").read_text().startswith(f"# {name}: ")
    assert load(name).published


@pytest.mark.parametrize(
    ("name", "figure"), FIGURES, ids=[f"{n}-{f.quantity}-{f.of}" for n, f in FIGURES]
)
def test_published_figure_follows_from_the_tables(name: str, figure: Published) -> None:
    assert _computed(load(name), figure) == pytest.approx(figure.value, rel=figure.tolerance)


@pytest.mark.parametrize("name", names())
def test_figures_are_met_within_a_tenth(name: str) -> None:
    assert all(figure.tolerance <= 0.1 for figure in load(name).published)


def test_tiny_peaks_counted_by_hand() -> None:
    tiny = load("tiny")
    assert peaks.flops_per_s(tiny, "f32") == 32e9  # 4 x 4 cells x 2 x 1 GHz
    assert peaks.flops_per_s(tiny, "f64") == 4e9  # 4 lanes x 2 / double cost x 1 GHz
    assert peaks.vector_ops_per_s(tiny, "f32") == 4e9  # 4 lanes x 1 GHz
    assert peaks.bytes_per_s(tiny, "hbm") == 4e9


def test_private_memory_counts_every_core() -> None:
    assert peaks.bytes_per_s(load("a100"), "smem") == 108 * 180e9


def test_cycles_become_picoseconds_at_the_sustained_clock_rounded_up() -> None:
    assert load("tiny").ps(1.0001) == 1001  # 1 GHz: 1000.1 ps
    assert load("mi210").ps(1150) == 1_000_000  # 1.15 GHz, not 1.7


def test_unknown_target_names_the_nearest() -> None:
    with pytest.raises(TargetError, match=r"unknown target 'tpu_v6', did you mean 'tpu_v6e'\?"):
        load("tpu_v6")


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="No such file"):
        load(str(tmp_path / "none.toml"))


def test_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir.toml").mkdir()
    with pytest.raises(TargetError, match="directory"):
        load(str(tmp_path / "dir.toml"))


def test_memory_that_is_not_there_is_refused() -> None:
    with pytest.raises(TargetError, match=r"tiny has no memory 'l2' \(known: hbm, sram\)"):
        peaks.bytes_per_s(load("tiny"), "l2")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("clock_hz = 1e9", "clock_hz = 1e9\nclock_mhz = 1", "clock_mhz"),
        ("clock_hz = 1e9", "", "clock_hz"),
        ("clock_hz = 1e9", 'clock_hz = "1 GHz"', "$.clock_hz"),
        ("clock_hz = 1e9", "clock_hz = 0", "$.clock_hz"),
        ("clock_hz = 1e9", "clock_hz = -1e9", "$.clock_hz"),
        ("clock_hz = 1e9", "clock_hz = nan", "$.clock_hz"),
        ("clock_hz = 1e9", "clock_hz = inf", "$.clock_hz"),
        ("clock_hz = 1e9", "clock_hz = 1e300", "$.clock_hz"),
        ("clock_hz = 1e9", "clock_hz = 1e9\nsustained_clock_hz = 2e9", "sustained_clock_hz"),
        ("clock_hz = 1e9", "clock_hz = 1e-9", "clock_hz = 1e-09 is not between"),
        ("clock_hz = 1e9", "clock_hz = 2e12", "clock_hz = 2e+12 is not between"),
        ("cores = 1", "cores = 4", 'execution = "sequential" is for one core, cores = 4'),
        ('tiler = "systolic"', 'tiler = "foo"', "tiler = 'foo' is not known (known: cpu, gpu"),
        ("burst_bytes = 4", "burst_bytes = 4_000_000_000", "'hbm' has burst_bytes = 4000000000"),
        ("f32 = 1.0,", "f33 = 1.0,", "matrix.cycles_per_row has 'f33'"),
        (
            "exp = 4.0,",
            "expp = 4.0,",
            "cycles_per_op has 'expp', which is no kind of operation, did",
        ),
        ("bytes_per_s = 4e9", "bytes_per_s = 0.0", "$.memory[0].bytes_per_s"),
        ("bytes_per_s = 4e9", "bytes_per_s = nan", "$.memory[0].bytes_per_s"),
        ("bytes_per_s = 4e9", "bytes_per_s = 4e9\npeak_bytes_per_s = 1e9", "peak_bytes_per_s"),
        ("bytes = 16_384", "bytes = 16_384.5", "$.memory[1].bytes"),
        ("bytes = 16_384", "bytes = 0", "$.memory[1].bytes"),
        ("bytes = 16_384", "bytes = 2_000_000_000", "'sram' has bytes = 2000000000"),
        ("bytes = 16_384", f"bytes = 1{'0' * 30}", "$.memory[1].bytes"),
        ('name = "sram"', 'name = "hbm"', "'hbm' is used twice"),
        ("shared = false", "", "'sram' is the last"),
        ("burst_bytes = 4", "burst_bytes = 4\nshared = false", "'hbm' is the main memory"),
        ("latency_ns = 20.0", "latency_ns = -20.0", "$.memory[0].latency_ns"),
        ("rows = 4", "rows = true", "$.matrix.rows"),
        ('kind = "systolic"', 'kind = "cube"', "cube"),
        ("f32 = 1.0,", "f32 = 0.0,", "$.matrix.cycles_per_row"),
        ("f32 = 1.0,", "float = 1.0,", "matrix.cycles_per_row has 'float'"),
        ("default = 1.0, ", "", "vector.cycles_per_op needs an entry named default"),
        ('execution = "sequential"', 'execution = "any"', "$.execution"),
        ("schema = 1", "schema = 2", "$.schema"),
        ("[dma]", "[submit]\nsoftmx = { before_ns = 1.0 }\n[dma]", "softmx"),
        ("[dma]", "[submit]\nsoftmax = { call_ns = 1.0 }\n[dma]", "before_ns"),
        ('of = "f32"', 'of = "fast"', "published.of has 'fast'"),
        ('quantity = "flops"', 'quantity = "bytes"', "published.of = 'f32' is not a memory"),
    ],
)
def test_bad_value_is_refused_by_name(tmp_path: Path, old: str, new: str, named: str) -> None:
    assert TINY.count(old) == 1
    assert named in _refusal(tmp_path, TINY.replace(old, new))


def test_empty_file_names_what_is_missing(tmp_path: Path) -> None:
    assert "missing required field `schema`" in _refusal(tmp_path, "")


@pytest.mark.parametrize("text", [b"\xff\xfe", b"schema = ", b"schema = 1\nschema = 1"])
def test_text_that_is_not_toml_is_refused_in_one_line(tmp_path: Path, text: bytes) -> None:
    _refusal(tmp_path, text)


def test_one_memory_level_is_not_enough(tmp_path: Path) -> None:
    head, _, rest = TINY.partition('[[memory]]\nname = "sram"')
    assert "$.memory" in _refusal(tmp_path, head + rest[rest.index("[dma]") :])


def test_tilers_that_a_target_may_name_are_those_that_exist() -> None:
    folder = Path(tiling.__file__).parent / "tilers"
    having = [path.stem for path in folder.glob("*.py") if "\ndef choose(" in path.read_text()]
    assert sorted(target_checks.TILERS) == sorted(having)

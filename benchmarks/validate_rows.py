"""Rows of measured operator times, one type for all tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GPUS = ("a100", "mi210")


@dataclass(frozen=True)
class Row:
    """One operator that was timed: `operator` names its generator, `sizes` are its arguments,
    `measured_us` is one execution; GPU rows include the launch by a framework."""

    device: str
    operator: str
    sizes: tuple[int, ...]
    measured_us: float

    @property
    def name(self) -> str:
        return f"{self.operator} {'x'.join(map(str, self.sizes))}"


def read(folder: Path) -> list[Row]:
    """Rows of every table in `folder`; a table that is not there has none."""
    rows = [*_v6e(folder / "tpu_v6e.csv"), *_v4(folder / "tpu_v4_matmul.csv")]
    for mode in ("prefill", "decode"):
        rows += _sdpa(folder / f"tpu_v6e_sdpa_{mode}.csv", mode)
    for device in GPUS:
        rows += _gpu_matmul(folder / f"matmul_{device}.csv", device)
        for operator in ("softmax", "layernorm", "gelu"):
            rows += _gpu_rate(folder / f"{operator}_{device}.csv", device, operator)
    return [*rows, *_all_reduce(folder / "allreduce_4xa100_nvlink.csv")]


def _v6e(path: Path) -> Iterator[Row]:
    for line in _table(path):
        if line["M"]:
            sizes = tuple(int(line[key]) for key in ("M", "K", "N"))
        else:
            sizes = tuple(map(int, line["workload"].removeprefix(f"{line['kind']}_").split("x")))
        yield Row("tpu_v6e", line["kind"], sizes, float(line["latency_ns"]) / 1e3)


def _sdpa(path: Path, mode: str) -> Iterator[Row]:
    for line in _table(path):
        sizes = tuple(int(line[key]) for key in ("B", "Hq", "Hkv", "S", "D"))
        yield Row("tpu_v6e", f"sdpa_{mode}", sizes, float(line["device_us"]))


def _v4(path: Path) -> Iterator[Row]:
    for line in _table(path):
        sizes = tuple(int(line[key]) for key in ("M", "K", "N"))
        yield Row("tpu_v4", f"matmul_{line['table']}", sizes, float(line["fusion_avg_us"]))


def _gpu_matmul(path: Path, device: str) -> Iterator[Row]:
    for m, k, n, time, _ in _lines(path):
        yield Row(device, "matmul", (int(m), int(k), int(n)), float(time.strip()[:-2]) * 1e3)


def _gpu_rate(path: Path, device: str, operator: str) -> Iterator[Row]:
    for *sizes, rate in _lines(path):
        dims = tuple(map(int, sizes))
        elements = dims[0] * (dims[1] if len(dims) > 1 else 1)
        yield Row(device, operator, dims, elements / float(rate) / 1e3)


def _all_reduce(path: Path) -> Iterator[Row]:
    for line in _table(path):
        yield Row("a100", "all_reduce", (int(line["bytes"]),), float(line["latency_us"]))


def _table(path: Path) -> Iterator[dict[str, str]]:
    if path.exists():
        with path.open(newline="") as stream:
            yield from csv.DictReader(stream)


def _lines(path: Path) -> Iterator[list[str]]:
    if path.exists():
        with path.open(newline="") as stream:
            yield from (line for line in csv.reader(stream) if line)

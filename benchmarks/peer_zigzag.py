"""Runs layers in zigzag-dse; started by bench_peers.py with the Python that has it.

    python peer_zigzag.py LAYERS.json FOLDER

Each layer is {"name", "dims": {"B", "K", "C", "OY", "OX", "FY", "FX"}, "stride"}. The machine is
the tool's own `tpu_like` with a 128 x 128 array, output channels along one side and input channels
along the other. Prints one line of JSON: CPU seconds without imports, cycles, peak memory in MB.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import resource
import sys
import time
from pathlib import Path
from typing import Any

import yaml
import zigzag  # type: ignore[import-not-found]
from zigzag.api import get_hardware_performance_zigzag  # type: ignore[import-not-found]

INPUTS = Path(zigzag.__file__).parent / "inputs"
PRECISION = {"W": 8, "I": 8, "O": 16, "O_final": 8}


def main(layers: list[dict[str, Any]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    workload = [_layer(number, layer) for number, layer in enumerate(layers)]
    accelerator, mapping = _machine(folder)
    logging.disable(logging.CRITICAL)
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        _, cycles, _ = get_hardware_performance_zigzag(
            workload=workload,
            accelerator=str(accelerator),
            mapping=str(mapping),
            dump_folder=str(folder),
            loma_show_progress_bar=False,
        )
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": seconds, "cycles": int(cycles), "peak_mb": peak}))


def _layer(number: int, layer: dict[str, Any]) -> dict[str, Any]:
    dims, stride = layer["dims"], layer["stride"]
    return {
        "id": number,
        "name": layer["name"],
        "operator_type": "Conv",
        "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        "dimension_relations": [f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"],
        "loop_dims": list(dims),
        "loop_sizes": list(dims.values()),
        "operand_precision": PRECISION,
        "operand_source": {"I": number, "W": number},
    }


def _machine(folder: Path) -> tuple[Path, Path]:
    machine = yaml.safe_load((INPUTS / "hardware" / "tpu_like.yaml").read_text())
    machine["operational_array"]["sizes"] = [128, 128]
    mapping = yaml.safe_load((INPUTS / "mapping" / "tpu_like.yaml").read_text())[:1]
    mapping[0]["spatial_mapping"] = {"D1": ["K, 128"], "D2": ["C, 128"]}
    files = folder / "machine.yaml", folder / "mapping.yaml"
    for path, content in zip(files, (machine, mapping), strict=True):
        path.write_text(yaml.safe_dump(content, sort_keys=False))
    return files


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))

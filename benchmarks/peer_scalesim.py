"""Runs one GEMM in scalesim; started by bench_peers.py with the Python that has it.

    python peer_scalesim.py M N K FOLDER

Prints one line of JSON: CPU seconds without imports, compute cycles (the tool's convention: each
pass loads weights, fills and drains), peak memory in MB.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
from pathlib import Path

from scalesim.scale_sim import scalesim  # type: ignore[import-not-found]

CONFIG = """[general]
run_name = gemm

[architecture_presets]
ArrayHeight = 128
ArrayWidth = 128
IfmapSramSzkB = 2048
FilterSramSzkB = 2048
OfmapSramSzkB = 2048
IfmapOffset = 0
FilterOffset = 1000000000
OfmapOffset = 2000000000
Dataflow = ws
Bandwidth = 256
ReadRequestBuffer = 64
WriteRequestBuffer = 64

[layout]
IfmapCustomLayout = False
FilterCustomLayout = False
IfmapSRAMBankBandwidth = 128
IfmapSRAMBankNum = 128
IfmapSRAMBankPort = 2
FilterSRAMBankBandwidth = 128
FilterSRAMBankNum = 128
FilterSRAMBankPort = 2

[sparsity]
SparsitySupport = false
SparseRep = ellpack_block
OptimizedMapping = false
BlockSize = 8
RandomNumberGeneratorSeed = 40

[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""


def main(m: int, n: int, k: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config, layers, layout = (folder / name for name in ("gemm.cfg", "gemm.csv", "layout.csv"))
    config.write_text(CONFIG)
    layers.write_text(f"Layer,M,N,K,\ngemm,{m},{n},{k},\n")
    layout.write_text("Layer,\n")
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        tool = scalesim(
            save_disk_space=True,
            verbose=False,
            config=str(config),
            topology=str(layers),
            layout=str(layout),
            input_type_gemm=True,
        )
        tool.run_scale(top_path=str(folder))
    seconds = time.process_time() - start
    cycles = tool.runner.single_layer_sim_object_list[0].get_compute_report_items()[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": seconds, "cycles": int(cycles), "peak_mb": peak}))


if __name__ == "__main__":
    main(*(int(size) for size in sys.argv[1:4]), Path(sys.argv[4]))

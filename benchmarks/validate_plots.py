"""Draws docs/accuracy_DEVICE.svg: simulated over measured time of every row, by operator.

    python benchmarks/validate_plots.py [--only=a100] [--tables=FOLDER] [--out=docs]

Needs matplotlib (the extra `plot`). Same tables and same version of it, same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

try:
    import matplotlib as mpl
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("validate_plots.py: needs matplotlib: pip install 'xpu-shark[plot]'")
from validate import TABLES, Result, groups, simulate
from validate_rows import read

DOCS = Path(__file__).resolve().parents[1] / "docs"
STYLE = {
    "svg.hashsalt": "xpu-shark",  # ids from the content, not from chance
    "svg.fonttype": "none",  # text as text
    "font.family": "sans-serif",
    "font.size": 9,
    "path.simplify": True,
}
MARKERS = "os^Dvphx"
BAND = 0.12  # shaded: within 12 % of the measured time


def main() -> int:
    args = _arguments()
    mpl.use("svg")
    rows = [row for row in read(args.tables) if args.only in row.device]
    if not rows:
        print(f"skipped: no rows of {args.only or 'any device'} in {args.tables}")
        return 0
    for device in dict.fromkeys(row.device for row in rows):
        own = groups([row for row in rows if row.device == device])
        path = args.out / f"accuracy_{device}.svg"
        draw([each for group in own for each in simulate(group, "default")], path)
        print(path)
    return 0


def draw(results: Sequence[Result], path: Path) -> None:
    """One chart of one device: measured time across, simulated over measured up, both on
    logarithmic axes. Ratios beyond 1/2 to 2 stand at the edge."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
        axes.axhspan(1 - BAND, 1 + BAND, color="0.92")
        axes.axhline(1, color="0.6", linewidth=0.8)
        for number, operator in enumerate(dict.fromkeys(r.row.operator for r in results)):
            own = [r for r in results if r.row.operator == operator]
            ratios = [min(max(r.simulated_us / r.row.measured_us, 0.5), 2) for r in own]
            marker = MARKERS[number % len(MARKERS)]
            measured = [r.row.measured_us for r in own]
            axes.plot(measured, ratios, marker, markersize=4, alpha=0.7, label=operator, mew=0)
        axes.set(xscale="log", yscale="log", ylim=(0.48, 2.1))
        axes.set_yticks([0.5, 0.7, 0.88, 1, 1.12, 1.4, 2])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlabel("measured, us")
        axes.set_ylabel("simulated / measured")
        axes.set_title(results[0].row.device)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, default=TABLES)
    parser.add_argument("--only", default="", help="part of a device's name")
    parser.add_argument("--out", type=Path, default=DOCS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

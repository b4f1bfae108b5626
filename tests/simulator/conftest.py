"""Lets tests of this folder import its builders, and those of the benchmarks, by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

"""Lets tests of this folder import its builders, and those of the simulator's tests, by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).resolve().parents[1] / "simulator"))

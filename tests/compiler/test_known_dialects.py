"""Stand-ins for dialects that have no Python classes."""

from __future__ import annotations

import subprocess
import sys

WALK = """
import importlib.util, sys
from xpu_shark.passes import known_dialects
known_dialects.register()
searched = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        searched.append(name)
sys.meta_path.insert(0, Finder())
from iree.compiler import ir
text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {" \
    "%0 = stablehlo.exponential %x : tensor<4xf32> return %0 : tensor<4xf32> }"
with ir.Context():
    module = ir.Module.parse(text)
    (function,) = module.body.operations
    names = [op.operation.name for op in function.regions[0].blocks[0].operations]
print(names, [name for name in searched if "stablehlo" in name])
import iree.compiler.dialects.linalg as linalg
print(hasattr(linalg, "GenericOp"))
"""


def test_ops_without_classes_are_walked_without_a_search_and_others_keep_theirs() -> None:
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["['stablehlo.exponential', 'func.return'] []", "True"], (
        done.stderr
    )

"""Kernels of whole modules at executable-configurations, as each backend writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from iree.compiler import ir

from xpu_shark.passes.bridge.read_kernels import read_kernels
from xpu_shark.simulator.bind import bind
from xpu_shark.simulator.work import compulsory_bytes, flops
from xpu_shark.simulator.workload import Kernel, TileLevel

INPUTS = Path(__file__).parent / "inputs"


def _kernels(name: str, prefer: tuple[str, ...] = ()) -> tuple[Kernel, ...]:
    with ir.Context():
        module = ir.Module.parse((INPUTS / f"{name}.mlir").read_text())
        return read_kernels(module.operation, prefer)


@pytest.mark.parametrize("backend", ["llvm_cpu", "rocm", "cuda", "vulkan"])
def test_a_convolution_is_the_same_work_from_every_backend(backend: str) -> None:
    """16 x 16 outputs of 32 channels, 3 x 3 taps, 16 input channels, stride 2."""
    (kernel,) = _kernels(f"conv_{backend}")
    assert kernel.state == "modelled"
    assert kernel.name == "conv_dispatch_0_conv_16x16x32x3x3x16_f32"
    (nest,) = kernel.nests
    assert nest.contraction is not None
    assert [nest.dims[dim].extent for dim in nest.contraction.k] == [3, 3, 16]
    assert flops(bind(kernel, {})) == 2 * 16 * 16 * 32 * 9 * 16
    assert compulsory_bytes(bind(kernel, {})) == 4 * (33 * 33 * 16 + 9 * 16 * 32 + 16 * 16 * 32)


@pytest.mark.parametrize(
    ("name", "backend", "levels"),
    [
        (
            "conv_llvm_cpu",
            "llvm-cpu",
            {
                "distribution": (0, 2, 16, 32, 0, 0, 0),
                "vector_common_parallel": (1, 1, 4, 4, 0, 0, 0),
                "vector_reduction": (0, 0, 0, 0, 1, 1, 8),
            },
        ),
        (
            "conv_cuda",
            "cuda",
            {
                "workgroup": (1, 1, 32, 0, 0, 0),
                "reduction": (0, 0, 0, 1, 3, 4),
                "thread": (1, 1, 1, 0, 0, 0),
            },
        ),
        (
            "conv_rocm",
            "rocm",
            {
                "workgroup": (8, 16, 32, 0, 0, 0),
                "reduction": (0, 0, 0, 1, 1, 16),  # 4 instructions of k = 4, channels first
                "subgroup": (2, 1, 1, 0, 0, 0),
            },
        ),
        (
            "conv_vulkan",
            "vulkan-spirv",
            {"level0": (1, 2, 32, 0, 0, 0), "level1": (1, 1, 1, 0, 0, 0)},
        ),
    ],
)
def test_tile_sizes_are_read_in_every_spelling(
    name: str, backend: str, levels: dict[str, tuple[int, ...]]
) -> None:
    (kernel,) = _kernels(name)
    assert kernel.backend == backend
    assert kernel.nests[0].tiles == tuple(
        TileLevel(name=level, sizes=sizes) for level, sizes in levels.items()
    )


def test_launch_constants_are_the_symbols_of_dynamic_sizes() -> None:
    """A 64-bit size comes in two launch constants, low half first."""
    (kernel,) = _kernels("dynamic_matmul_llvm_cpu")
    env = {"constant0": 19, "constant1": 0}
    assert kernel.state == "modelled"
    assert flops(bind(kernel, env)) == 19 * 128 * (2 * 64 + 1)
    assert compulsory_bytes(bind(kernel, env)) == 4 * (19 * 64 + 64 * 128 + 19 * 128)


@pytest.mark.parametrize(
    ("prefer", "backend"), [((), "llvm-cpu"), (("vmvx",), "vmvx"), (("cuda",), "llvm-cpu")]
)
def test_one_variant_of_several_is_read(prefer: tuple[str, ...], backend: str) -> None:
    (kernel,) = _kernels("exp_two_targets", prefer)
    assert kernel.backend == backend
    assert flops(bind(kernel, {})) == 64


def test_an_export_without_a_function_is_listed_as_unmodelled() -> None:
    with ir.Context():
        module = ir.Module.parse("""
module {
  hal.executable private @external {
    hal.executable.variant public @x target(<"cuda", "cuda-nvptx-fb">) {
      hal.executable.export public @kernel ordinal(0) layout(
        #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)
    }
  }
}""")
        (kernel,) = read_kernels(module.operation)
    assert (kernel.name, kernel.state) == ("kernel", "unmodelled")
    assert kernel.reason == "executable without IR: it comes compiled"


def test_reading_leaves_the_module_as_it_was() -> None:
    with ir.Context():
        module = ir.Module.parse((INPUTS / "conv_llvm_cpu.mlir").read_text())
        before = str(module)
        read_kernels(module.operation)
        assert str(module) == before

"""Which kernels measure which constant, sized from the caches of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from xpu_shark.compiler.calibrate.kernels import (
    Kernel,
    chain,
    elements,
    product,
    rows,
    sort,
    ticks,
    tiles,
    transpose,
)
from xpu_shark.compiler.calibrate.machine import Machine

# Rows and columns of element-wise kernels: 64 KiB an operand, in any L2 cache.
SHAPE: Final = (64, 256)
MASKED: Final = (64, 252)  # no whole number of vectors
SWAPPED: Final = (128, 128)
REORDERED: Final = (16, 16, 64)
TICKS: Final = 1 << 15
CHAIN_DEPTH: Final = 4096
SHORT: Final = (512, 64)  # rows of a product, and steps of its chains, which end soon
EDGE_ROWS: Final = 512  # of a product whose last columns are half a vector past a block
APART_ROWS: Final = 8  # of a register tile of two vectors whose last columns are such
REPEATS: Final = 16  # of an operation that is cheaper than loading its operands
BESIDE: Final = 4  # chains of such operations at a time, none of which waits for itself
BLOCK: Final = 64  # rows, columns and depth of a workgroup: its operands are in the nearest cache
BLOCKS: Final = 64  # workgroups a core
MADDS: Final = 6  # rows of two registers: as many sums as two ports keep at work, and no spills
MADDS_BLOCK: Final = 48  # rows of a workgroup of such
ROWS: Final = (64, 512)
ROW: Final = (8, 4096)
SHORT_ROWS: Final = (128, 128)
WAKE: Final = (8, 4096)  # rows and columns of a workgroup, about 10 us of one core
WAKE_BLOCKS: Final = 7  # workgroups a core: too few for IREE to hand out several at a time
LINE_ROWS: Final = 32  # of a product, two at a time: little arithmetic for each line
WIDE_ROWS: Final = 8  # of a register tile as IREE chooses them: a core looks ahead a few lines only
COLD_DEPTH: Final = 1024  # rows of matrices that come from memory
NEAR_BYTES: Final = 1024  # from row to row, a quarter of a page
BEYOND: Final = 3  # times what a cache keeps of a column: the rest comes from the next one
NARROW: Final = ("bf16", "f16")
SORTED: Final = 256

# Operations by kind, done `REPEATS` times, each with an addition behind it. The maximum is that of
# activations, where no number goes before none.
CHEAP: Final = {
    "mul": ("%o{n} = arith.mulf {v}, %y : f32",),
    "max": ("%o{n} = arith.maximumf {v}, %x : f32",),
    "convert": ("%i{n} = arith.fptosi {v} : f32 to i32", "%o{n} = arith.sitofp %i{n} : i32 to f32"),
}
CONVERSIONS: Final = 2  # of the lines above
FUNCTIONS: Final = {
    "div": "arith.divf %y, %x : f32",
    "exp": "math.exp %x : f32",
    "log": "math.log %x : f32",
    "sqrt": "math.sqrt %x : f32",
    "rsqrt": "math.rsqrt %x : f32",
    "tanh": "math.tanh %x : f32",
    "erf": "math.erf %x : f32",
    "sin": "math.sin %x : f32",
    "pow": "math.powf %x, %y : f32",
    "round": "math.roundeven %x : f32",
}
# Products by the type that they are stored in: accumulator, and how many vectors of 32 bits the
# columns of the register tile take. Tiles are those that IREE chooses: as many terms of each sum at
# a time as there are lanes.
PRODUCTS: Final = {"bf16": ("bf16", 2), "f16": ("f16", 2), "i8": ("i32", 2)}


def suite(machine: Machine) -> list[Kernel]:
    """All kernels, in the order in which they are measured."""
    return [
        ticks("ticks", TICKS),
        elements("launch", (1, machine.lanes), ["%r = arith.addf %x, %y : f32"], ""),
        *_products(machine),
        *_elements(machine),
        *_rows(machine),
        *_lines(machine),
        *_streams(machine),
    ]


def product_size(machine: Machine) -> tuple[int, int, int]:
    """(m, n, k) of products that keep all cores at work."""
    return machine.cores * BLOCKS * BLOCK, BLOCK, BLOCK


def madds_size(machine: Machine) -> tuple[int, int, int]:
    """The same of workgroups that tiles of `MADDS` rows divide, four times as many: they are short,
    and the core that is awake first takes eight of them more."""
    return 4 * machine.cores * BLOCKS * MADDS_BLOCK, BLOCK, BLOCK


def _products(machine: Machine) -> list[Kernel]:
    """Operands in the nearest cache: chains, loads and multiply-adds rule in turn."""
    lanes, size = machine.lanes, product_size(machine)
    tile = (MADDS, 2 * lanes)
    found = [
        product("product_chain", (16, lanes, CHAIN_DEPTH), (1, lanes), (16, lanes)),
        product("product_short", (SHORT[0], lanes, SHORT[1]), (1, lanes), (16, lanes)),
        product("product_half", size, (8, lanes // 2), threads=0),
        product("product_madds", madds_size(machine), tile, (MADDS_BLOCK, BLOCK), threads=0),
        product("product_spills", size, (8, 4 * lanes), threads=0),
    ]
    for element, (into, wide) in PRODUCTS.items():
        stored = partial(product, element=element, accumulator=into, step=lanes)
        found.append(stored(f"product_{element}", size, (8, wide * lanes), threads=0))
        if element in NARROW:  # integers are added up in no chain
            size_, tile_ = (16, lanes, CHAIN_DEPTH), (1, lanes)
            found.append(stored(f"product_{element}_chain", size_, tile_, (16, lanes)))
    tile = (8, lanes)
    cut = (EDGE_ROWS, BLOCK + lanes // 2, BLOCK)
    found.append(product("product_edge", cut, tile))
    found.append(product("product_block", (EDGE_ROWS, BLOCK, BLOCK), tile))
    found.append(product("product_apart", cut, (APART_ROWS, 2 * lanes), step=1))
    uneven = (EDGE_ROWS, lanes * 3 // 2, BLOCK)
    found.append(product("product_ragged", uneven, tile, (BLOCK, uneven[1]), peeled=False))
    turned = partial(product, size=(EDGE_ROWS, BLOCK, BLOCK), step=lanes, turned=True)
    found.append(turned("product_turned", tile=tile))
    found.append(turned("product_turned_one", tile=(1, lanes)))
    return found


def _elements(machine: Machine) -> list[Kernel]:
    config = tiles((64, 64), (1, machine.lanes))
    beside = tiles((64, 64), (BESIDE, machine.lanes))
    found = [elements("each_add", SHAPE, _chain(["%o{n} = arith.addf {v}, %y : f32"]), beside)]
    for kind, lines in CHEAP.items():
        found.append(elements(f"each_{kind}", SHAPE, _chain(lines), beside))
    found.append(elements("each_select", SHAPE, _selections(), beside))
    for kind, line in FUNCTIONS.items():
        found.append(elements(f"each_{kind}", SHAPE, [f"%r = {line}"], config))
    for element in NARROW:
        one = ["%r = arith.addf %x, %y : " + element]
        found.append(elements(f"each_{element}", SHAPE, one, config, element=element))
        wide = [f"%w = arith.extf %x : {element} to f32", "%r = arith.addf %w, %y : f32"]
        name = f"each_gather_{element}"
        found.append(elements(name, SHAPE, wide, config, source=element, step=2))
    plain = ["%r = arith.addf %x, %y : f32"]
    found.append(elements("each_copy", SHAPE, plain, config))
    found.append(elements("each_masked", MASKED, plain, tiles((64, 0), (1, machine.lanes))))
    found.append(elements("each_gather", SHAPE, plain, config, step=2))
    found.append(transpose("each_swap", SWAPPED, (1, 0)))
    found.append(transpose("each_point", REORDERED, (1, 0, 2)))
    found.append(sort("each_sort", SORTED))
    return found


def _chain(lines: Sequence[str]) -> list[str]:
    """`REPEATS` times the operation and an addition, each on the result of the one before."""
    body, value = [], "%x"
    for n in range(REPEATS):
        body += [line.format(n=n, v=value) for line in lines]
        body.append(f"%v{n} = arith.addf %o{n}, %y : f32")
        value = f"%v{n}"
    return [*body, f"%r = arith.addf {value}, %x : f32"]


def _selections() -> list[str]:
    """`REPEATS` times a comparison, a choice and an addition."""
    body, value = [], "%x"
    for n in range(REPEATS):
        body.append(f"%p{n} = arith.cmpf ogt, {value}, %y : f32")
        body.append(f"%q{n} = arith.select %p{n}, %y, %x : f32")
        body.append(f"%v{n} = arith.addf %q{n}, {value} : f32")
        value = f"%v{n}"
    return [*body, f"%r = arith.addf {value}, %x : f32"]


def _rows(machine: Machine) -> list[Kernel]:
    step = (0, machine.lanes)
    many, one = tiles((64, 0), (8, 0), step), tiles((8, 0), (1, 0), step)
    found = []
    for kind, operation in (("add", "arith.addf"), ("max", "arith.maxnumf")):  # as softmax has it
        found.append(rows(f"rows_{kind}", ROWS, operation, many))
        found.append(rows(f"row_{kind}", ROW, operation, one))
    found.append(rows("row_short", SHORT_ROWS, "arith.addf", one))
    wide = tiles((8, 0), (8, 0), step)
    shape = (machine.cores * WAKE_BLOCKS * WAKE[0], WAKE[1])
    found.append(rows("wake_one", shape, "arith.addf", wide))
    found.append(rows("wake_all", shape, "arith.addf", wide, threads=0))
    return found


def line_sizes(machine: Machine) -> dict[str, tuple[int, int, int]]:
    """(m, n, k) of products whose columns run through a cache with a stride that no prefetcher
    follows, by the name of the kernel."""
    near, second = machine.caches[0], machine.caches[1]
    quarter = near.sets // 4
    kept = second.sets // quarter * second.ways  # lines of four sets of the nearest cache
    same = second.sets // near.sets * second.ways  # and of one
    found = {
        # (lines from row to row, rows): an odd stride goes through all sets in turn.
        "line_l2": (near.sets // 2 + 1, BEYOND * near.sets * near.ways),
        "line_l2_set": (near.sets, 3 * same // 4),
        "line_l2_single": (near.sets, 3 * same // 4),  # one term of each sum at a time
        "line_l2_few": (3 * quarter, 3 * kept // 4),
        "line_l3": (3 * quarter, BEYOND * kept),
        "line_l3_next": (3 * quarter, BEYOND * kept),
        "line_l3_set": (near.sets, BEYOND * same),
    }
    floats = near.line_bytes // 4
    sizes = {name: (LINE_ROWS, lines * floats, k // 8 * 8) for name, (lines, k) in found.items()}
    lines = 2 * machine.caches[-1].bytes // (COLD_DEPTH * near.line_bytes) | 1
    few = lines // quarter // 2 * 2 * quarter + quarter  # an odd number of quarters: four sets
    cold = {"line_dram": lines, "line_dram_few": few}
    return sizes | {name: (1, row * floats, COLD_DEPTH) for name, row in cold.items()}


def _lines(machine: Machine) -> list[Kernel]:
    tile, block = (2, machine.lanes), (LINE_ROWS, 8 * machine.lanes)
    sizes = line_sizes(machine)
    found = []
    for name, size in sizes.items():
        shapes = ((1, machine.lanes), (1, 64)) if size[0] == 1 else (tile, block)
        if name == "line_l3_next":
            shapes = ((2, 2 * machine.lanes), block)
        step = 1 if name == "line_l2_single" else 8
        found.append(product(name, size, *shapes, threads=0, step=step))
    wide, strip = (WIDE_ROWS, machine.lanes), (WIDE_ROWS, 4 * machine.lanes)
    for name, size in wide_sizes(machine).items():
        batch = near_batch(machine) if name == "wide_near" else 0
        found.append(product(name, size, wide, strip, batch=batch, threads=0))
    return found


def wide_sizes(machine: Machine) -> dict[str, tuple[int, int, int]]:
    """(m, n, k) of products of `WIDE_ROWS` rows that read each line of what they multiply once,
    from memory: of one matrix, and of many whose rows are short."""
    last = machine.caches[-1]
    lines = 2 * last.bytes // (COLD_DEPTH * last.line_bytes) | 1
    return {
        "wide_dram": (WIDE_ROWS, lines * last.line_bytes // 4, COLD_DEPTH),
        "wide_near": (WIDE_ROWS, NEAR_BYTES // 4, COLD_DEPTH),
    }


def near_batch(machine: Machine) -> int:
    """Matrices of short rows that take twice the last cache."""
    return 2 * machine.caches[-1].bytes // (NEAR_BYTES * COLD_DEPTH)


def stream_bytes(machine: Machine) -> dict[str, int]:
    """Bytes of one array of a sum, by the level that three of them are to come from."""
    last = machine.caches[-1].bytes
    return {"l2": machine.caches[1].bytes // 8, "l3": last // 32, "dram": last}


def _streams(machine: Machine) -> list[Kernel]:
    """Sums of arrays that a level holds, on one core and on all."""
    found = []
    for name, size in stream_bytes(machine).items():
        count = 2 if name == "dram" else 8
        for threads in (1,) if name == "l2" else (1, 0):
            tag = "one" if threads else "all"
            found.append(chain(f"stream_{name}_{tag}", size // 4, count, threads=threads))
    return found

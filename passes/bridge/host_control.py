"""From a function's control flow to commands in loops and branches, with calls inlined.

Loops are `<function>.loop0`, `loop1`, ... in program order; loops and branches without commands are
left out. A loop whose test stands at its head counts full turns, and
what stands before the test follows once more. A call back into a function that is being read ends
there: host programs do not recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from iree.compiler import ir

from xpu_shark.passes.bridge.host_async import ASYNC
from xpu_shark.passes.bridge.host_cfg import Branch, Code, Loop, Node, structure
from xpu_shark.passes.bridge.host_commands import Commands, read_execution
from xpu_shark.passes.bridge.host_edges import condition, outgoing, terminator
from xpu_shark.passes.bridge.host_frame import Call, EnteredLoop, Frame
from xpu_shark.passes.bridge.host_loops import trip_count
from xpu_shark.passes.bridge.host_scf import for_trips, has_any
from xpu_shark.passes.bridge.sizes import Size
from xpu_shark.simulator.symbolic import symbol
from xpu_shark.simulator.workload import Choice, Command, Repeat

Reader = Callable[[Frame, ir.Operation], Commands]


def read_body(frame: Frame) -> Commands:
    """Commands of the frame's whole function, in order."""
    graph: list[list[int]] = [[] for _ in frame.blocks]
    for edge in outgoing(frame.blocks):
        graph[edge.source].append(edge.target)
    return _nodes(frame, structure(graph))


def _nodes(frame: Frame, nodes: tuple[Node, ...]) -> Commands:
    commands: list[Command] = []
    for node in nodes:
        if isinstance(node, Code):
            commands.extend(_block(frame, frame.blocks[node.block]))
        elif _is_active(frame, node):
            read = _loop(frame, node) if isinstance(node, Loop) else _branch(frame, node)
            commands.extend(read)
    return tuple(commands)


def _is_active(frame: Frame, node: Node) -> bool:
    """Whether some block inside has anything to read."""
    if isinstance(node, Code):
        return any(op.operation.name in OPS for op in frame.blocks[node.block].operations)
    parts = (node.body,) if isinstance(node, Loop) else node.arms
    return any(_is_active(frame, inner) for part in parts for inner in part)


def _block(frame: Frame, block: ir.Block) -> Commands:
    commands: list[Command] = []
    for view in block.operations:
        op = view.operation
        if reader := OPS.get(op.name):
            commands.extend(reader(frame, op))
    return tuple(commands)


def _loop(frame: Frame, node: Loop) -> Commands:
    number = frame.names.number("loop")
    frame.loops[node.header] = EnteredLoop(number, node.blocks)
    body = _nodes(frame, node.body)
    if not body:
        return ()
    repeat = _repeat(frame, number, trip_count(frame, node.header), body)
    tests_at_head = len(node.blocks) > 1 and any(
        to not in node.blocks for to in _successors(frame, node.header)
    )
    return (repeat, *_block(frame, frame.blocks[node.header])) if tests_at_head else (repeat,)


def _repeat(frame: Frame, number: int, trips: Size | None, body: Commands) -> Repeat:
    name = f"{frame.names.function}.loop{number}"
    return Repeat(trips=symbol(name) if trips is None else trips, body=body, name=name)


def _branch(frame: Frame, node: Branch) -> Commands:
    taken = None if node.block is None else _taken(frame, node, frame.blocks[node.block])
    if taken is not None:
        return _nodes(frame, node.arms[taken])
    return _choice([_nodes(frame, arm) for arm in node.arms])


def _choice(arms: list[Commands]) -> Commands:
    """`if c do { } while c` is one loop of unknown length that may have no turn at all."""
    filled = [arm for arm in arms if arm]
    if len(filled) == 1 and len(filled[0]) == 1 and _has_unknown_trips(filled[0][0]):
        return filled[0]
    return (Choice(arms=tuple(arms)),) if filled else ()


def _has_unknown_trips(command: Command) -> bool:
    return isinstance(command, Repeat) and command.trips == symbol(command.name)


def _taken(frame: Frame, node: Branch, block: ir.Block) -> int | None:
    """The arm that a constant condition takes."""
    value = condition(block)
    size = None if value is None else frame.reader.read(value)
    if not isinstance(size, int):
        return None
    target = frame.blocks.index(block.successors[_successor(terminator(block), size)])
    return node.targets.index(target) if target in node.targets else None


def _successors(frame: Frame, block: int) -> list[int]:
    return [frame.blocks.index(successor) for successor in frame.blocks[block].successors]


def _successor(op: ir.Operation, value: int) -> int:
    """Which successor a branch takes for a value of its condition."""
    if op.name == "cf.cond_br":
        return 0 if value else 1
    cases = op.attributes["case_values"] if "case_values" in op.attributes else ()
    return next((i + 1 for i, case in enumerate(cases) if int(case) == value), 0)


def _call(frame: Frame, op: ir.Operation) -> Commands:
    callee = op.attributes["callee"].value
    function = frame.program.functions.get(callee)
    if function is None or callee in frame.chain or not len(function.regions[0].blocks):
        return ()
    blocks = list(function.regions[0].blocks)
    inner = Frame(frame.program, frame.names, callee, blocks, Call(frame, tuple(op.operands)))
    ends = [end for end in map(terminator, blocks) if end.name == "util.return"]
    if len(ends) == 1:
        for result, returned in zip(op.results, ends[0].operands, strict=True):
            frame.results[result] = (inner, returned)
    return read_body(inner)


def _scf_for(frame: Frame, op: ir.Operation) -> Commands:
    if not has_any(op, OPS):
        return ()
    number = frame.names.number("loop")
    trips = for_trips(frame, op, number)
    body = _block(frame, op.regions[0].blocks[0])
    return (_repeat(frame, number, trips, body),) if body else ()


def _scf_while(frame: Frame, op: ir.Operation) -> Commands:
    """The test region runs once more than the body region."""
    if not has_any(op, OPS):
        return ()
    number = frame.names.number("loop")
    test, body = (_block(frame, region.blocks[0]) for region in op.regions)
    return (_repeat(frame, number, None, test + body), *test) if test or body else ()


def _scf_if(frame: Frame, op: ir.Operation) -> Commands:
    if not has_any(op, OPS):
        return ()
    condition = frame.reader.read(op.operands[0])
    blocks = [next(iter(region.blocks), None) for region in op.regions]
    if isinstance(condition, int):
        taken = blocks[0 if condition else 1]
        return _block(frame, taken) if taken else ()
    return _choice([_block(frame, block) if block else () for block in blocks])


def _scf_index_switch(frame: Frame, op: ir.Operation) -> Commands:
    """The first arm is the default."""
    if not has_any(op, OPS):
        return ()
    return _choice([_block(frame, region.blocks[0]) for region in op.regions])


def _inner(frame: Frame, op: ir.Operation) -> Commands:
    return tuple(
        c for region in op.regions for block in region.blocks for c in _block(frame, block)
    )


OPS: Mapping[str, Reader] = {
    "stream.cmd.execute": read_execution,
    "util.call": _call,
    "scf.for": _scf_for,
    "scf.while": _scf_while,
    "scf.if": _scf_if,
    "scf.index_switch": _scf_index_switch,
    "stream.async.execute": _inner,
    "stream.async.concurrent": _inner,
    **ASYNC,
}

from __future__ import annotations

from xpu_shark.passes.bridge.components import components
from xpu_shark.passes.bridge.host_cfg import Branch, Code, Loop, Node, structure


def blocks(nodes: tuple[Node, ...]) -> list[int]:
    """Every block that `nodes` runs, once for each place where it stands."""
    found: list[int] = []
    for node in nodes:
        if isinstance(node, Code):
            found.append(node.block)
            continue
        for part in (node.body,) if isinstance(node, Loop) else node.arms:
            found.extend(blocks(part))
    return found


def test_straight_line_keeps_the_order_of_control() -> None:
    assert structure([[2], [], [1]]) == (Code(0), Code(2), Code(1))


def test_blocks_that_nothing_reaches_are_left_out() -> None:
    assert structure([[2], [2], []]) == (Code(0), Code(2))


def test_both_arms_end_where_they_meet() -> None:
    diamond = structure([[1, 2], [3], [3], []])
    assert diamond == (Code(0), Branch(0, (1, 2), ((Code(1),), (Code(2),))), Code(3))


def test_an_arm_that_jumps_to_the_meeting_point_is_empty() -> None:
    assert structure([[1, 2], [2], []]) == (Code(0), Branch(0, (1, 2), ((Code(1),), ())), Code(2))


def test_an_edge_that_a_branch_takes_twice_is_no_branch() -> None:
    assert structure([[1, 1], []]) == (Code(0), Code(1))


def test_arms_that_never_meet_run_to_their_ends() -> None:
    assert structure([[1, 2], [], []]) == (Code(0), Branch(0, (1, 2), ((Code(1),), (Code(2),))))


def test_a_while_loop_has_its_test_and_its_body_inside_and_no_branch() -> None:
    program = structure([[1], [2, 3], [1], []])
    assert program == (Code(0), Loop(1, frozenset({1, 2}), (Code(1), Code(2))), Code(3))


def test_a_block_that_jumps_to_itself_is_a_loop() -> None:
    assert structure([[1], [1, 2], []]) == (Code(0), Loop(1, frozenset({1}), (Code(1),)), Code(2))


def test_loops_nest() -> None:
    inner = Loop(2, frozenset({2, 3}), (Code(2), Code(3)))
    program = structure([[1], [2, 5], [3, 4], [2], [1], []])
    outer = Loop(1, frozenset({1, 2, 3, 4}), (Code(1), inner, Code(4)))
    assert program == (Code(0), outer, Code(5))


def test_continue_is_an_empty_arm_inside_the_loop() -> None:
    # 1: if ... continue (back to 1) else 2, which ends the turn or the loop.
    program = structure([[1], [1, 2], [1, 3], []])
    body = (Code(1), Branch(1, (1, 2), ((), (Code(2),))))
    assert program == (Code(0), Loop(1, frozenset({1, 2}), body), Code(3))


def test_what_runs_on_break_only_follows_the_loop_as_an_arm() -> None:
    # 1 leaves to 4 when done; 2 leaves through 3 when it breaks; both meet in 4.
    program = structure([[1], [2, 4], [1, 3], [4], []])
    loop = Loop(1, frozenset({1, 2}), (Code(1), Code(2)))
    assert program == (Code(0), loop, Branch(None, (4, 3), ((), (Code(3),))), Code(4))


def test_a_loop_entered_at_two_blocks_is_one_loop_from_the_first() -> None:
    program = structure([[1, 2], [2], [1, 3], []])
    assert program == (Code(0), Loop(1, frozenset({1, 2}), (Code(1), Code(2))), Code(3))


def test_an_endless_loop_is_followed_by_nothing() -> None:
    assert structure([[1], [1]]) == (Code(0), Loop(1, frozenset({1}), (Code(1),)))


def test_a_block_shared_by_arms_stands_in_each() -> None:
    # if (a && b) 2 else 3: block 3 is reached from both tests.
    program = structure([[1, 3], [2, 3], [4], [4], []])
    inner = Branch(1, (2, 3), ((Code(2),), (Code(3),)))
    assert program == (Code(0), Branch(0, (1, 3), ((Code(1), inner), (Code(3),))), Code(4))


def test_tangled_branches_stay_small_and_lose_no_block() -> None:
    # 60 rungs of two blocks, each leading to both of the next: 2**60 ways through.
    rungs = [[2 * i + 3, 2 * i + 4] for i in range(60) for _ in (0, 1)]
    graph = [[1, 2], *rungs, [123], [123], []]
    program = structure(graph)
    assert set(blocks(program)) == set(range(124))
    assert len(blocks(program)) < 124 * 200


def test_a_long_program_needs_no_deep_recursion() -> None:
    assert len(structure([[i + 1] for i in range(20_000)] + [[]])) == 20_001


def test_components_come_after_what_they_lead_to() -> None:
    graph = {0: [1], 1: [2], 2: [1, 3], 3: []}
    assert components(graph, graph.__getitem__) == [(3,), (1, 2), (0,)]

"""What waits for what, from the bytes that commands touch."""

from __future__ import annotations

import random

import pytest

from xpu_shark.simulator.dependences import dependences, following, reachable
from xpu_shark.simulator.touches import Touch


def read(buffer: int, start: int = 0, end: int | None = 64, transient: bool = True) -> Touch:
    return Touch(buffer, start, end, written=False, transient=transient)


def write(
    buffer: int, start: int = 0, end: int | None = 64, transient: bool = True, exact: bool = True
) -> Touch:
    return Touch(buffer, start, end, written=True, transient=transient, exact=exact)


def needs(*touched: tuple[Touch, ...] | None) -> list[tuple[int, ...]]:
    return dependences(touched, range(len(touched)))


def test_a_reader_waits_for_the_last_writer_of_each_byte() -> None:
    assert needs(
        (write(0, 0, 64),), (write(0, 32, 64),), (read(0, 0, 64),), (read(0, 40, 64),)
    ) == [(), (), (0, 1), (1,)]


def test_other_bytes_and_other_buffers_do_not_wait() -> None:
    assert needs((write(0, 0, 64),), (read(0, 64, 128),), (read(1),)) == [(), (), ()]


def test_a_transient_buffer_can_be_had_twice() -> None:
    assert needs((write(0),), (read(0),), (write(0),), (read(0),)) == [(), (0,), (), (2,)]


def test_what_others_see_keeps_its_order() -> None:
    kept = [write(0, transient=False), read(0, transient=False), write(0, transient=False)]
    assert needs(*((touch,) for touch in kept)) == [(), (0,), (0, 1)]


def test_what_may_have_been_written_counts_beside_what_was_there() -> None:
    assert needs((write(0),), (write(0, exact=False),), (read(0),)) == [(), (), (0, 1)]


def test_an_unknown_command_keeps_its_place() -> None:
    assert needs((write(0),), (write(1),), None, (read(2),)) == [(), (), (0, 1), (2,)]


def test_an_unknown_end_reaches_to_the_end_of_the_buffer() -> None:
    assert needs((write(0, 128, 192),), (read(0, 0, None),)) == [(), (0,)]


def test_what_the_program_leaves_unordered_stays_so() -> None:
    both = ((write(0, exact=False),), (read(0), write(1)), (read(1),))
    assert dependences(both, [0, 0, 1]) == [(), (), (1,)]


def test_chains_of_waits() -> None:
    needs = [(), (0,), (1,), ()]
    assert reachable(needs) == [0, 0b1, 0b11, 0]
    assert following(needs) == [0b110, 0b100, 0, 0]


@pytest.mark.parametrize("seed", range(30))
def test_every_byte_by_itself_gives_the_same(seed: int) -> None:
    """The last writer of each byte, counted byte by byte."""
    draw = random.Random(seed)
    touched: list[tuple[Touch, ...]] = []
    expected: list[tuple[int, ...]] = []
    last: dict[int, int] = {}
    for number in range(60):
        start = draw.randrange(40)
        touch = Touch(0, start, start + draw.randint(1, 12), draw.random() < 0.5, transient=True)
        assert touch.end is not None
        inside = range(touch.start, touch.end)
        if touch.written:
            expected.append(())
            last.update(dict.fromkeys(inside, number))
        else:
            expected.append(tuple(sorted({last[byte] for byte in inside if byte in last})))
        touched.append((touch,))
    assert needs(*touched) == expected

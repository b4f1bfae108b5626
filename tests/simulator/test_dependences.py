"""What waits for what, from the bytes that commands touch."""

from __future__ import annotations

from xpu_shark.simulator.dependences import dependences, reachable
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
    assert reachable([(), (0,), (1,), ()]) == [0, 0b1, 0b11, 0]

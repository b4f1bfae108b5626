"""What else the machine did while a program ran, and recordings one at a time."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from xpu_shark.compiler.errors import UsageError
from xpu_shark.compiler.trace import contention, lock
from xpu_shark.compiler.trace.contention import Period, Sample, disturbed, periods

SECOND = 10**9


def test_others_are_what_is_busy_and_not_ours() -> None:
    # 4 processors for 2 s are 8 s; 6 were used, 5 of them by us
    found = periods([Sample(0, 10, 1, 0), Sample(2 * SECOND, 16, 6, 0)], processors=4)
    assert found == [Period(0, 2 * SECOND, 1 / 8, False)]
    assert found[0].disturbed


def test_a_little_of_others_disturbs_nothing() -> None:
    (found,) = periods([Sample(0, 0, 0, 5), Sample(SECOND, 1.1, 1, 5)], processors=2)
    assert found.others == pytest.approx(0.05)
    assert not found.disturbed


def test_being_held_back_disturbs() -> None:
    (found,) = periods([Sample(0, 0, 0, 5), Sample(SECOND, 1, 1, 6)], processors=2)
    assert found.disturbed


def test_only_times_that_overlap_a_disturbed_period_are_affected() -> None:
    found = [Period(0, 10, 0.0, False), Period(10, 20, 0.9, False), Period(20, 30, 0.0, False)]
    assert not disturbed(found, 0, 10)
    assert disturbed(found, 5, 11)
    assert disturbed(found, 12, 13)
    assert not disturbed(found, 20, 25)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="needs Linux's /proc")
def test_a_watch_sees_this_process_as_ours() -> None:
    watch = contention.Watch(os.getpid(), period_s=0.02)
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        pass
    found = watch.stop()
    assert watch.known
    assert len(found) >= 2
    assert all(0 <= period.others for period in found)


def test_a_second_recording_waits_for_the_first(tmp_path: Path) -> None:
    path, order = str(tmp_path / "lock"), []
    first = threading.Event()

    def other() -> None:
        first.wait()
        with lock.alone(path):
            order.append("second")

    thread = threading.Thread(target=other)
    thread.start()
    with lock.alone(path):
        first.set()
        time.sleep(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_waiting_for_a_recording_ends(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with lock.alone(path), pytest.raises(UsageError, match="another recording has held it"):
        with lock.alone(path, patience_s=0.3):
            pass

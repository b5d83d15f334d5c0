# SPDX-License-Identifier: Apache-2.0
"""How long a process will stand still: the arithmetic, on made-up machines.
No test has a time of this machine in it."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "python/goref/pause.py"
_spec = importlib.util.spec_from_file_location("goref_pause", SOURCE)
pause = importlib.util.module_from_spec(_spec)
sys.modules["goref_pause"] = pause
_spec.loader.exec_module(pause)

# As on the machine on which the costs were measured: idle, and with many more
# busy threads than processors.
IDLE = pause.Pace(16e-6, 1.0)
BUSY = pause.Pace(16e-6, 2.1, 0.002, 0.02)
# A slower one, on which snapshots were measured.
SLOWER = pause.Pace(25e-6, 1.0)

# (threads, what was measured of stopping and letting go together, in ms)
MEASURED = [(5, 0.18), (54, 0.65), (504, 4.69)]


@pytest.mark.parametrize(("threads", "ms"), MEASURED)
def test_threads_count(threads, ms):
    told = pause.expect(pause.STOP, IDLE, threads).pause_s(0) * 1e3
    assert ms / 1.5 < told < ms * 1.5


@pytest.mark.parametrize("threads", [1, 50, 500])
def test_threads_wait_for_a_processor(threads):
    """All at the same time: on a busy machine, this is most of the pause."""
    idle = pause.expect(pause.STOP, IDLE, threads)
    busy = pause.expect(pause.STOP, BUSY, threads)
    assert busy.stop_s == pytest.approx(2.1 * idle.stop_s + 0.024)
    assert busy.release_s == pytest.approx(2.1 * idle.release_s + 0.004)


@pytest.mark.parametrize(
    ("threads", "tables", "ms"),
    [(1, 20, 0.9), (500, 35, 8.0), (1, 181, 9.4), (1, 662, 30.9)],
)
def test_snapshot(threads, tables, ms):
    stop = pause.expect(pause.STOP, SLOWER, threads + 7)
    told = stop.pause_s(pause.fork_s(SLOWER, tables)) * 1e3
    assert ms / 1.5 < told < ms * 1.5


def test_work_is_added():
    stop = pause.expect(pause.STOP, IDLE, 100)
    assert stop.pause_s(1.0) == pytest.approx(stop.pause_s(0) + 1.0)


@pytest.mark.parametrize("threads", [1, 50, 500, 5000])
@pytest.mark.parametrize("limit_s", [0.02, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("slower", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("pace", [IDLE, BUSY], ids=["idle", "busy"])
def test_is_given_up_in_time(threads, limit_s, slower, pace):
    """Letting go, as slow as stopping was, ends before the limit; if there is
    no time for work at all, it is given up at once."""
    stop = pause.expect(pause.STOP, pace, threads)
    stopped_s = stop.stop_s * slower
    until_s = stop.work_until_s(limit_s, stopped_s)
    release_s = stop.release_s * max(slower, 1)
    under_way_s = min(limit_s / 8, 0.05) * pace.contention
    assert until_s + release_s + under_way_s < limit_s
    assert stop.work_until_s(limit_s * 2, stopped_s) > until_s
    assert stop.work_until_s(limit_s, stopped_s * 2) <= until_s
    # The rest is not given away, either.
    if stopped_s + 4 * release_s < limit_s / 2:
        assert until_s > limit_s / 2


def test_copying():
    times = [pause.copy_s(IDLE, 1.0, count) for count in (0, 1, 2, 4, 16)]
    assert times[0] == times[1] == 1.0
    assert times[1] > times[2] > times[3] == times[4] > 0.25
    assert pause.copy_s(BUSY, 1.0, 2) == pytest.approx(times[2] * 2.1)


def test_pace():
    pace = pause.measure(os.getpid())
    assert 0 < pace.read_s < 0.1
    assert 1 <= pace.contention <= 8
    assert 0 <= pace.wake_s <= pace.longest_wake_s < 60


def test_pace_of_no_process():
    assert pause.measure(2**22 + 5).read_s > 0

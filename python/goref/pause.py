# SPDX-License-Identifier: Apache-2.0
"""Estimates the pause of a process. Pure: never imports gdb.

Stopping threads is mostly a series of system calls. Their cost is expressed in
reads of /proc/PID/task/TID/status. These reads are timed on the running
process: they are as slow as this machine is, and stop nothing. They also wait
for a processor as the calls of a real stop would. A sleeping thread needs a
processor before it can stop. goref estimates that delay by the time by which
its own short sleeps are late.
"""

import os
import time
from itertools import cycle
from typing import NamedTuple

# Reads for a measurement, and when it ends at the latest.
_READS = 200
_MEASURE_S = 0.02
# Sleeps for a measurement: long enough for others to take the processor.
_SLEEPS = 8
_SLEEP_S = 0.0005
# The assumed time of a read if none succeeded.
_READ_S = 25e-6
# A contention above this does not last.
_MAX_CONTENTION = 8.0
# Copying a page of page tables, which covers 2 MB, took 45 to 50 us where a
# read takes 25.
_TABLE_READS = 1.8
# The speed that each further thread adds to copying, and the number of threads
# up to which this holds.
_SPEED_UP = 0.5
_MAX_FASTER = 4
# The part of the longest pause that is reserved: work may be under way when
# its time is over.
_RESERVE = 1 / 8
_MAX_RESERVE_S = 0.05
_MAX_SLOWER = 3.0


class Pace(NamedTuple):
    """The speed of this machine at this moment."""

    read_s: float
    """Processor time of one read."""
    contention: float
    """Elapsed time for each second of processor time, 1 or more."""
    wake_s: float = 0.0
    """How long a thread that wakes up usually waits for a processor."""
    longest_wake_s: float = 0.0
    """The longest such time."""


class Cost(NamedTuple):
    """The cost of a stop and of its end, in reads: a fixed part, and a part
    for each thread."""

    stop: float
    stop_thread: float
    release: float
    release_thread: float


# All threads are asked to stop at once, and the end of their tracer resumes
# them. On a machine where a read takes 15 to 17 us, stopping 5, 54 and 504
# threads took 0.12, 0.51 and 4.45 ms, and resuming them 0.02 to 0.07 ms.
STOP = Cost(6, 0.53, 2, 0.01)


class Stop(NamedTuple):
    """The expected times of one stop, in seconds."""

    stop_s: float
    release_s: float
    contention: float

    def pause_s(self, work_s: float) -> float:
        """The whole pause, if work takes work_s."""
        return self.stop_s + work_s + self.release_s

    def work_until_s(self, limit_s: float, stopped_s: float) -> float:
        """The time by which work must end, so that the process goes on in
        time.

        limit_s: the longest pause; stopped_s: the time that stopping took. If
        stopping took longer than expected, so will everything else."""
        slower = max(1.0, stopped_s / self.stop_s)
        reserve_s = min(limit_s * _RESERVE, _MAX_RESERVE_S)
        reserve_s *= min(slower * self.contention, _MAX_SLOWER)
        return limit_s - 2 * self.release_s * slower - reserve_s


def expect(cost: Cost, pace: Pace, threads: int) -> Stop:
    """The expected stop of a process with this number of threads."""
    read_s = pace.read_s * pace.contention
    # To stop: the tracing thread wakes up, then all threads at the same time,
    # then we. To resume: the tracing thread wakes up, then we.
    stop_wakes_s = 2 * pace.wake_s + pace.longest_wake_s
    return Stop(
        (cost.stop + cost.stop_thread * threads) * read_s + stop_wakes_s,
        (cost.release + cost.release_thread * threads) * read_s
        + 2 * pace.wake_s,
        pace.contention,
    )


def fork_s(pace: Pace, tables: int) -> float:
    """The time of a fork that copies this number of pages of page tables."""
    return tables * _TABLE_READS * pace.read_s


def copy_s(pace: Pace, one_s: float, threads: int) -> float:
    """The time in which the threads copy what one thread copies in one_s. They
    share the bandwidth of memory and the free processors."""
    speed = 1 + _SPEED_UP * (min(max(threads, 1), _MAX_FASTER) - 1)
    return one_s * pace.contention / speed


def _contention() -> float:
    """The contention since this thread began; it was busy all that time."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            ran, waited = map(int, file.read().split()[:2])
    except (OSError, ValueError):
        return 1.0
    return min(1 + waited / max(ran, 1), _MAX_CONTENTION)


def _read_status(pid: int) -> int:
    """Read the status of a process's threads again and again; returns the
    number of reads."""
    folder = f"/proc/{pid}/task"
    end_s = time.monotonic() + _MEASURE_S
    count = 0
    try:
        for tid in cycle(os.listdir(folder)):
            with open(f"{folder}/{tid}/status", "rb") as file:
                file.read()
            count += 1
            if count >= _READS or time.monotonic() > end_s:
                break
    except OSError:
        pass  # a thread has ended, or the process
    return count


def _wakes_s() -> list[float]:
    """The times by which short sleeps of this thread are late."""
    late_s = []
    for _ in range(_SLEEPS):
        begin_s = time.monotonic()
        time.sleep(_SLEEP_S)
        late_s.append(time.monotonic() - begin_s - _SLEEP_S)
    return late_s


def measure(pid: int) -> Pace:
    """Time reads of the status of a process's threads, and short sleeps."""
    begin_s = time.thread_time()
    count = _read_status(pid)
    cpu_s = time.thread_time() - begin_s
    read_s = cpu_s / count if count else _READ_S
    wakes_s = _wakes_s()
    usual_s = sum(wakes_s) / len(wakes_s)
    return Pace(read_s, _contention(), usual_s, max(wakes_s))

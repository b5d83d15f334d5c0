# SPDX-License-Identifier: Apache-2.0
"""Processes that count all the time, and the look of goref at them."""

import json
import os
import re
import select
import threading
import time
from pathlib import Path

from session import run_cli
from toolchains import Variant
from waiting import LONGEST_S, comes, states_of

CENTRAL = Variant("go1.24", "default")
BUSY = ("600000",)
LARGE = ("2000000",)  # a look at it takes long enough to be caught


class Counter:
    """Reads the numbers of a counting process all the time."""

    def __init__(self, process):
        self.process = process
        self.last = -1
        self.silent = 0  # looks that found nothing new
        self.stopping = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        """A piece may end within a line, whose end may be late: the process
        may be stopped, and so may we."""
        fd = self.process.popen.stdout.fileno()
        rest, self.process.unread = self.process.unread, b""
        while not self.stopping:
            try:
                if not select.select([fd], [], [], 1)[0]:
                    self.silent += 1
                    continue
                piece = os.read(fd, 4096)
            except OSError:
                return
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            if lines:
                self.last = int(lines[-1])

    def goes_on(self, timeout=LONGEST_S):
        before, end = self.last, time.monotonic() + timeout
        while time.monotonic() < end:
            if self.last > before + 2:
                return True
            time.sleep(0.01)
        print(f"stands at {self.last}, is read: {self.thread.is_alive()}")
        print(threads_of(self.process.pid))
        return False

    def stop(self):
        self.stopping = True
        self.thread.join(timeout=5)


def threads_of(pid):
    """A line for each thread, with all that may keep it from going on."""
    wanted = re.compile(r"^(?:Pid|State|TracerPid|SigPnd|ShdPnd):.*$", re.M)
    lines = []
    for task in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            found = wanted.findall(task.read_text())
        except OSError:  # it has ended
            continue
        lines.append(" ".join(" ".join(found).split()))
    return "\n".join(lines)


def settles(pid):
    """No thread of it is stopped, soon."""
    return comes(lambda: not states_of(pid) & {"T", "t"})


def tracer_of(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("TracerPid:"):
            return int(line.split()[1])
    return None


def chain(report):
    """Objects that main.chain holds."""
    return {r["name"]: r["objects"] for r in report["roots"]}["main.chain"]


def truth_of(process):
    return process.truth["held"]["main.chain"]["objects"]


def attach_cli(pid, *options):
    """The document of `goref attach --json`."""
    done = run_cli(["attach", pid, "--json", *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Code for hosts.py: a process is copied, a millisecond long, without an estimate.
TOO_SHORT = """
from goref import live
live.Look.check_pause = lambda self: None
goref.attach(PID, max_pause_ms=1)
"""

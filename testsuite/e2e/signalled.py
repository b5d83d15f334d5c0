# SPDX-License-Identifier: Apache-2.0
"""Processes that count the signals that reach them, and checks of their state
after goref has read them."""

import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

from counters import threads_of, tracer_of
from snapshots import children
from waiting import comes, states_of

# Nobody sends these signals, so their pending bits stay clear.
NOT_OURS = sum(
    1 << (number - 1)
    for number in (signal.SIGINT, signal.SIGSTOP, signal.SIGTRAP,
                   signal.SIGTSTP, signal.SIGCHLD)
)  # fmt: skip


class Signalled:
    """A process of the test program of that name."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid
        self.sent = {}

    def ask(self):
        self.process.popen.stdin.write(b"\n")
        self.process.popen.stdin.flush()
        return json.loads(self.process.read_line())

    def send(self, number):
        """Send it a signal of its own, which it has to get once."""
        os.kill(self.pid, number)
        self.sent[str(int(number))] = self.sent.get(str(int(number)), 0) + 1

    def check_counts(self):
        """Check that it still works, and has got each signal that was sent
        once, and no other signal."""
        before = self.ask()["rounds"]
        assert comes(lambda: self.ask()["rounds"] > before), self.said()
        assert comes(lambda: self.has_come()), (self.ask(), self.sent)
        assert self.ask()["signals"] == self.sent

    def has_come(self):
        """Have all signals that were sent arrived?"""
        come = self.ask()["signals"]
        return all(come.get(n, 0) >= count for n, count in self.sent.items())

    def said(self):
        return threads_of(self.pid)

    def check(self):
        """It runs, has no tracer and no child, and its signals are its own."""
        check_let_go(self.process)
        assert comes(lambda: not states_of(self.pid) & {"T", "t"}), self.said()
        assert comes(lambda: not children(self.pid)), children(self.pid)
        self.check_counts()

    def check_stopped(self):
        """The same of one that a signal has stopped before."""
        check_let_go(self.process)
        # A thread that is let go runs for a moment before it stops again.
        assert comes(lambda: states_of(self.pid) <= {"T", "Z"}), self.said()
        assert comes(lambda: not children(self.pid)), children(self.pid)
        masks = re.findall(r"Pnd: (\w+)", self.said())
        assert not any(int(mask, 16) & NOT_OURS for mask in masks), self.said()


def check_let_go(process):
    assert process.popen.poll() is None, "the process has ended"
    assert comes(lambda: not is_traced(process.pid)), threads_of(process.pid)


def is_traced(pid):
    """Has any of its threads a tracer?"""
    return bool(tracer_of(pid)) or any(
        word != "0"
        for word in re.findall(r"TracerPid: (\d+)", threads_of_all(pid))
    )


def threads_of_all(pid):
    """TracerPid of each thread: those that have not stopped have one, too."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with suppress(OSError):
            text = Path(f"/proc/{pid}/task/{tid}/status").read_text()
            tracer = re.search(r"(?m)^TracerPid:\s+\d+", text)
            found.append(" ".join(tracer[0].split()))
    return "\n".join(found)


def living(mark):
    """The processes with this in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            text = Path(f"/proc/{name}/environ").read_bytes()
            if mark.encode() in text.split(b"\0"):
                found.append(name)
    return found

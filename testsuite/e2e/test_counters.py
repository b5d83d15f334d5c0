# SPDX-License-Identifier: Apache-2.0
"""The reader of counting processes: it says "stands still" of those only that
do."""

import os
import subprocess

import pytest

from counters import Counter, threads_of
from waiting import comes, states_of


class Piped:
    """A process whose output the test writes itself."""

    unread = b""

    def __init__(self):
        ours, theirs = os.pipe()
        self.popen = subprocess.Popen(["sleep", "60"])
        self.popen.stdout = open(ours, "rb", 0)
        self.pid = self.popen.pid
        self.output = open(theirs, "wb", 0)

    def close(self):
        self.output.close()
        self.popen.kill()
        self.popen.wait()


@pytest.fixture
def piped():
    process = Piped()
    counter = Counter(process)
    yield process, counter
    process.close()
    counter.stop()
    process.popen.stdout.close()


def test_line_in_two_pieces(piped):
    """Longer apart than one look for output takes."""
    process, counter = piped
    process.output.write(b"1\n2")
    assert comes(lambda: counter.last == 1)
    before = counter.silent
    assert comes(lambda: counter.silent > before)
    process.output.write(b"\n")
    assert comes(lambda: counter.last == 2)
    process.output.write(b"3\n4\n5\n6\n")
    assert comes(lambda: counter.last == 6)


def test_stands_still(piped, capsys):
    """The reason can be read in the output of a failed test."""
    process, counter = piped
    assert comes(lambda: states_of(process.pid) == {"S"})
    assert not counter.goes_on(timeout=0.2)
    said = capsys.readouterr().out
    assert f"Pid: {process.pid} TracerPid: 0" in said
    assert "State: S (sleeping)" in threads_of(process.pid)

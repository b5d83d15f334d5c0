# SPDX-License-Identifier: Apache-2.0
"""The helper that makes snapshots holds the process at its end, too. A signal
waits for that, but not for ever."""

import os
import signal

import pytest

from goref import native, snapshot

# In place of goref-snapshot: it is interrupted while it ends.
HELPER = """#!/bin/sh
echo ready
read -r line
kill -INT $PPID
{end}
"""


@pytest.fixture(autouse=True)
def python_handles_sigint():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """make(end): a copy whose helper ends by a line of the shell."""
    helper = tmp_path / "helper"
    monkeypatch.setattr(native, "program", lambda _name: str(helper))

    def copy(end):
        helper.write_text(HELPER.format(end=end))
        helper.chmod(0o755)
        return snapshot.Copy(os.getpid(), None)

    return copy


def test_interrupted_after_the_helper_has_ended(make, tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(KeyboardInterrupt), make(f"sleep 1; : >'{mark}'"):
        pass
    assert mark.exists()


def test_a_helper_that_does_not_end(make, monkeypatch):
    monkeypatch.setattr(snapshot, "_ENDING_S", 0.1)
    copy = make("exec sleep 1000")
    try:
        with pytest.raises(KeyboardInterrupt), copy:
            pass
        assert copy.helper.poll() is None
    finally:
        copy.helper.kill()
        copy.helper.communicate()


def test_what_the_helper_says_at_its_end(make, monkeypatch):
    said = []
    monkeypatch.setattr(snapshot, "warn", said.append)
    with pytest.raises(KeyboardInterrupt), make("echo refused in vain"):
        pass
    monkeypatch.setattr("test_snapshot.HELPER", HELPER.replace("kill", ": "))
    with make("echo refused in vain"):
        pass
    assert said == [[f"process {os.getpid()}: in vain"]]

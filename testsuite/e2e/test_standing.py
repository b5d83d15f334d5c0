# SPDX-License-Identifier: Apache-2.0
"""Reasons that keep a process from running, in made-up and real folders."""

import importlib.util
import signal
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "python/goref/standing.py"
_spec = importlib.util.spec_from_file_location("goref_standing", SOURCE)
standing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(standing)

Standing = standing.Standing


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


ROWS = {
    "version 2": ("0::/pod\n", "pod/cgroup.events", "frozen 1", True),
    "version 2 thawed": ("0::/pod\n", "pod/cgroup.events", "frozen 0", False),
    "hybrid": ("0::/pod\n", "unified/pod/cgroup.events", "frozen 1", True),
    "version 1": (
        "4:cpu:/\n6:freezer:/box\n0::/\n",
        "freezer/box/freezer.state",
        "FROZEN",
        True,
    ),
    "version 1 soon": (
        "6:freezer:/box\n",
        "freezer/box/freezer.state",
        "FREEZING",
        True,
    ),
    "version 1 thawed": (
        "6:freezer:/box\n",
        "freezer/box/freezer.state",
        "THAWED",
        False,
    ),
    "another controller": (
        "6:memory:/box\n",
        "freezer/box/freezer.state",
        "FROZEN",
        False,
    ),
    "a line that is torn": ("6:freezer\n", "x", "", False),
}


@pytest.mark.parametrize("row", ROWS)
def test_frozen(tmp_path, row):
    groups, name, text, is_frozen = ROWS[row]
    stat = "7 (a (b) c) S 1 1"
    write(tmp_path / "proc/7", {"cgroup": groups, "stat": stat})
    write(tmp_path / "sys/fs/cgroup", {name: f"populated 1\n{text}\n"})
    found = standing.of(7, str(tmp_path / "proc"), str(tmp_path))
    assert found is (Standing.FROZEN if is_frozen else Standing.RUNS)


@pytest.mark.parametrize(
    ("state", "expected"),
    [("R", "RUNS"), ("D", "RUNS"), ("T", "STOPPED"), ("t", "TRACED"),
     ("Z", "ENDED"), ("X", "ENDED")],
)  # fmt: skip
def test_states(tmp_path, state, expected):
    write(tmp_path / "7", {"stat": f"7 (x) {state} 1 1"})
    assert standing.of(7, str(tmp_path)).name == expected


def test_no_process(tmp_path):
    assert standing.of(7, str(tmp_path)) is Standing.ENDED


def test_settled(monkeypatch):
    """One that is stopped a little later than it is looked at."""
    popen = subprocess.Popen(["sleep", "100"])
    look, looks = standing.of, []

    def stopping_at_third_look(pid):
        looks.append(look(pid))
        if len(looks) == 3:
            popen.send_signal(signal.SIGSTOP)
        return looks[-1]

    try:
        assert standing.settled(popen.pid, Standing.RUNS) is Standing.RUNS
        found = standing.settled(popen.pid, Standing.STOPPED)
        assert found is Standing.RUNS
        monkeypatch.setattr(standing, "_SETTLE_S", 120)
        monkeypatch.setattr(standing, "of", stopping_at_third_look)
        found = standing.settled(popen.pid, Standing.STOPPED)
        assert found is Standing.STOPPED
        assert looks[:3] == [Standing.RUNS] * 3
    finally:
        popen.kill()
        popen.wait()


def test_every_outcome_is_told_apart():
    told = {
        standing.outcome(before, after, "12 ms")
        for before in (Standing.RUNS, Standing.STOPPED)
        for after in Standing
    }
    assert len(told) == 2 * len(Standing)
    assert all("12 ms" in text for text in told)
    goes_on = [text for text in told if "and goes on" in text]
    assert goes_on == ["stood still for 12 ms and goes on"]

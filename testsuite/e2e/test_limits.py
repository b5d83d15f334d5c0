# SPDX-License-Identifier: Apache-2.0
"""Crafted cores: each ends with an answer or one line, within the memory that
it may take, and when poll says so. testsuite/loops.md has all loops."""

import os
import re
import subprocess
import time

import pytest

import crafted
from asking import SCANNER, sanitizers
from session import environment, run_cli
from toolchains import Variant, variants

LIMIT = 256 << 20
# Two polls may lie so far apart, and gdb or the libraries take some.
SPARE = 96 << 20
# Ctrl-C is answered so soon.
MAX_BEHIND_MS = 500
# Generous: the machine may be busy. What is measured is said in loops.md.
SECONDS = 120


def craft(farm, variant, kind, folder):
    target = farm.target("rest", variant)
    core = crafted.Crafted(SCANNER, target, folder / "crafted")
    kind(core)
    return target, core


def private_bytes(pid):
    """Most anonymous memory so far that was seen; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("RssAnon"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def scan(target, core, *options):
    """Return code, stderr and the most memory that was seen."""
    scanner = subprocess.Popen(
        [SCANNER, *options, target.exe, core.path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    most, end = 0, time.monotonic() + SECONDS
    while scanner.poll() is None:
        most = max(most, private_bytes(scanner.pid))
        if time.monotonic() > end:
            scanner.kill()
            pytest.fail("it does not end")
        time.sleep(0.002)
    return scanner.returncode, scanner.stderr.read(), most


def count_polls(said):
    return int(re.search(r"^polls: (\d+)$", said, re.M)[1])


def behind_ms(said):
    """Processor time between the poll that has refused and the end."""
    return float(re.search(r"^time behind .*: ([\d.]+) ms$", said, re.M)[1])


def kinds():
    return pytest.mark.parametrize("kind", crafted.ALL, ids=lambda k: k.__name__)


@kinds()
@variants("default")
def test_within_the_limit(farm, variant, kind, tmp_path):
    target, core = craft(farm, variant, kind, tmp_path)
    rc, said, most = scan(target, core, "--memory-limit", str(LIMIT))
    assert rc in (0, 1), said
    assert sanitizers() or most < LIMIT + SPARE, (most, said)
    if rc:
        assert "not enough memory" in said, said


@kinds()
@variants("default")
def test_ended_by_poll(farm, variant, kind, tmp_path):
    """Whatever it does then: nothing goes on after poll has refused."""
    target, core = craft(farm, variant, kind, tmp_path)
    limit = ("--memory-limit", str(LIMIT), "--polls")
    polls = count_polls(scan(target, core, *limit)[1])
    for last in {1, 2, *(polls * i // 8 for i in range(1, 8)), polls - 1}:
        rc, said, _ = scan(target, core, *limit, "--last-poll", str(last))
        assert rc == 1 and "poll has ended it" in said, (last, polls, said)
        assert count_polls(said) == last, polls
        assert behind_ms(said) < MAX_BEHIND_MS, said


@kinds()
def test_ended(farm, kind, tmp_path):
    """Whatever it does then, poll ends it: at the first look, as soon."""
    variant = Variant("go1.24", "default")
    target, core = craft(farm, variant, kind, tmp_path)
    for milliseconds in (1, 30, 100):
        rc, said, most = scan(
            target, core, "--timeout", str(milliseconds),
            "--memory-limit", str(LIMIT),
        )  # fmt: skip
        assert rc in (0, 1), said
        assert sanitizers() or most < LIMIT + SPARE
        if rc:
            assert "timed out" in said or "not enough mem" in said, said


def test_one_line(farm, tmp_path):
    """What a person sees of it."""
    target, core = craft(
        farm, Variant("go1.24", "default"), crafted.specials, tmp_path
    )
    done = run_cli(
        ["core", target.exe, core.path, "--memory-limit", "60M"],
        env={"XDG_CACHE_HOME": os.fspath(tmp_path / "cache")},
    )
    assert done.returncode == 1, done.stdout
    lines = [x for x in done.stderr.splitlines() if "warning" not in x]
    assert len(lines) == 1, done.stderr
    assert "not enough memory" in lines[0] and "60.0 MB" in lines[0]
    assert "--memory-limit" in lines[0]

# SPDX-License-Identifier: Apache-2.0
"""Crafted cores: each ends with an answer or one line, within the memory that
it may take, and when poll says so. testsuite/check-loops finds loops without a
bound."""

import os
import re

import pytest

import crafted
from asking import SCANNER, run_scanner, sanitizers
from session import run_cli
from toolchains import Variant, variants

LIMIT = 128 << 20
# Two polls may lie so far apart, and Python takes some. Besides, pages of the
# core are in memory.
SPARE = 96 << 20
# Ctrl-C is answered so soon.
MAX_BEHIND_MS = 500
# A scan that does not end takes more processor time.
SECONDS = 120


def craft(farm, variant, kind, folder):
    target = farm.target("rest", variant)
    core = crafted.Crafted(SCANNER, target, folder / "crafted")
    kind(core)
    return target, core


def scan(target, core, *options):
    return run_scanner(*options, target.exe, core.path, max_seconds=SECONDS)


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
    done = scan(target, core, "--memory-limit", str(LIMIT))
    assert done.returncode in (0, 1), done.stderr
    most = LIMIT + SPARE + core.path.stat().st_blocks * 512
    assert sanitizers() or done.used < most, (done.used, done.stderr)
    assert not done.returncode or "not enough memory" in done.stderr


@kinds()
@variants(newest=("default",))
def test_ended_by_poll(farm, variant, kind, tmp_path):
    """Whatever it does then: nothing goes on after poll has refused."""
    target, core = craft(farm, variant, kind, tmp_path)
    limit = ("--memory-limit", str(LIMIT), "--polls")
    polls = count_polls(scan(target, core, *limit).stderr)
    for last in {1, polls // 3, polls * 2 // 3, polls - 1}:
        done = scan(target, core, *limit, "--last-poll", str(last))
        assert done.returncode == 1, (last, polls, done.stderr)
        assert "poll has ended it" in done.stderr, (last, polls)
        assert count_polls(done.stderr) == last, polls
        assert behind_ms(done.stderr) < MAX_BEHIND_MS, done.stderr


def test_one_line(farm, tmp_path):
    """A person sees one line."""
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
    assert "not enough memory" in lines[0] and "60.0 MiB" in lines[0]
    assert "--memory-limit" in lines[0]

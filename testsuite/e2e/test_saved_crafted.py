# SPDX-License-Identifier: Apache-2.0
"""Crafted saved files (crafted_saved.py): each ends with an answer or one line,
within the memory that it may take, and when poll says so."""

import re

import pytest

import crafted_saved
import crafted_tables
import saved_file
from asking import run_scanner, sanitizers
from session import one_line, run_cli
from test_saved_damage import CENTRAL, save
from toolchains import variants

LIMIT = 128 << 20
# Two polls may lie so far apart, and a frame of 64 MB is unpacked before it
# is known what it has.
SPARE = 96 << 20
# A file that does not end takes more processor time.
SECONDS = 100


@pytest.fixture(scope="module")
def whole(farm, tmp_path_factory):
    return save(farm, CENTRAL, tmp_path_factory.mktemp("whole") / "whole")


def scan(path, *options):
    return run_scanner(*options, path, max_seconds=SECONDS)


def errors(done):
    """Without what --polls says, and warnings."""
    told = ("warning: ", "polls: ", "longest time", "time behind")
    return [x for x in done.stderr.splitlines() if not x.startswith(told)]


def count_polls(done):
    return int(re.search(r"^polls: (\d+)$", done.stderr, re.M)[1])


@pytest.mark.parametrize(
    "kind", crafted_saved.ALL, ids=lambda kind: kind.__name__
)
def test_limits_hold(whole, kind, tmp_path):
    path = tmp_path / "crafted.goref"
    path.write_bytes(crafted_saved.make(kind, whole))
    limit = ("--memory-limit", str(LIMIT), "--polls")
    done = scan(path, *limit)
    refused = crafted_saved.ALL[kind]
    assert done.returncode == bool(refused), done.stderr
    assert len(errors(done)) == done.returncode, done.stderr
    assert refused in "".join(errors(done))
    assert sanitizers() or done.used < LIMIT + SPARE, (done.used, done.stderr)
    polls = count_polls(done)
    for last in {polls // 3, polls - 1}:
        if last <= 0:
            continue
        done = scan(path, *limit, "--last-poll", str(last))
        assert done.returncode == 1, (last, polls, done.stderr)
        assert errors(done) == ["scanner: poll has ended it"], last
        assert count_polls(done) == last, polls


@pytest.mark.parametrize(
    "kind", crafted_saved.UNPAID, ids=lambda kind: kind.__name__
)
def test_no_row_is_free(whole, kind, tmp_path):
    """A file unpacks to a size in proportion to its bytes: next to nothing
    is read of one that has more."""
    path = tmp_path / "small.goref"
    path.write_bytes(crafted_saved.make(kind, whole))
    assert path.stat().st_size < 100_000
    done = scan(path)
    assert done.returncode == 1, done.stderr
    assert "it unpacks to more than its size allows" in done.stderr
    assert sanitizers() or done.used < 64 << 20


def test_saved_again(whole, tmp_path):
    """It ends when poll says so."""
    path, out = tmp_path / "crafted.goref", tmp_path / "again.goref"
    craft = crafted_saved.segments_and_threads
    path.write_bytes(crafted_saved.make(craft, whole))
    done = scan(path, "--polls", "--save", out)
    assert done.returncode == 0, done.stderr
    polls = count_polls(done)
    for last in (polls // 3, polls // 2, polls - 1):
        done = scan(path, "--polls", "--save", out, "--last-poll", str(last))
        assert errors(done) == ["scanner: poll has ended it"], last
        assert count_polls(done) == last, polls


def test_one_line(whole, tmp_path):
    """A person sees one line."""
    path = tmp_path / "crafted.goref"
    for kind, told in (
        (
            crafted_saved.small,
            "is damaged (it unpacks to more than its size allows)",
        ),
        (crafted_saved.memory, "not enough memory: more than"),
        (crafted_saved.long_end, "is damaged (its end has data)"),
    ):
        path.write_bytes(crafted_saved.make(kind, whole))
        done = run_cli(["open", path, "scan", "--memory-limit", "256M"])
        one_line(done, 1, told)


def test_variable_of_towers(whole, tmp_path):
    """The parts of a variable are gone through up to a limit."""
    path = tmp_path / "crafted.goref"
    craft = crafted_tables.tower_of_variables
    path.write_bytes(crafted_saved.make(craft, whole))
    done = run_cli(["open", path, "why", "main.cases"])
    assert done.returncode == 0, done.stderr
    assert "main.cases: S, 8 bytes" in done.stdout


@variants("default", "stripped")
def test_real_files_pay(farm, variant, tmp_path):
    """With and without values, by far."""
    for options in ((), ("--values",)):
        data = save(farm, variant, tmp_path / "file", *options)
        _, frames = saved_file.read(data)
        unpacked = sum(f.bytes for f in frames if f.kind != saved_file.PAGES)
        assert unpacked < 8 * len(data)

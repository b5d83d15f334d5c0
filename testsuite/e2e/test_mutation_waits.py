# SPDX-License-Identifier: Apache-2.0
"""Damaged cores of programs that wait or panic: an answer or one line of error,
in little time and memory, with Ctrl-C, too, and gdb goes on.
GOREF_MUTATIONS=1000 for the long run."""

import os
from pathlib import Path

import pytest

import mutate
import mutate_waits
from session import run_goref
from targets import Target, kernel_core, kernel_cores_reason, skip_if
from test_mutation import BAD_WORDS, MAX_PEAK_KB, run_mutations
from test_owners import KINDS
from toolchains import RELEASES, variants

COUNT = int(os.environ.get("GOREF_MUTATIONS", "45"))
ENDINGS = ("nested", "goroutine", "nil", "maps")
LOCKS = (*KINDS["owners"], *KINDS["cycles"], "lost")
PROGRAMS = ("locks", "waits", "leaks", "panics", "sockets")
# Damage to records, not to the file: there is an answer then, not a refusal.
RECORDS = ("states", "sudogs", "trees", "queues", "locks", "endings",
           "frames", "code", "copies")  # fmt: skip
# Of these, goroutines themselves know nothing: all of them are listed.
ELSEWHERE = ("trees", "queues", "locks")
# Goroutines are damaged in their place.
WITHOUT_SUDOGS = ("panics", "sockets")
LISTING = "goref goroutines -group stack --json"


def with_code(process):
    """A core that has the program's code: by itself, the kernel leaves out what
    a file has."""
    skip_if(kernel_cores_reason())
    process.rest()
    Path(f"/proc/{process.pid}/coredump_filter").write_text("0x3f")
    core = kernel_core(process)
    return Target("core", process.exe, process.truth, core=core)


def made(farm, program, variant):
    if program == "locks":
        return with_code(farm.process("deadlocks", variant, LOCKS))
    if program != "panics":
        args = ("leaked",) if program == "leaks" else ()
        return farm.target(program, variant, args=args)
    skip_if(kernel_cores_reason())
    how = ENDINGS[RELEASES.index(variant.release) % len(ENDINGS)]
    process = farm.process("panics", variant, (how,))
    core = kernel_core(process, process.popen.stdin.close)
    return Target("core", process.exe, process.truth, core=core)


def check(row, kind):
    assert row["seconds"] <= mutate.MAX_SECONDS, row
    error = row["error"]
    if not row["command"].startswith("goref") or error is None:
        return
    assert error.startswith("goref") and "\n" not in error, row
    ends = "--memory-limit" in row["command"] or "--timeout" in row["command"]
    if kind in RECORDS and not ends and error != "goref: interrupted":
        assert "is not the program of core" in error, (kind, row)


@pytest.mark.parametrize("program", PROGRAMS)
@variants("default")
def test_damaged_cores(farm, variant, program, tmp_path):
    count = -(-COUNT // len(RELEASES) // len(PROGRAMS))
    first = (
        PROGRAMS.index(program) * len(RELEASES)
        + RELEASES.index(variant.release)
    ) * count
    target = made(farm, program, variant)
    done, rows = run_mutations(target, tmp_path, first, count, mutate_waits)
    last = rows[-1] if rows else None
    assert rows and last.get("done") == count, (last, done.stderr[-2000:])
    assert last["peak_kb"] < MAX_PEAK_KB, last
    for word in BAD_WORDS:
        assert word not in done.stderr, done.stderr[-2000:]
    whole = run_goref(target, [LISTING]).json(0)["total"]
    kind, answers = None, 0
    for row in rows[:-1]:
        kind = row.get("kind", kind)
        if "command" not in row:
            continue
        check(row, kind)
        answers += row["command"].startswith("goref")
        if kind in ELSEWHERE and program not in WITHOUT_SUDOGS:
            is_listing = row["command"] == LISTING and not row["error"]
            assert not is_listing or row["total"] == whole, (row, whole)
    assert answers == count * (len(mutate_waits.QUESTIONS) + 3)

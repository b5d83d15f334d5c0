# SPDX-License-Identifier: Apache-2.0
"""Damaged cores of programs that wait or panic: an answer or one line of error,
in little time and memory, with Ctrl-C, too. GOREF_MUTATIONS=1000 for the long
run, with a build with sanitizers in GOREF_BUILD_DIR, too."""

import json
import os
from pathlib import Path

import pytest

import mutate
import mutate_waits
from asking import run_goref
from targets import Target, kernel_core, kernel_cores_reason, skip_if
from test_owners import KINDS
from toolchains import RELEASES, variants

COUNT = int(os.environ.get("GOREF_MUTATIONS", "45"))
ENDINGS = ("nested", "goroutine", "nil", "maps")
LOCKS = (*KINDS["owners"], *KINDS["cycles"], "lost")
PROGRAMS = ("locks", "waits", "leaks", "panics", "sockets")
# Damage to records, not to the file: there is an answer then, not a refusal.
RECORDS = ("states", "sudogs", "trees", "queues", "locks", "endings",
           "frames", "code", "copies")  # fmt: skip
# Goroutines themselves know nothing of these: all of them are listed.
ELSEWHERE = ("trees", "queues", "locks")
# Goroutines are damaged in their place.
WITHOUT_SUDOGS = ("panics", "sockets")
LISTING = "goroutines -group stack --json"


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


def check(answer):
    assert not mutate.is_bad(answer), answer
    ends = ("--memory-limit", "--timeout", "--last-poll")
    text, error = answer.question.text, answer.error
    if answer.kind not in RECORDS or any(word in text for word in ends):
        return
    if error not in (None, "goref: interrupted"):
        assert "is not the program of core" in error, answer


@pytest.mark.parametrize("program", PROGRAMS)
@variants("default")
def test_damaged_cores(farm, variant, program, tmp_path):
    count = -(-COUNT // len(RELEASES) // len(PROGRAMS))
    first = (
        PROGRAMS.index(program) * len(RELEASES)
        + RELEASES.index(variant.release)
    ) * count
    target = made(farm, program, variant)
    listed = run_goref("core", target.exe, target.core, *LISTING.split())
    whole = json.loads(listed.stdout)["total"]
    way = mutate_waits.way_of(target.exe, target.core)
    answers = 0
    for answer in mutate.run(way, target, tmp_path, first, count):
        check(answer)
        answers += 1
        if answer.kind in ELSEWHERE and program not in WITHOUT_SUDOGS:
            is_listing = answer.question == mutate.Question(LISTING)
            if is_listing and not answer.error:
                assert answer.document["total"] == whole, answer
    assert answers == count * (len(mutate_waits.QUESTIONS) + 4)

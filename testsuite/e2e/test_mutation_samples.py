# SPDX-License-Identifier: Apache-2.0
"""Damaged cores of programs with samples: an answer or one line of error, in
little time and memory, and gdb goes on. GOREF_MUTATIONS=1000 for the long
run."""

import os

import pytest

import mutate
import mutate_samples
from test_mutation import BAD_WORDS, MAX_PEAK_KB, run_mutations
from toolchains import RELEASES, variants

COUNT = int(os.environ.get("GOREF_MUTATIONS", "36"))
MANY = 50
# The rate of a program's memory profile.
PROGRAMS = {"sampled": "65536", "sites": "1"}
# Damage to records, not to the file: there is an answer then, not a refusal.
RECORDS = ("lists", "headers", "calls", "specials", "settings")


def check(row, kind):
    assert row["seconds"] <= mutate.MAX_SECONDS, row
    error = row["error"]
    if not row["command"].startswith("goref") or error is None:
        return
    assert error.startswith("goref") and "\n" not in error, row
    ends = "--memory-limit" in row["command"] or "--timeout" in row["command"]
    assert kind not in RECORDS or ends, (kind, row)


@pytest.mark.parametrize("program", PROGRAMS)
@variants("default")
def test_damaged_cores(farm, variant, program, tmp_path):
    count = -(-COUNT // len(RELEASES) // len(PROGRAMS))
    part = list(PROGRAMS).index(program) * len(RELEASES)
    first = (part + RELEASES.index(variant.release)) * count
    target = farm.target(program, variant, args=[PROGRAMS[program]])
    done, rows = run_mutations(target, tmp_path, first, count, mutate_samples)
    last = rows[-1] if rows else None
    assert rows and last.get("done") == count, (last, done.stderr[-2000:])
    assert last["peak_kb"] < MAX_PEAK_KB, last
    for word in BAD_WORDS:
        assert word not in done.stderr, done.stderr[-2000:]
    kind, answers, found = None, 0, set()
    for row in rows[:-1]:
        kind = row.get("kind", kind)
        if "command" in row:
            check(row, kind)
            answers += row["command"].startswith("goref")
            if kind in RECORDS:
                found.add(row["complete"])
    assert answers == count * (len(mutate_samples.QUESTIONS) + 2)
    # The damage is real, and not such that nothing is left to look at. A few
    # changes may all miss what is read, or all hit it.
    assert found and (count < MANY or {True, False} <= found), found

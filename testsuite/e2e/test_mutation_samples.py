# SPDX-License-Identifier: Apache-2.0
"""Damaged cores of programs with samples: an answer or one line of error, in
little time and memory. GOREF_MUTATIONS=1000 for the long run, with a build with
sanitizers in GOREF_BUILD_DIR, too."""

import os

import pytest

import mutate
import mutate_samples
from toolchains import RELEASES, variants

COUNT = int(os.environ.get("GOREF_MUTATIONS", "36"))
MANY = 50
# The rate of a program's memory profile.
PROGRAMS = {"sampled": "65536", "sites": "1"}
# Damage to records, not to the file: there is an answer then, not a refusal.
RECORDS = ("lists", "headers", "calls", "specials", "settings")


def check(answer):
    assert not mutate.is_bad(answer), answer
    ends = ("--memory-limit", "--timeout", "--last-poll")
    if answer.kind in RECORDS and answer.error is not None:
        assert any(word in answer.question.text for word in ends), answer


@pytest.mark.parametrize("program", PROGRAMS)
@variants("default")
def test_damaged_cores(farm, variant, program, tmp_path):
    count = -(-COUNT // len(RELEASES) // len(PROGRAMS))
    part = list(PROGRAMS).index(program) * len(RELEASES)
    first = (part + RELEASES.index(variant.release)) * count
    target = farm.target(program, variant, args=[PROGRAMS[program]])
    way = mutate_samples.way_of(target.exe, target.core)
    answers, found = 0, set()
    for answer in mutate.run(way, target, tmp_path, first, count):
        check(answer)
        answers += 1
        if answer.kind in RECORDS:
            found.add(answer.document.get("complete"))
    assert answers == count * (len(mutate_samples.QUESTIONS) + 3)
    # The damage is real, and not such that nothing is left to look at. A few
    # changes may all miss what is read, or all hit it.
    assert found and (count < MANY or {True, False} <= found), found

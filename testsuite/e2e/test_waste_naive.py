# SPDX-License-Identifier: Apache-2.0
"""goref waste against a naive implementation (naive_waste.py), on cores of
100,000 objects at random."""

from collections import Counter
from pathlib import Path

import pytest

from plain import told
from session import run_goref
from test_waste import names
from toolchains import variants

OBJECTS = 100_000
NAIVE = """
    import json, sys
    sys.path.insert(0, sys.argv[1])
    import goref, naive_waste
    with goref.core(sys.argv[3], sys.argv[2]) as heap:
        print(json.dumps(naive_waste.answer(heap._scan())))
"""


def naive_answer(target):
    here = Path(__file__).parent
    return told(NAIVE, here, target.exe, target.core)


class Groups:
    """Places of which the same objects can be counted at either."""

    def __init__(self, shared):
        self._of = {}
        for places in shared:
            first, *others = (tuple(place) for place in places)
            for other in others:
                self._of[self.find(other)] = self.find(first)

    def find(self, place):
        while place in self._of and self._of[place] != place:
            place = self._of[place]
        return place

    def sums(self, rows):
        """Bytes and count by group; rows: (type, field, bytes, count)."""
        found = {}
        for name, field, saved, count in rows:
            group = self.find((name, field))
            found.setdefault(group, Counter()).update(bytes=saved, count=count)
        return found


def rows_of(document, check):
    """Those about fields and variables of package main."""
    return [
        (*names(row), row["bytes"], row["count"])
        for row in document["checks"]
        if row["check"] == check and (row["type"] or "").startswith("main.")
    ]


@pytest.mark.parametrize("seed", [1, 2])
@variants("default")
def test_naive(farm, variant, seed):
    args = ("mix", str(seed), str(OBJECTS))
    target = farm.target("wastes", variant, args=args)
    naive = naive_answer(target)
    run = run_goref(target, ["goref waste --json --min-share 0%"])
    assert run.rc == 0, run.stderr
    groups = Groups(naive["shared"])
    for check, rows in naive["rows"].items():
        expected = groups.sums(rows)
        found = groups.sums(rows_of(run.json(), check))
        if check == "sparse-map" and naive["has_buckets"]:
            check_bounds(found, expected)
        else:
            assert found == expected, check


def check_bounds(found, expected):
    """goref takes as many buckets that overflow as hardly any map has."""
    assert set(found) <= set(expected)
    for place, sums in found.items():
        assert sums["count"] <= expected[place]["count"], place
        assert sums["bytes"] <= expected[place]["bytes"], place
    whole = sum(sums["bytes"] for sums in expected.values())
    assert sum(sums["bytes"] for sums in found.values()) > whole / 2


# Programs most of whose memory hangs on variables of package main.
OTHERS = {"values": (), "indexes": (), "suspects": ("map",)}
BY_OTHERS = 0.05  # by goroutines, which the naive walk does not follow


@pytest.mark.parametrize("program", OTHERS)
@variants(newest=("default",))
def test_other_programs(farm, variant, program):
    """Findings in programs that were not made for it are true."""
    target = farm.target(program, variant, args=OTHERS[program])
    naive = naive_answer(target)
    run = run_goref(target, ["goref waste --json"])
    assert run.rc == 0, run.stderr
    groups = Groups(naive["shared"])
    for check, rows in naive["rows"].items():
        expected = groups.sums(rows)
        found = groups.sums(rows_of(run.json(), check))
        for place, sums in found.items():
            truth = expected.get(place, Counter())["bytes"]
            most = truth * (1 + BY_OTHERS)
            assert truth <= sums["bytes"] <= most, (check, place)

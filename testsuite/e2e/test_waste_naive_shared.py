# SPDX-License-Identifier: Apache-2.0
"""goref waste against naive implementations (naive_shared_waste.py and
naive_tiny.py), on cores of 100,000 objects at random: contexts, pools, what
libraries keep, and small values."""

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from plain import told
from session import run_goref
from test_waste import names
from targets import GDB
from toolchains import variants

HERE = Path(__file__).parent
OBJECTS = 125_000  # the program counts roughly
CHANNELS = ("main.freeSlices", "main.freeBuffers", "main.slicesToDo")
NAIVE = """
    import json, sys
    sys.path.insert(0, sys.argv[1])
    import goref, naive_shared_waste
    with open(sys.argv[4]) as file:
        pools = json.load(file)
    with goref.core(sys.argv[3], sys.argv[2]) as heap:
        print(json.dumps(naive_shared_waste.answer(heap._scan(), pools)))
"""


def read_pools(target):
    """The line that pools_in_gdb.py prints."""
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); "
    script += f"import pools_in_gdb; pools_in_gdb.main(*{CHANNELS!r})"
    done = subprocess.run(
        [GDB, "-nx", "-batch", "-iex", "set auto-load python-scripts off",
         "-iex", "set debuginfod enabled off", "-ex", f"python {script}",
         target.exe, target.core],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    *_, last = done.stdout.splitlines()
    assert last.startswith("{"), done.stdout + done.stderr
    return last


def rows_of(document, check):
    return sorted(
        [row["type"], row["field"] or "", row["bytes"], row["count"],
         int(row["example"], 16), row["advice"]]
        for row in document["checks"]
        if row["check"] == check
    )  # fmt: skip


@pytest.fixture(scope="module")
def answers(farm, tmp_path_factory):
    """answers(variant, seed): the naive answer, and that of goref."""
    made = {}

    def make(variant, seed):
        if (variant, seed) not in made:
            args = ("mix-shared", str(seed), str(OBJECTS))
            target = farm.target("wastes", variant, args=args)
            pools = tmp_path_factory.mktemp("pools") / "pools"
            pools.write_text(read_pools(target))
            naive = told(NAIVE, HERE, target.exe, target.core, pools)
            run = run_goref(target, ["goref waste --json --min-share 0%"])
            assert run.rc == 0, run.stderr
            made[variant, seed] = naive, run.json()
            assert run.json()["heap_objects"] >= 100_000
        return made[variant, seed]

    return make


# The least rows that the program has: a check that finds nothing at all, in
# both versions, would be equal.
LEAST = {"context-children": 2, "pool": 8, "library-tax": 6}


@pytest.mark.parametrize("check", LEAST)
@pytest.mark.parametrize("seed", [1, 2])
@variants("default")
def test_rows(answers, variant, seed, check):
    """Type, field, bytes, count and example are exact, and the advice has the
    other numbers."""
    naive, document = answers(variant, seed)
    rows, expected = rows_of(document, check), sorted(naive[check])
    assert [row[:-1] for row in rows] == [row[:-1] for row in expected]
    for (*_, advice), (*_, said) in zip(rows, expected):
        assert said in advice
    assert len(expected) >= LEAST[check]


def sums_of(rows):
    """Rows whose objects are elements of a field are rows of the field."""
    found = defaultdict(list)
    for name, field, *numbers in rows:
        found[names({"type": name, "field": field})].append(numbers)
    return {
        place: (sum(n[0] for n in all), sum(n[1] for n in all),
                min(n[2] for n in all))
        for place, all in found.items()
    }  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
@variants("default")
def test_tiny_objects(answers, variant, seed):
    """Exact, too, for the fields of the program's structs for small values."""
    naive, document = answers(variant, seed)
    rows = rows_of(document, "tiny-objects")
    expected = sums_of(naive["tiny-objects"])
    holders = {name for name, _ in expected}
    found = sums_of(row for row in rows if row[0] in holders)
    assert found == expected
    assert len(expected) >= 10
    # Two rules of the check count too little, by less than a third.
    total = sum(saved for saved, _, _ in expected.values())
    assert 0 < naive["left out of tiny-objects"] < total / 3

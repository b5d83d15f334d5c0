# SPDX-License-Identifier: Apache-2.0
"""goref waste against programs that know what they waste: each check, each
release."""

import json
import os

import pytest

import mutate
from corewords import CoreWords
from goref import packages
from session import run_cli, run_goref
from toolchains import RELEASES, variants

CHECKS = (
    "duplicate-strings", "slice-capacity", "pinned-array", "sparse-map",
    "constant-field", "goroutine-stack", "stuck-finalizer", "gc-headroom",
    "context-children", "pool", "size-class", "field-order", "tiny-objects",
    "far-timers", "library-tax",
)  # fmt: skip
COUNTED = [check for check in CHECKS if check != "gc-headroom"]
NEAR = 0.01
HEAP = 0xC000000000  # where the arenas of Go begin


def ask(target, options=""):
    run = run_goref(target, [f"goref waste --json {options}"])
    assert run.rc == 0, run.stderr
    return run.json()


def rows_of(document, check):
    return [row for row in document["checks"] if row["check"] == check]


def names(row):
    """The type and the field of a row, without the elements of slices and
    maps."""
    field = (row["field"] or "").removesuffix("$mapkey")
    return row["type"], field.removesuffix("[]")


def is_of(row, finding):
    """Is the row about what the program has planted? Several names of the
    program are separated by bars."""
    name, field = names(row)
    return (
        name in finding["type"].split("|")
        and field in finding["field"].split("|")
    )


def is_near(found, truth):
    return abs(found - truth) <= NEAR * truth


@pytest.fixture(scope="module")
def planted(farm):
    """planted(variant, mode): a program with the waste of one check, and all
    rows about it."""
    made = {}

    def make(variant, mode, options="--min-share 0%"):
        key = variant, mode, options
        if key not in made:
            target = farm.target("wastes", variant, args=mode.split())
            made[key] = target, ask(target, options)
        return made[key]

    return make


@pytest.mark.parametrize("check", COUNTED)
@variants("default")
def test_finds_what_was_planted(planted, variant, check):
    target, document = planted(variant, check)
    rows = rows_of(document, check)
    for finding in target.truth["findings"]:
        found = [row for row in rows if is_of(row, finding)]
        total = sum(row["bytes"] for row in found)
        if finding["optional"] and not found:
            continue
        if finding["bytes"]:
            assert is_near(total, finding["bytes"]), (finding, rows)
            assert found[0]["advice"].endswith("."), found
            count = sum(row["count"] for row in found)
            expected = finding["count"] or count
            assert is_near(count, expected), (finding, found)
        else:
            assert total <= document["heap_bytes"] * NEAR, (finding, found)


@variants(newest=("default",))
def test_one_value_in_most_objects(planted, variant):
    """All of them have one hash, and do not fit into a part of the table."""
    target, document = planted(variant, "equal-strings")
    [truth] = target.truth["findings"]
    found = [
        row
        for row in rows_of(document, "duplicate-strings")
        if is_of(row, truth)
    ]
    assert sum(row["count"] for row in found) == truth["count"]
    assert sum(row["bytes"] for row in found) == truth["bytes"]


@variants("default")
def test_contexts_in_contexts(planted, variant):
    """A cancel function also cancels the contexts below: each row has all that
    calls of those of one type free."""
    target, document = planted(variant, "nested-contexts")
    rows = rows_of(document, "context-children")
    assert len(rows) == len(target.truth["findings"]), rows
    for finding in target.truth["findings"]:
        (row,) = (row for row in rows if is_of(row, finding))
        assert is_near(row["bytes"], finding["bytes"]), (finding, row)
        assert row["count"] == finding["count"], (finding, row)
    # They save the same memory.
    assert document["total_bytes"] < sum(row["bytes"] for row in rows)


@pytest.mark.parametrize("check", COUNTED)
@variants("default")
def test_finds_nothing_else(planted, variant, check):
    """All else that the check finds is small."""
    target, document = planted(variant, check)
    for row in rows_of(document, check):
        if not any(is_of(row, f) for f in target.truth["findings"]):
            assert row["bytes"] <= document["heap_bytes"] * NEAR, row


@pytest.mark.parametrize("check", COUNTED)
@variants(newest=("default",))
def test_examples(planted, variant, check):
    """The example is an object that is reached, or a variable of a library."""
    target, document = planted(variant, check)
    rows = [
        row
        for row in rows_of(document, check)
        if any(is_of(row, f) for f in target.truth["findings"])
    ]
    asked = [row for row in rows if row["example"]]
    if check != "goroutine-stack":
        assert asked, rows
    commands = [f"goref object {row['example']} --json" for row in asked]
    run = run_goref(target, commands)
    assert run.rc == 0, run.stderr
    for number, row in enumerate(asked):
        shown = run.json(number)
        assert shown["reachable"] or check == "library-tax", (row, shown)


@variants("default")
def test_heap_is_that_of_the_program(planted, variant):
    """Shares are of what the program itself counts."""
    target, document = planted(variant, "frugal")
    assert is_near(document["heap_bytes"], target.truth["heap"]["bytes"])


@variants("default")
def test_nothing_in_a_frugal_program(planted, variant):
    _, document = planted(variant, "frugal", "")
    assert document["checks"] == []
    assert document["total_bytes"] == 0


# Only the author of a type can do what these say.
FOR_AUTHORS = ("constant-field", "size-class", "field-order", "tiny-objects")


@variants("default")
def test_nobody_changes_the_standard_library(planted, variant):
    """The program has hundreds of objects of each of its types. What is left
    out is not a reason to speak of the collector, either."""
    target, document = planted(variant, "library-tax")
    assert document["checks"]
    for row in document["checks"]:
        package = packages.package_of(row["type"] or "")
        if packages.origin(package, packages.NONE) in ("std", "runtime"):
            assert row["check"] not in FOR_AUTHORS, row
    document = ask(target, "--checks tiny-objects,gc-headroom")
    assert document["checks"] == []


@variants("default")
def test_collector_is_advice(planted, variant):
    """A heap that may grow to five times its size: no bytes of the total."""
    _, document = planted(variant, "gc-headroom", "")
    (row,) = document["checks"]
    assert row["check"] == "gc-headroom"
    assert row["bytes"] == 0 and "GOGC" in row["advice"], row
    assert document["total_bytes"] == 0


@variants("default")
def test_no_advice_without_objects(planted, variant, tmp_path):
    """A core that is cut off below the heap does not tell how much of it is
    live."""
    target, document = planted(variant, "gc-headroom", "")
    assert rows_of(document, "gc-headroom")
    short = tmp_path / "short"
    mutate.copy_sparse(target.core, short)
    segments = CoreWords(short).segments
    os.truncate(short, min(at for addr, at, _ in segments if addr >= HEAP))
    done = run_cli(["core", target.exe, short, "waste", "--json"])
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert found["heap_objects"] == 0
    assert found["checks"] == []


@variants("default")
def test_total_counts_once(planted, variant):
    """Two pairs of findings that save the same bytes: a field without which the
    type fits the class below, which it is just over; capacities of slices, and
    the timers that alone hold them."""
    target, document = planted(variant, "shared")
    rows = document["checks"]
    kinds = {row["check"] for row in rows if row["bytes"] > 100_000}
    assert {"constant-field", "size-class", "far-timers"} <= kinds, rows
    # Older releases have no types of closures.
    if variant.release == RELEASES[-1]:
        assert "slice-capacity" in kinds, rows
    truth = sum(finding["bytes"] for finding in target.truth["findings"])
    others = sum(row["bytes"] for row in rows if row["bytes"] <= 100_000)
    total = document["total_bytes"]
    assert total < sum(row["bytes"] for row in rows)
    assert truth * (1 - NEAR) <= total <= truth * (1 + NEAR) + others


@variants(newest=("default",))
def test_small_rows_are_left_out(planted, variant):
    """Checks that would need the object graph do not make it for less, and so
    count no small rows."""
    target, whole = planted(variant, "slice-capacity")
    document = ask(target)
    least = document["heap_bytes"] / 100
    expected = [row for row in whole["checks"] if row["bytes"] >= least]
    found = [row for row in document["checks"] if row["bytes"]]
    assert found == expected
    small = [row for row in whole["checks"] if 0 < row["bytes"] < least]
    most = sum(row["bytes"] for row in small)
    assert 0 < document["small_rows"] <= len(small)
    assert most / 2 < document["small_bytes"] <= most
    assert document["total_bytes"] <= whole["total_bytes"]


@variants(newest=("default",))
def test_chosen_checks(planted, variant):
    """Each check alone finds what it finds among all."""
    target, whole = planted(variant, "mix 3 20000")
    for check in COUNTED:
        document = ask(target, f"--min-share 0% --checks {check}")
        assert document["checks"] == rows_of(whole, check), check
        total = sum(row["bytes"] for row in document["checks"])
        assert document["total_bytes"] <= total


@variants(newest=("default",))
def test_saved_files(planted, variant, tmp_path):
    """A saved file has what needs no values; all of it with values."""
    target, whole = planted(variant, "mix 3 20000")
    files = [tmp_path / "without", tmp_path / "with"]
    commands = [f"goref save {files[0]}", f"goref save {files[1]} --values"]
    run = run_goref(target, commands)
    assert run.rc == 0, run.stderr
    without, with_values = (opened(file) for file in files)
    assert with_values["checks"] == whole["checks"]
    needs = {"duplicate-strings", "constant-field"}
    expected = [row for row in whole["checks"] if row["check"] not in needs]
    assert without["checks"] == expected
    done = run_cli(["open", files[0], "waste", "--checks", ",".join(needs)])
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert "was saved without values" in line


def opened(file):
    done = run_cli(["open", file, "waste", "--json", "--min-share", "0%"])
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


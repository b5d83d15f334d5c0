# SPDX-License-Identifier: Apache-2.0
"""Completion of expressions in gdb: variables, fields and types, without a scan
and with one, and of a file that is open."""

import pytest

from session import run_cli, run_goref
from toolchains import variants

SCANNED = "python import goref.session; print(goref.session.current.scan)"


@pytest.fixture(scope="module")
def core(farm):
    return lambda variant: farm.target("leaky", variant)


def completed(target, lines, before=()):
    """Each line as gdb completes it, and whether there is a scan then."""
    run = run_goref(
        target, [*before, *(f"complete {line}" for line in lines), SCANNED]
    )
    assert run.rc == 0, run.stderr
    parts = run.parts[len(before) :]
    return [part.splitlines() for part in parts[:-1]], parts[-1]


VARIABLES = [
    ("goref why main.ses", ["goref why main.sessionsByToken"]),
    ("goref dominators main.ses", ["goref dominators main.sessionsByToken"]),
    ("goref why --json main.ses", ["goref why --json main.sessionsByToken"]),
    ("goref why main.nothing", []),
    ("goref why main.sessionsByToken.", []),
    ("goref why runtime.mheap_.cent", ["goref why runtime.mheap_.central"]),
    ("goref why runtime.mheap_.nothing", []),
    ("goref suspects main.ses", []),
    ("goref waste -checks po", ["goref waste -checks pool"]),
    ("goref waste -checks pool,sparse-",
     ["goref waste -checks pool,sparse-map"]),
    ("goref why 'main.ses", []),
    ("goref why $(main.ses", []),
]  # fmt: skip
# These need the tables of goref, and some words of memory.
DEEPER = [
    ("goref why main.pageCache.pa", ["goref why main.pageCache.pages"]),
    ('goref why main.sessionsByToken["a.b"].Us',
     ['goref why main.sessionsByToken["a.b"].User']),
    ("goref why main.sessionsByToken[x].Us", []),
    ("goref why --type main.Sess", ["goref why --type main.Session"]),
    ("goref objects -type *main.Sess", ["goref objects -type *main.Session"]),
    ("goref histogram --exact main.Sess",
     ["goref histogram --exact main.Session"]),
]  # fmt: skip


def check(found, rows):
    for shown, (line, wanted) in zip(found, rows, strict=True):
        assert shown == wanted, line


@variants(newest=("default",))
def test_without_a_scan(core, variant):
    """gdb's symbols have the variables; no scan is made for it."""
    found, scan = completed(core(variant), [line for line, _ in VARIABLES])
    check(found, VARIABLES)
    assert scan == "None\n"


@variants(newest=("default",))
def test_with_a_scan(core, variant):
    rows = [*VARIABLES, *DEEPER]
    found, scan = completed(
        core(variant), [line for line, _ in rows], ["goref verify"]
    )
    check(found, rows)
    assert "Scan" in scan


@variants("default")
def test_it_is_bounded(core, variant):
    """However many names there are."""
    (found,), _ = completed(core(variant), ["goref why ru"])
    assert 0 < len(found) <= 201


@variants("default")
def test_of_a_file(core, variant, farm, tmp_path):
    """The open file is meant, not the program that gdb has."""
    file = tmp_path / "heap.goref"
    target = core(variant)
    done = run_cli(["core", *target.gdb_args, "save", file])
    assert done.returncode == 0, done.stderr
    lines = ["goref why main.ses", "goref why main.pageCache.pa"]
    found, _ = completed(
        farm.target("roots", variant), lines, [f"goref open {file}"]
    )
    check(found, [row for row in (*VARIABLES, *DEEPER) if row[0] in lines])

# SPDX-License-Identifier: Apache-2.0
"""The labels of goroutines, by what the program says it set."""

import json

import pytest

from session import run_cli, run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")


def truth_of(target):
    return {int(n): said for n, said in target.truth["labels"].items()}


def labels_of(document):
    return {g["id"]: g["labels"] for g in document["goroutines"]}


@variants("default", newest=("noopt", "stripped"))
def test_labels(farm, variant):
    """Without labels are also those whose pointer a library has taken."""
    target = farm.target("labelled", variant)
    wanted = truth_of(target)
    assert len(wanted) == 15 and max(map(len, wanted.values())) == 40
    run = run_goref(
        target,
        ["goref goroutines --json",
         f"goref goroutine {min(wanted)} --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert labels_of(run.json(0)) == {1: {}} | wanted
    assert run.json(1)["labels"] == wanted[min(wanted)]


@pytest.fixture(scope="module")
def central(farm):
    return farm.target("labelled", CENTRAL)


CONDITIONS = [
    ("tenant", "tenant", None),
    ("tenant=acme", "tenant", "acme"),
    ("tenant=acm", "tenant", "acm"),
    ("route=/v1/pay", "route", "/v1/pay"),
    ("ten", "ten", None),
    ("empty=", "empty", ""),
    ("a=b=c, d", "a=b", "c, d"),
    ("key-9 ", "key-9 ", None),
]


def test_filters(central):
    rows = truth_of(central) | {1: {}}
    commands = [
        f"goref goroutines --json -{word} label '{text}'"
        for text, _, _ in CONDITIONS
        for word in ("with", "without")
    ]
    run = run_goref(central, commands)
    assert run.rc == 0, run.stderr
    for i, (text, key, value) in enumerate(CONDITIONS):
        wanted = {
            number
            for number, labels in rows.items()
            if key in labels and value in (None, labels[key])
        }
        assert bool(wanted) == (text not in ("tenant=acm", "ten", "key-9 "))
        assert set(labels_of(run.json(2 * i))) == wanted, text
        without = set(labels_of(run.json(2 * i + 1)))
        assert without == set(rows) - wanted, text


def test_groups(central):
    rows = truth_of(central) | {1: {}}
    everything, tenants = {}, {}
    for number, labels in rows.items():
        pairs = sorted(labels.items(), key=lambda p: p[0].encode())
        key = ", ".join(f"{k}={v}" for k, v in pairs) or "no labels"
        everything.setdefault(key, set()).add(number)
        tenant = labels.get("tenant")
        key = f"tenant={tenant}" if tenant else "no label tenant"
        tenants.setdefault(key, set()).add(number)
    groups = ("label", "label tenant")
    run = run_goref(
        central, [f"goref goroutines --json -group {g}" for g in groups]
    )
    for i, wanted in enumerate((everything, tenants)):
        groups = run.json(i)["groups"]
        assert {g["key"]: set(g["ids"]) for g in groups} == wanted


def test_text(central):
    run = run_goref(
        central,
        ["goref goroutines -with label tenant=acme",
         "goref goroutines -with label q"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    lines = run.parts[0].splitlines()
    assert len(lines) == 4
    for line in lines[:3]:
        assert line.endswith("[chan receive] {route: /v1/pay, tenant: acme}")
    assert r'{"a=b": "c, d", empty: "", q: "\"", "ü": "日本"}' in run.parts[1]


def test_saved_without_values(farm, central, tmp_path):
    """Labels that are not known are not the same as none."""
    bare, whole = tmp_path / "bare.goref", tmp_path / "whole.goref"
    core = ["core", central.exe, central.core]
    assert run_cli([*core, "save", bare]).returncode == 0
    assert run_cli([*core, "save", "--values", whole]).returncode == 0
    wanted = truth_of(central)
    asked = ["goroutines", "--json"]
    told = labels_of(json.loads(run_cli(["open", bare, *asked]).stdout))
    assert told[1] == {} and set(told) == {1, *wanted}
    assert all(told[n] is None for n, labels in wanted.items() if labels)
    kept = labels_of(json.loads(run_cli(["open", whole, *asked]).stdout))
    assert kept == {1: {}} | wanted
    profile = ["profile", "goroutine"]
    for words in (["--text"], ["-o", tmp_path / "out.pb.gz"]):
        done = run_cli(["open", bare, *profile, *words])
        assert done.returncode == 0
        [line] = done.stderr.splitlines()
        assert "without values: the profile lacks the labels of" in line
        assert not run_cli(["open", whole, *profile, *words]).stderr
    done = run_cli(["open", bare, "report", tmp_path / "page.html"])
    assert done.returncode == 0, done.stderr
    number = next(n for n, labels in wanted.items() if labels)
    line = run_cli(["open", bare, "goroutine", str(number)]).stdout
    assert line.splitlines()[0].endswith("{labels not in the file}")

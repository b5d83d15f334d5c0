# SPDX-License-Identifier: Apache-2.0
"""A scan grows by stages: questions on goroutines read no heap."""

import json
import re

import pytest

from crafted import Crafted
from asking import SCANNER
from session import run_cli, run_gdb, run_goref
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
COUNT, DEPTH = 500, 6
SCAN = "goref scan --json"
LISTED = "goref goroutines --json"
GROUPED = "goref goroutines --json --group stack"


def without_times(document):
    return {
        key: value
        for key, value in document.items()
        if not re.search("phases|elapsed|private", key)
    }


@pytest.fixture(scope="module")
def hung(farm):
    yield lambda variant: farm.target(
        "hung", variant, args=["select", str(COUNT), str(DEPTH)]
    )
    farm.forget("hung")


def answers(target, verbs):
    run = run_goref(target, verbs, in_gdb=not target.core)
    assert run.rc == 0, run.stderr
    return [without_times(run.json(i)) for i in range(len(verbs))]


@variants("default", "noopt")
def test_order_does_not_matter(hung, variant):
    """The heap is read behind the goroutines, or before, or alone."""
    target = hung(variant)
    listed, grouped, later = answers(target, [LISTED, GROUPED, SCAN])
    (alone,) = answers(target, [SCAN])
    assert alone == later
    assert alone["reached"]["objects"] > COUNT
    assert answers(target, [SCAN, LISTED, GROUPED])[1:] == [listed, grouped]
    assert listed["total"] > COUNT


def test_no_heap_is_read(hung, tmp_path):
    """The list of spans is lost. Nothing is missing of the goroutines."""
    target = hung(CENTRAL)
    whole = answers(target, [LISTED, "goref goroutine 1 --json"])
    crafted = Crafted(SCANNER, target, tmp_path / "core")
    spans = crafted.points.mheap_field("allspans")
    crafted.put({spans: 0, spans + 8: 0})
    verbs = [LISTED, "goref goroutine 1 --json", SCAN, LISTED]
    run = run_gdb([target.exe, crafted.path], verbs)
    assert [without_times(run.json(i)) for i in (0, 1)] == whole
    assert run.json(2)["partial"]
    assert run.json(3)["goroutines"] == whole[0]["goroutines"]


@variants(newest=("default",))
def test_process(farm, variant):
    """In a session of gdb, and as `goref attach` copies it."""
    skip_if(attach_reason())
    words = ["receive", str(COUNT), str(DEPTH)]
    target = farm.target("hung", variant, "live", words)
    first, scan, again = answers(target, [LISTED, SCAN, LISTED])
    assert scan["reached"]["objects"] > COUNT
    assert first == again
    sizes = {}
    for verb in "goroutines", "scan":
        done = run_cli(["attach", target.process.pid, verb, "--json"])
        assert done.returncode == 0, done.stderr
        number, unit = re.search(
            r"about ([\d.]+) (\w+) to copy", done.stderr
        ).groups()
        sizes[verb] = float(number) * {"KiB": 1e3, "MiB": 1e6}[unit]
    assert sizes["goroutines"] < sizes["scan"]


def values_of(document):
    """By call, its function and its variables. Those of the runtime's calls
    have no values: they lead to its own records (in runtime.main, to an m),
    which change while the process waits."""
    found = []
    for frame in document["frames"]:
        is_own = frame["function"].startswith("runtime.")
        variables = [
            (v["name"], v["type"], None if is_own else v["value"])
            for v in frame["variables"]
        ]
        found.append((frame["function"], variables))
    return found


@variants(newest=("default",))
def test_values_of_a_process(farm, variant):
    """Strings and numbers on the heap, which no walk needs: in a session of
    gdb, as `goref attach` copies them, and of a core of the same process."""
    skip_if(attach_reason())
    live = farm.target("shown", variant, "live")
    core = farm.target("shown", variant, "gcore")
    question = "goroutine 1 locals"
    (wanted,) = answers(core, [f"goref {question} --json"])
    held, scan, later = answers(
        live, [f"goref {question} --json", SCAN, f"goref {question} --json"]
    )
    words = [*question.split(), "--json"]
    done = run_cli(["attach", live.process.pid, *words])
    assert done.returncode == 0, done.stderr
    assert "not captured" not in json.dumps(wanted)
    assert "not captured" not in json.dumps(held)
    values = [v for *_, v in dict(values_of(wanted))["main.show"]]
    assert len([v for v in values if v != "(optimized out)"]) > 10
    for found in held, later, json.loads(done.stdout):
        assert values_of(found) == values_of(wanted)
    assert scan["reached"]["objects"]

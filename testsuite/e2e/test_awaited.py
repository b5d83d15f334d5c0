# SPDX-License-Identifier: Apache-2.0
"""The names of locks and channels that goroutines wait for: a short path from
a package variable, or the nearest object with a type."""

import re

from session import run_goref
from toolchains import variants

# Steps that lead over structures of the runtime.
BLIND = re.compile(r"\$|runtime\.|Timer\.|\.timer\b|\.heap\[|\.oldm\b")


def names(document):
    """{goroutine: the path of what it waits for}"""
    return {
        waiter: wait["path"]
        for wait in document["waits"]
        for waiter in wait["waiters"]
    }


@variants("default", newest=("noopt",))
def test_waits(farm, variant, tmp_path):
    """From a saved file, too."""
    target = farm.target("awaited", variant)
    file = tmp_path / "awaited.goref"
    run = run_goref(
        target,
        ["goref waits --limit 0 --json", f"goref save {file}",
         f"goref open {file} waits --limit 0 --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    paths = names(run.json(0))
    assert len(target.truth["cases"]) == 15
    for case in target.truth["cases"]:
        assert paths[case["id"]] == case["path"], case["name"]
    # Without values, a file has no keys of maps.
    assert names(run.json(2)) == {
        waiter: path.replace('["a"]', "$mapval")
        for waiter, path in paths.items()
    }


@variants("default")
def test_one_goroutine(farm, variant):
    """If only stacks lead there, a variable of a frame may begin the name."""
    target = farm.target("awaited", variant)
    cases = target.truth["cases"]
    run = run_goref(
        target, [f"goref goroutine {case['id']} wait --json" for case in cases]
    )
    for i, case in enumerate(cases):
        path = run.json(i)["waits"][0]["path"]
        assert path == case["path"] or (
            case["path"].startswith("(") and path.startswith("main.")
        ), case["name"]
        assert not BLIND.search(path), path
        assert path.count(".") <= 7, path

# SPDX-License-Identifier: Apache-2.0
"""The commands in gdb give the answers of plain Python about the same core."""

import re

import pytest

from samples import DOCUMENTS, samples
from session import run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
# Times; memory that was taken.
PASSING = re.compile(
    r"(?m)\btook \d.*|^ *\"(phases_\w+|took_ms|graph_phases_ms|seconds|"
    r"peak_private_bytes)\": (\{[^}]*\}|[^,\n]*)"
)


def lasting(text):
    return PASSING.sub("", text)


@pytest.mark.parametrize("program", ["roots", "waits"])
@variants(newest=("default", "stripped", "external"))
def test_each_verb(farm, variant, program, tmp_path):
    target = farm.target(program, variant)
    place = next(iter(target.truth.get("places", {}).values()), "0x10")
    questions = [
        " ".join([*words, *form])
        for words in [
            *samples(DOCUMENTS, place=place), ["histogram", "--by", "site"],
            ["histogram", "--garbage"], ["goroutines", "-t"], ["goroutine", "1"],
        ]
        for form in ([], ["--json"])
    ]  # fmt: skip
    questions += ["objects --addresses", "why main.noSuchVariable", "scan --top x",
                  f"save {tmp_path}/heap.goref", "report page.html a b"]  # fmt: skip
    commands = [f"goref {question}" for question in questions]
    here = run_goref(target, commands, in_gdb=True)
    (tmp_path / "heap.goref").rename(tmp_path / "first.goref")
    elsewhere = run_goref(target, commands)
    for question, one, two in zip(questions, here.parts, elsewhere.parts):
        assert lasting(one) == lasting(two), question
    # Why there is no such variable, gdb has a word on, too.
    said = [
        [line.partition(", and no")[0] for line in run.error_lines()]
        for run in (here, elsewhere)
    ]
    assert said[0] == said[1] and len(said[0]) >= 3
    assert any("main.noSuchVariable" in line for line in said[0])
    files = [tmp_path / f"{name}.goref" for name in ("first", "heap")]
    assert abs(files[0].stat().st_size - files[1].stat().st_size) < 1000


def test_expressions(farm):
    """Those that goref does not understand are gdb's."""
    target = farm.target("roots", CENTRAL)
    run = run_goref(
        target, ["goref why $sp --json", "print/x $sp", "goref why $pc"]
    )
    assert run.rc == 0, run.stderr
    assert run.json(0)["address"] == run.parts[1].split()[-1]
    assert "text" in run.parts[2]

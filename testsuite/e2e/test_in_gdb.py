# SPDX-License-Identifier: Apache-2.0
"""The commands in gdb give the answers of plain Python about the same core."""

import json
import re

import pytest

from samples import DOCUMENTS, reference, samples
from session import run_gdb, run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
# Times; memory that was taken.
PASSING = re.compile(
    r"(?m)\btook \d.*|^ *\"(phases_\w+|took_ms|graph_phases_ms|seconds|"
    r"peak_private_bytes)\": (\{[^}]*\}|[^,\n]*)"
)

# Names of a document that the text of the same answer has, too; the tests of
# testsuite/python compare whole texts.
NAMED = {
    "scan": lambda d: [d["roots"][0]["name"], d["types"][0]["type"]],
    "histogram": lambda d: [row["key"] for row in d["rows"][:1]],
    "histogram --by site": lambda d: [
        row["key"].partition(" ")[0] for row in d["rows"][:1]
    ],
    "dominators": lambda d: [d["children"][0]["name"]],
    "suspects": lambda d: [s["name"] for s in d["suspects"]],
    "why": lambda d: [d["root"]["name"], d["object"]["type"]],
    "object": lambda d: [d["type"], d["address"]],
    "goroutines": lambda d: [f"Goroutine {g['id']} " for g in d["goroutines"]],
    "waits": lambda d: [w["path"] for w in d["waits"]][:1],
    "verify": lambda d: ["verified: "],
    "rss": lambda d: ["next collection frees: "],
}


def check_names(question, text, document):
    """The text of an answer is about what its document is about."""
    for name in NAMED[question](document):
        assert not name or name in text, (question, name)


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
        verb, *words = question.split()
        if "--json" in words and one:
            assert not reference.missing(verb, json.loads(one)), question
    for i, question in enumerate(questions):
        verb, text = question.removesuffix(f" {place}"), elsewhere.parts[i]
        if verb in NAMED and text and not question.endswith(" 0x10"):
            check_names(verb, text, elsewhere.json(i + 1))
    # Why there is no such variable, gdb has a word on, too.
    said = [
        [line.partition('"; ')[0].rstrip('"') for line in run.error_lines()]
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


# The text of `show`, values in the order in which they are set, the first one
# being there before, and values that are refused.
SETTINGS = {
    "memory-limit": ("The memory limit of a scan is {}.",
                     ("auto", "1G", "500M", "unlimited", "0"),
                     ("much", "-1")),
    "threads": ("threads that copy a process is {}.",
                ("auto", "1", "2", "16"),
                ("17", "0", "-1", "many", "", "\u0663")),
    "cache": (" is {}.", ("on", "off"), ()),
    "max-depth": (" is {}.", ("256", "17"), ("-5", "much")),
    "max-nodes": (" is {}.", ("1048576", "1234"), ()),
}  # fmt: skip


def test_settings():
    """They are shown and kept; what is refused changes nothing."""
    commands, wanted = [], []
    for name, (text, good, bad) in SETTINGS.items():
        for value in (*good[1:], *bad):
            commands += [f"set goref {name} {value}", f"show goref {name}"]
            wanted.append(text.format(value if value in good else good[-1]))
    first = [f"show goref {name}" for name in SETTINGS]
    run = run_gdb([], [*first, "show goref progress", *commands])
    for text, (told, good, _) in zip(run.parts, SETTINGS.values()):
        assert told.format(good[0]) in text
    rest = run.parts[len(first) :]
    assert re.search(r"\b(on|off|auto)\b", rest[0])
    for text, told in zip(rest[2::2], wanted, strict=True):
        assert told in text
    lines = run.error_lines()
    assert len(lines) == sum(len(bad) for _, _, bad in SETTINGS.values())
    told = [line for line in lines if "not a number of threads" in line]
    assert len(told) == len(SETTINGS["threads"][2])


def test_help():
    commands = ("scan", "why", "verify", "objects")
    settings = ("max-depth", "max-nodes", "memory-limit")
    run = run_gdb(
        [],
        ["goref", "help goref", *(f"help goref {c}" for c in commands),
         *(f"goref {c} --help" for c in commands),
         *(f"help set goref {name}" for name in settings)],
    )  # fmt: skip
    assert run.rc == 0 and "Undefined" not in run.stderr, run.stderr
    for text in run.parts[:2]:
        assert "scan" in text and "why" in text
    first, again = run.parts[2:6], run.parts[6:10]
    assert first == again
    for command, text in zip(commands, first):
        assert f"Usage: goref {command}" in text
    for text in run.parts[10:]:
        assert "Zero or `unlimited' means no limit" in text

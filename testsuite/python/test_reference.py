# SPDX-License-Identifier: Apache-2.0
"""doc/verbs.md, the reference: it has every verb and every option of the table
of verbs, and no other."""

import re
from pathlib import Path

import pytest

from goref import verbs as tables
from goref.render.report import Listed
from goref.render.save import SaveReport
from goref.render.written import WrittenReport

TOP = Path(__file__).resolve().parents[2]
REFERENCE = TOP / "doc/verbs.md"
if not REFERENCE.exists():
    pytest.skip("no doc/ in this tree", allow_module_level=True)
TEXT = REFERENCE.read_text()
INTRODUCTION = TEXT[: TEXT.index("\n## ")]
OPEN = tables.SOURCES["open"]
VERBS = [*tables.VERBS.values(), *tables.STANDALONE.values(), OPEN]
# Those of all verbs are in the introduction.
COMMON = {"memory-limit", "timeout", "json"}
OTHERS = {"help"}


def sections():
    """The section of each verb; one may be about two."""
    found = {}
    for part in re.split(r"^### ", TEXT, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        body = re.split(r"^## ", body, flags=re.M)[0]
        for name in heading.split(" and "):
            found[name] = body
    return found


def prose(section):
    """Without the transcripts, which only use options."""
    return re.sub(r"^    .*\n", "", section, flags=re.M)


def names(option, text):
    """Is the option, or its letter, in the text?"""
    spellings = [f"--{option.name}"]
    if len(option.name) == 1 or option.letter:
        spellings.append(f"-{option.letter or option.name}")
    return any(
        re.search(rf"(?<![\w-]){spelling}(?![\w-])", text)
        for spelling in spellings
    )


def test_every_verb_has_a_section():
    assert sections().keys() == {verb.name for verb in VERBS}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_contents_lead_to_the_section(verb):
    linked = re.findall(r"\[([^\]]*)\]\(#([^)]*)\)", INTRODUCTION)
    assert any(
        verb.name in text.split(" and ") and text.replace(" ", "-") == link
        for text, link in linked
    )


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_section_has_every_option(verb):
    text = prose(sections()[verb.name])
    missing = [
        option.name
        for option in verb.options
        if option.name not in COMMON and not names(option, text)
    ]
    assert not missing, f"doc/verbs.md, {verb.name}: no word of these options"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_section_has_every_choice(verb):
    text = prose(sections()[verb.name])
    for option in verb.options:
        for choice in option.choices:
            assert re.search(
                rf"(?<![\w-]){choice}(?![\w-])", text
            ), f"doc/verbs.md, {verb.name}: --{option.name} {choice}"


def test_common_options():
    """The introduction's words about all verbs are true of all."""
    assert (
        "Every verb takes `--memory-limit SIZE` and `--timeout SECONDS`."
        in INTRODUCTION
    )
    for verb in tables.VERBS.values():
        assert {"memory-limit", "timeout"} <= {o.name for o in verb.options}
    without = [
        verb.name
        for verb in tables.VERBS.values()
        if "json" not in {o.name for o in verb.options}
    ]
    listed = " and ".join(f"`{name}`" for name in without)
    joined = " ".join(INTRODUCTION.split())
    assert f"All but {listed} take `--json`" in joined


def test_options_of_sources():
    """README has the options of sources: they belong to no verb."""
    readme = (TOP / "README.md").read_text()
    for source in tables.SOURCES.values():
        for option in source.options:
            assert names(option, readme), f"README.md: --{option.name}"


def test_no_option_that_there_is_not():
    items = [*VERBS, *tables.SOURCES.values()]
    known = {option.name for item in items for option in item.options}
    named = set(re.findall(r"`--([a-z][a-z-]*)", prose(TEXT)))
    assert not named - known - tables.QUESTIONS.keys() - OTHERS


@pytest.mark.parametrize("place", ["README.md", "doc/verbs.md", "attach"])
def test_looking_may_end_a_hang(place):
    """A stop by ptrace wakes a blocked call; the page says what helps."""
    text = (
        tables.SOURCES["attach"].details
        if place == "attach"
        else (TOP / place).read_text()
    )
    text = " ".join(text.split())
    for part in ("blocked write", "returns? early", "--snapshot",
                 "attach PID save FILE", "take a core"):  # fmt: skip
        assert re.search(part, text.replace("`", "")), part


# ------------------------------------------------------- keys of documents

# Files of render/ that make a document of another verb.
VERB_OF = {
    "goroutine_list": "goroutines",
    "goroutines": "goroutine",
    "merged": "why",
    "scheduler": "hung",
    "sites": "histogram",
    "wait": "goroutine",
    "written": "report",
}
# Their keys are names that a program or another table has.
MAPS = {"by", "labels", "missing", "phases_ms"}
# Objects with the keys of another one; "": of a document.
SAME = {"goroutines": "", "pile_up": "waits", "wait": "waits"}


def named_keys(text):
    """(parent, key) of each word in backticks. Words that begin a parenthesis
    are keys of the word before it, or of those that `and' joins there."""
    found = set()
    for paragraph in text.split("\n\n"):
        parents, latest, is_joined = [("",)], (), False
        for word, between in re.findall(r"`([^`]+)`|([^`]+)", paragraph):
            if word:
                latest = (*latest, word) if is_joined else (word,)
                found |= {(parent, word) for parent in parents[-1]}
                continue
            is_joined = between.strip() in (",", "and")
            for mark in re.findall(r"\($|[()]", between):
                if mark == ")":
                    parents[1:] = parents[1:-1]
                else:
                    parents.append(parents[-1])
            if between.endswith("("):
                parents[-1] = latest
    return found


def keys_of(value, parent=""):
    """(parent, key) of each key of a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if parent not in MAPS:
                yield parent, key
            yield from keys_of(inner, parent if parent in MAPS else key)
    elif isinstance(value, (list, tuple, Listed)):
        for inner in value:
            yield from keys_of(inner, parent)


def test_reference_has_every_key(documents, make):
    """Keys of a document are in its verb's section or in the introduction.
    Those inside of an object may be in another verb's."""
    common = {"tool_version": "1", "partial": ()}
    WrittenReport(**common, out="page", bytes=1, missing={}).document()
    SaveReport(
        **common, info=make.info(), path="file", file_bytes=1,
        has_values=False, warnings=(),
    ).document()  # fmt: skip
    named = {name: named_keys(prose(t)) for name, t in sections().items()}
    of_all = named_keys(INTRODUCTION)
    anywhere = of_all.union(*named.values())
    missing = set()
    for report, document in documents:
        package, _, module = type(report).__module__.rpartition(".")
        if package != "goref.render":
            continue  # a test's own report
        verb = VERB_OF.get(module, module)
        for parent, key in keys_of(document):
            known = anywhere if parent else of_all | named[verb]
            if (SAME.get(parent, parent), key) not in known:
                missing.add((verb, parent, key))
    assert not missing, f"doc/verbs.md: {sorted(missing)}"

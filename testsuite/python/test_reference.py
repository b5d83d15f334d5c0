# SPDX-License-Identifier: Apache-2.0
"""doc/verbs.md, the reference: it has every verb and every option of the table
of verbs, and no other."""

import re
from pathlib import Path

import pytest

import reference
from reference import INTRODUCTION, TEXT, prose, sections
from goref import verbs as tables
from goref.render.save import SaveReport
from goref.render.written import WrittenReport

TOP = Path(__file__).resolve().parents[2]
if not TEXT:
    pytest.skip("no doc/ in this tree", allow_module_level=True)
OPEN = tables.SOURCES["open"]
VERBS = [*tables.VERBS.values(), *tables.STANDALONE.values(), OPEN]
# Those of all verbs are in the introduction.
COMMON = {"memory-limit", "timeout", "json", "color"}
OTHERS = {"help"}


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
    lacking = {verb.name for verb in VERBS} ^ sections().keys()
    assert not lacking, "doc/verbs.md: each verb has a section `### VERB'"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_contents_lead_to_the_section(verb):
    linked = re.findall(r"\[([^\]]*)\]\(#([^)]*)\)", INTRODUCTION)
    assert any(
        verb.name in text.split(" and ") and text.replace(" ", "-") == link
        for text, link in linked
    ), f"doc/verbs.md, contents: no [{verb.name}](#{verb.name})"


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
        for choice in () if option.name in COMMON else option.choices:
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
        lacking = {"memory-limit", "timeout"} - {o.name for o in verb.options}
        assert not lacking, f"verbs/: the options of {verb.name} need *COMMON"
    both = {"json", "color"}
    without = [
        verb.name
        for verb in tables.VERBS.values()
        if not both <= {o.name for o in verb.options}
    ]
    listed = " and ".join(f"`{name}`" for name in without)
    joined = " ".join(INTRODUCTION.split())
    assert f"All but {listed} take `--json` and `--color WHEN`" in joined


def test_options_of_sources():
    """doc/processes.md has the options of sources: they belong to no verb."""
    page = (TOP / "doc" / "processes.md").read_text()
    for source in tables.SOURCES.values():
        for option in source.options:
            assert names(option, page), f"doc/processes.md: --{option.name}"


def test_no_option_that_there_is_not():
    items = [*VERBS, *tables.SOURCES.values()]
    known = {option.name for item in items for option in item.options}
    named = set(re.findall(r"`--([a-z][a-z-]*)", prose(TEXT)))
    assert not named - known - tables.QUESTIONS.keys() - OTHERS


@pytest.mark.parametrize(
    "place", ["doc/processes.md", "doc/verbs.md", "attach"]
)
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
    "goroutine_wait": "goroutine",
    "goroutines": "goroutine",
    "merged": "why",
    "scheduler": "hung",
    "sites": "histogram",
    "written": "report",
}


def is_whole(session):
    """Does this run have all tests of the folder, one after the other?"""
    option = session.config.option
    files = {item.path for item in session.items}
    return (
        files == set(Path(__file__).parent.glob("test_*.py"))
        and not (option.keyword or option.markexpr)
        and not any("::" in argument for argument in session.config.args)
        and not hasattr(session.config, "workerinput")
    )


def test_reference_has_every_key(documents, make, request):
    """In the documents of all tests of rendering, which come before this;
    test_in_gdb.py looks at one of each verb."""
    common = {"tool_version": "1", "partial": ()}
    WrittenReport(**common, out="page", bytes=1, missing={}).document()
    SaveReport(
        **common, info=make.info(), path="file", file_bytes=1,
        has_values=False, warnings=(),
    ).document()  # fmt: skip
    lacking, seen = set(), set()
    for report, document in documents:
        package, _, module = type(report).__module__.rpartition(".")
        if package != "goref.render":
            continue  # a test's own report
        verb = VERB_OF.get(module, module)
        seen.add(verb)
        lacking |= {(verb, *key) for key in reference.missing(verb, document)}
    assert not lacking, "doc/verbs.md: no word of these keys"
    folder = Path(__file__).parent
    unseen = {
        verb
        for verb in tables.VERBS
        if (folder / f"test_render_{verb}.py").exists()
    } - seen
    if unseen and not is_whole(request.session):
        pytest.skip(f"not all tests run: no document of {sorted(unseen)}")
    assert not unseen


def test_reference_names_nothing_that_is_gone(documents, request):
    """Some keys are made of two words: only documents have these whole."""
    keys = {
        key
        for _, document in documents
        for _, key in reference.keys_of(document)
    }
    gone = reference.named_words() - reference.words_of_sources() - keys
    if gone and not is_whole(request.session):
        pytest.skip("not all tests run, which have the documents")
    assert not gone, "doc/verbs.md names keys that no document has"

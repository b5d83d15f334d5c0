# SPDX-License-Identifier: Apache-2.0
"""The table of verbs and options, and the help that is made of it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import args, helptext
from goref import verbs as tables

VERBS = list(tables.VERBS.values())
SOURCES = list(tables.SOURCES.values())
SCREEN = 50


def every_option():
    return [
        option
        for item in [*VERBS, *SOURCES]
        for option in [*item.options, *tables.QUESTIONS.values()]
    ]


def test_one_name_is_one_sort_of_option():
    """Words before a verb are read without knowing it."""
    sorts = {}
    for option in every_option():
        sort = (option.is_flag, option.letter)
        assert sorts.setdefault(option.name, sort) == sort, option.name


@pytest.mark.parametrize("item", [*VERBS, *SOURCES], ids=lambda v: v.name)
def test_no_option_twice(item):
    """A verb and its source together have them once, too."""
    for source in SOURCES:
        names = [o.name for o in item.options]
        if item is not source:
            names += [o.name for o in source.options]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "option", dict.fromkeys(every_option()), ids=lambda option: option.name
)
def test_option_is_whole(option):
    assert option.help[0].isupper() and option.help.endswith((".", ")."))
    assert option.is_flag or option.value
    has_choices = option.kind in ("choice", "names", "condition")
    assert has_choices == bool(option.choices)
    assert option.default is None or not option.is_flag


def test_every_verb_takes_memory_and_time():
    for verb in VERBS:
        assert {"memory-limit", "timeout"} <= {o.name for o in verb.options}


def test_questions_are_verbs():
    for name in tables.QUESTIONS:
        assert name in tables.VERBS


@pytest.mark.parametrize("verb", VERBS, ids=lambda v: v.name)
def test_help_of_a_verb(verb):
    for text in (helptext.verb_help(verb), helptext.gdb_help(verb)):
        lines = text.splitlines()
        assert verb.summary + "." in text
        assert max(map(len, lines)) < 80
        assert len(lines) <= SCREEN
        for option in verb.options:
            assert f"-{option.name}" in text
    for words, _ in verb.examples:
        assert f"goref {words}" in helptext.verb_help(verb)


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.name)
def test_help_of_a_source(source):
    text = helptext.source_help(source)
    assert len(text.splitlines()) <= SCREEN
    assert max(map(len, text.splitlines())) < 80
    listed = text.partition("Verbs: ")[2].partition(".")[0]
    assert listed.split() == ", ".join(v.name for v in VERBS).split()
    names = [*source.options, *tables.VERBS["scan"].options]
    for option in [*names, *tables.QUESTIONS.values()]:
        assert f"--{option.name}" in text
    full = helptext.source_help(source, is_full=True)
    assert source.details.split()[-1] in full
    assert len(full) > len(text)


def test_main_help():
    text = helptext.main_help()
    assert max(map(len, text.splitlines())) < 80
    for item in [*VERBS, *SOURCES]:
        assert f"  {item.name} " in text
    for number, what in tables.STATUSES:
        assert f"  {number}  {what}" in text


@pytest.mark.parametrize(
    "item", [*VERBS, *SOURCES], ids=lambda item: item.name
)
def test_examples_are_understood(item):
    """Each is a command line that the parsers take."""
    for words, _ in item.examples:
        source, *rest = words.split()
        verbs = [w for w in rest if w in tables.VERBS]
        known = [*tables.SOURCES[source].options]
        if verbs:
            rest.remove(verbs[0])
            known += tables.VERBS[verbs[0]].options
        else:
            known += [*tables.VERBS["scan"].options, *tables.QUESTIONS.values()]
        args.Parser("goref", known, path=str).parse(rest)


def test_help_of_nothing():
    assert helptext.help_of("nonsense") is None

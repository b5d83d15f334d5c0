# SPDX-License-Identifier: Apache-2.0
"""doc/verbs.md, the reference: its sections, and the keys of documents that it
names."""

import functools
import re
from pathlib import Path

from goref.render.report import Listed

REFERENCE = Path(__file__).resolve().parents[2] / "doc/verbs.md"
TEXT = REFERENCE.read_text() if REFERENCE.exists() else ""
INTRODUCTION = TEXT.partition("\n## ")[0]
# Their keys are names that a program or another table has.
MAPS = {"by", "labels", "missing", "phases_ms"}
# Objects with the keys of another one; "": of a document.
SAME = {
    "awaits": "waits",
    "goroutines": "",
    "pile_up": "waits",
    "wait": "waits",
}


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


def named_words():
    """The words in backticks that may be keys or values of documents."""
    return set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", prose(TEXT)))


def words_of_sources():
    """All words of the Python code, and the texts of one word in C."""
    top = REFERENCE.parents[1]
    code = top / "python/goref"
    found = set()
    for path in (*code.rglob("*.py"), code / "_goref.pyi"):
        found.update(re.findall(r"\w+", path.read_text().lower()))
    for path in (*top.glob("scanner/**/*.[ch]"), *top.glob("proto/*.c")):
        found.update(re.findall(r'"(\w+)"', path.read_text()))
    return found


@functools.cache
def named():
    """The keys that the introduction names, those of each section, and all."""
    of_all = named_keys(INTRODUCTION)
    of_verbs = {name: named_keys(prose(t)) for name, t in sections().items()}
    return of_all, of_verbs, of_all.union(*of_verbs.values())


def missing(verb, document):
    """(parent, key) of each key that the reference lacks. Keys of a document
    are in its verb's section or in the introduction. Those inside of an object
    may be in another verb's."""
    of_all, of_verbs, anywhere = named()
    return {
        (parent, key)
        for parent, key in keys_of(document)
        if (SAME.get(parent, parent), key)
        not in (anywhere if parent else of_all | of_verbs[verb])
    }

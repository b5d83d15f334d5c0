# SPDX-License-Identifier: Apache-2.0
"""Questions that tests ask of every verb: the samples of the table of verbs."""

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "python"))
sys.path.append(str(TOP / "testsuite/python"))

import reference  # noqa: E402, F401
from goref.verbs import VERBS  # noqa: E402


def sample(verb, place="main.chain", file="out"):
    """The words that ask a verb of the table."""
    return [verb.name, *verb.sample.format(place=place, file=file).split()]


def samples(names=VERBS, **words):
    return [sample(VERBS[name], **words) for name in names]


# Verbs that write a file, and those of the others that have a JSON document.
WRITING = [name for name, verb in VERBS.items() if "{file}" in verb.sample]
DOCUMENTS = [
    name
    for name, verb in VERBS.items()
    if name not in WRITING and any(o.name == "json" for o in verb.options)
]

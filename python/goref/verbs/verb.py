# SPDX-License-Identifier: Apache-2.0
"""A verb and a source of the table."""

from typing import NamedTuple

from ..options import Option


class Verb(NamedTuple):
    """One question.

    text: paragraphs that fit on the first screen of help.
    details: the rest, for `goref help VERB' and the manual page.
    examples: the words after `goref', and what they do.
    sample: words after the verb with which tests ask it; {place} stands for an
        address or a variable, {file} for a file to write."""

    name: str
    summary: str
    text: str
    options: tuple[Option, ...]
    operands: str = ""
    details: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    sample: str = ""


class Source(NamedTuple):
    """A kind of target on the command line. places: its operands."""

    name: str
    places: str
    summary: str
    text: str
    options: tuple[Option, ...]
    details: str = ""
    examples: tuple[tuple[str, str], ...] = ()

# SPDX-License-Identifier: Apache-2.0
"""A verb and a source of the table."""

from typing import NamedTuple

from ..options import Option


class Verb(NamedTuple):
    """One question.

    text: paragraphs that fit on the first screen of help.
    details: the rest, for `goref help VERB' and the manual page.
    examples: the words after `goref', and what they do.
    choices: for each operand the words that it may be; none if it is a file, a
        number or an expression.
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
    choices: tuple[tuple[str, ...], ...] = ()


class Source(NamedTuple):
    """A kind of target on the command line. places: its operands."""

    name: str
    places: str
    summary: str
    text: str
    options: tuple[Option, ...]
    details: str = ""
    examples: tuple[tuple[str, str], ...] = ()

# SPDX-License-Identifier: Apache-2.0
"""Completion of arguments with TAB in gdb."""

import os
from typing import Any

import gdb

from .. import args, native
from ..session import current
from ..verbs import VERBS


def _matches(parser: args.Parser, token: str) -> list[str]:
    """Options that continue a word, in the spelling it began with."""
    dashes = "--" if token.startswith("--") else "-"
    name = token.lstrip("-")
    if token == "-":
        dashes = "--"
    return [
        dashes + option
        for option in sorted([*parser.table, "help"])
        if option.startswith(name)
    ]


def _files(token: str) -> list[str]:
    """File names that continue a word. gdb would take all arguments for one
    name. A folder's content follows at once: no blank is put behind it."""
    folder, begin = os.path.split(token)
    try:
        entries = sorted(os.listdir(os.path.expanduser(folder) or "."))
    except OSError:
        return []
    found = [
        os.path.join(folder, entry)
        for entry in entries
        if entry.startswith(begin) and (begin or not entry.startswith("."))
    ]
    if len(found) == 1 and os.path.isdir(os.path.expanduser(found[0])):
        return _files(found[0] + "/") or [found[0] + "/"]
    return found


def _ends(found: list[str], token: str, word: str) -> list[str]:
    """The texts with which gdb replaces its last word."""
    done = len(token) - len(word) if token.endswith(word) else 0
    return [match[done:] for match in found]


def _names(token: str, is_type: bool = False) -> list[str]:
    """Variables with fields, or types, that continue a word. Completion must
    not wait for a scan: without one, gdb's symbols have the variables of what
    gdb looks at."""
    if len(token) < 2:
        return []
    if not current.is_current():
        if is_type or current.file:
            return []
        from .names import complete as by_gdb

        return by_gdb(token)
    try:
        return list(current.scan.complete(token, is_type))
    except native.load().Error:
        return []


def complete(
    parser: args.Parser,
    text: str,
    word: str | None,
    is_current: bool = True,
) -> Any:
    """text: all arguments so far; word: what gdb takes for the last word,
    for which a dash is a border. is_current: the question is about what is
    looked at."""
    words = text.split()
    token = words.pop() if words and not text[-1].isspace() else ""
    option = parser.option(words[-1]) if words else None
    if option is not None and option.is_flag:
        option = None  # it takes no value
    is_file = option is not None and option.kind == "file"
    if word is None:
        # gdb only asks where a word begins.
        return gdb.COMPLETE_FILENAME if is_file else gdb.COMPLETE_NONE
    if is_file:
        found = _files(token)
    elif option is not None and option.kind == "type":
        found = _names(token, is_type=True) if is_current else []
    elif option is not None and option.kind == "names":
        before, comma, begin = token.rpartition(",")
        fits = [c for c in option.choices if c.startswith(begin)]
        found = [before + comma + c for c in fits]
    elif option is not None:
        found = [c for c in option.choices if c.startswith(token)]
    elif token.startswith("-"):
        found = _matches(parser, token)
    elif parser.takes_words and is_current:
        found = _names(token)
    else:
        found = []
    return _ends(found, token, word)


def complete_open(text: str, word: str | None) -> Any:
    """The arguments of `goref open`: a file, a verb, and those of the verb."""
    words = text.split()
    token = words.pop() if words and not text[-1].isspace() else ""
    verb = VERBS.get(words[1]) if len(words) > 1 else None
    if verb is not None:
        parser = args.Parser(verb.name, verb.options)
        rest = "".join(text.split(None, 2)[2:])
        return complete(parser, rest, word, is_current=False)
    if word is None:
        return gdb.COMPLETE_NONE if words else gdb.COMPLETE_FILENAME
    if len(words) > 1:
        return []
    found = (
        [v for v in VERBS if v.startswith(token)] if words else _files(token)
    )
    return _ends(found, token, word)

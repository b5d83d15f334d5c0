# SPDX-License-Identifier: Apache-2.0
"""goref, goref scan, goref why."""

import os
import time
from collections.abc import Sequence
from typing import Any

import gdb

from . import args, evaluate, native, params, render
from .session import current, running

TOP = 10


def _matches(parser: args.Parser, token: str) -> list[str]:
    """Options that continue a word, in the spelling it began with."""
    dashes = "--" if token.startswith("--") else "-"
    name = token.lstrip("-")
    if token == "-":
        dashes = "--"
    return [
        dashes + option.removeprefix("--")
        for option in parser.options()
        if option.removeprefix("--").startswith(name)
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


def _variables(token: str) -> list[str]:
    """Only from a scan that is there: completion must not stop to scan."""
    if len(token) < 2 or not current.is_current():
        return []
    try:
        return list(current.scan.complete(token))
    except native.load().Error:
        return []


def _complete(parser: args.Parser, text: str, word: str | None) -> Any:
    """text: all arguments so far; word: what gdb takes for the last word,
    for which a dash is a border."""
    words = text.split()
    token = words.pop() if words and not text[-1].isspace() else ""
    previous = parser.option(words[-1]) if words else None
    if previous is not None and previous.nargs is None:
        if previous.dest != "out":
            return gdb.COMPLETE_NONE
        if word is None:
            return gdb.COMPLETE_FILENAME  # where a word begins
        found = _files(token)
    elif word is None:
        return gdb.COMPLETE_NONE
    elif token.startswith("-"):
        found = _matches(parser, token)
    else:
        found = _variables(token)
    done = len(token) - len(word) if token.endswith(word) else 0
    return [match[done:] for match in found]


class _Goref(gdb.Command):
    """Find out who holds the memory of a Go program.
Usage: goref SUBCOMMAND [ARGUMENT]...

The program is a core that gdb has open or a process that it has stopped.
Nothing is written to it and none of it runs."""

    def __init__(self) -> None:
        super().__init__("goref", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        if arg:
            raise gdb.GdbError(
                f'Undefined goref command: "{arg.split()[0]}".  '
                'Try "help goref".'
            )
        gdb.execute("help goref")


class _Scan(gdb.Command):
    """Walk the heap and list who holds how much of it.
Usage: goref scan [OPTION]... [EXPRESSION]...

With expressions, only what these hold. An expression is a package variable
(main.cache), an address, a Go conversion as (*main.T)(0xc000012345), or what
gdb can evaluate.

Options:
  -out FILE
    Write a profile that `go tool pprof FILE' opens.
  -max-depth N, -max-nodes N
    Levels and nodes of the reference tree; what has no node of its own is
    counted on the node above.
  -max-samples N
    Paths in the profile; the smallest are counted on the path above.
  -top N
    Rows of each table; with -json, roots and types listed.
  -json
    Print one JSON document.
For each number, 0 or `unlimited' means no limit. Options may be shortened,
and `--' may introduce them."""

    def __init__(self) -> None:
        super().__init__("goref scan", gdb.COMMAND_DATA)
        self.parser = args.scan_parser()

    def complete(self, text: str, word: str | None) -> Any:
        return _complete(self.parser, text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        options = self.parser.parse_text(arg)
        if options.help:
            gdb.execute("help goref scan")
            return
        goref = native.load()
        if options.out is not None:
            try:
                goref.check_writable(options.out)
            except goref.Error as problem:
                raise gdb.GdbError(f"goref: {problem}") from None
        with running() as scan:
            report = _scan(scan, options)
        render_report = render.scan_json if options.json else render.scan_text
        gdb.write(render_report(report))


def _scan(scan: Any, options: Any) -> dict[str, Any]:
    goref = native.load()
    places = tuple(evaluate.place(scan, e) for e in options.expressions)
    result = current.walk(
        options.max_depth or params.max_depth(),
        options.max_nodes or params.max_nodes(),
        places,
    )
    samples = options.max_samples
    profile = None
    begin = time.monotonic()
    if options.out is not None:
        profile = result.write_profile(
            options.out, goref.MAX_SAMPLES if samples is None else samples
        )
    ledger = result.ledger()
    ledger["phases_us"]["output"] += round((time.monotonic() - begin) * 1e6)
    info = scan.info()
    return {
        "tool_version": goref.VERSION,
        "info": info,
        "ledger": ledger,
        "roots": result.roots(),
        "types": result.types(),
        "top": TOP if options.top is None else options.top,
        "json_top": options.top,
        "places": options.expressions,
        "out": options.out,
        "profile": profile,
        "warnings": [*current.notes, *info["warnings"]],
    }


class _Why(gdb.Command):
    """Print the chain of references that holds an object.
Usage: goref why [OPTION]... ADDRESS|EXPRESSION

The address may point anywhere into the object. An expression is a package
variable (main.cache: what it points at), a Go conversion as
(*main.T)(0xc000012345) or *(*main.T)(0xc000012345), or what gdb can evaluate
($rax, &main.cache). The chain is the one over which `goref scan' counts the
object. What is no object is named: stack, data, free slot...

Options:
  -json
    Print one JSON document."""

    def __init__(self) -> None:
        super().__init__("goref why", gdb.COMMAND_DATA)
        self.parser = args.why_parser()

    def complete(self, text: str, word: str | None) -> Any:
        return _complete(self.parser, text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        options = self.parser.parse_text(arg)
        if options.help:
            gdb.execute("help goref why")
            return
        if not options.expression:
            raise gdb.GdbError("goref why: which address or expression?")
        with running() as scan:
            asked, why = _why(scan, options.expression)
        if options.json:
            gdb.write(render.why_json(why))
        else:
            gdb.write(render.why_text(why, asked))


def _why(scan: Any, words: Sequence[str]) -> tuple[str | None, Any]:
    """The answer; and the variable's name if it is about what that holds."""
    limits = (params.max_depth(), params.max_nodes())
    text = " ".join(words)
    name, address, _type, is_variable = evaluate.place(scan, text)
    if is_variable and not text.startswith("&"):
        # A pointer, map, slice, string: its first word points at what it
        # holds; an interface's second.
        for word in evaluate.words_at(address, 2):
            why = scan.why(word, *limits) if word else None
            if why and why["object"]:
                return name, why
    return None, scan.why(address, *limits)


def register() -> None:
    _Goref()
    _Scan()
    _Why()

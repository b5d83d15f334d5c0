# SPDX-License-Identifier: Apache-2.0
"""goref and its subcommands."""

import os
import stat
import time
from typing import Any

import gdb

from . import args, evaluate, native, params, render, target
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
    option = parser.option(words[-1]) if words else None
    if option is not None and option.nargs == 0:
        option = None  # it takes no value
    is_file = option is not None and option.dest == "out"
    if word is None:
        # gdb only asks where a word begins.
        return gdb.COMPLETE_FILENAME if is_file else gdb.COMPLETE_NONE
    if is_file:
        found = _files(token)
    elif option is not None:
        found = [c for c in option.choices or () if c.startswith(token)]
    elif token.startswith("-"):
        found = _matches(parser, token)
    elif parser.takes_words():
        found = _variables(token)
    else:
        found = []
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

    With expressions, only what these hold. An expression is a package
    variable (main.cache), an address, a Go conversion as
    (*main.T)(0xc000012345), or what gdb can evaluate.

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
      -attribution nearest|first
        Whom to bill for what several roots hold: the one with the fewest
        hops, or the first one looked at, with all that hangs on it (as `grf'
        does).
      -per-goroutine
        Roots on stacks are those of one goroutine each, and the profile has
        the label goroutine_id.
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
        _check_writable(options.out)
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
        options.attribution,
        options.per_goroutine,
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
        "attribution": options.attribution,
        "out": options.out,
        "profile": profile,
        "warnings": [*current.notes, *info["warnings"]],
    }


class _Why(gdb.Command):
    """Print the chain of references that holds an object.
    Usage: goref why [OPTION]... ADDRESS|EXPRESSION

    The address may point anywhere into the object. An expression is a package
    variable (main.cache: what it points at), a Go conversion as
    (*main.T)(0xc000012345) or *(*main.T)(0xc000012345), or what gdb can
    evaluate ($rax, &main.cache). The chain is the one over which `goref scan'
    counts the object. What is no object is named: stack, data, free slot...

    Options:
      -attribution nearest|first
        As `goref scan' has it: the chain over which that would count the
        object.
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
            asked, why = _why(scan, options)
        if options.json:
            gdb.write(render.why_json(why))
        else:
            gdb.write(render.why_text(why, asked))


def _why(scan: Any, options: Any) -> tuple[str | None, Any]:
    """The answer; and the variable's name if it is about what that holds."""
    limits = (params.max_depth(), params.max_nodes(), options.attribution)
    text = " ".join(options.expression)
    name, address, _type, _is_variable, value = evaluate.place(scan, text)
    if value:
        return name, scan.why(value, *limits)
    return None, scan.why(address, *limits)


class _Verify(gdb.Command):
    """Check what goref sees of the heap against the allocator's own books.
    Usage: goref verify [OPTION]...

    Compares what is allocated with what is reached, object by object; rebuilds
    the figures that the runtime keeps (HeapAlloc, HeapObjects) from its spans;
    counts pointers to free slots, and pointers to objects that were not
    reached. Garbage that is not yet swept, or that came since the last
    collection, is a difference with an explanation. One without is an error of
    goref, or of the target: the command then fails (in batch mode, gdb's exit
    status is 1).

    Options:
      -max-differences N
        Objects listed; those without an explanation always are.
      -json
        Print one JSON document.
    For N, 0 or `unlimited' means no limit."""

    def __init__(self) -> None:
        super().__init__("goref verify", gdb.COMMAND_DATA)
        self.parser = args.verify_parser()

    def complete(self, text: str, word: str | None) -> Any:
        return _complete(self.parser, text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        options = self.parser.parse_text(arg)
        if options.help:
            gdb.execute("help goref verify")
            return
        with running() as scan:
            verdict = scan.verify(options.max_differences)
            info = scan.info()
        as_text = render.verify_json if options.json else render.verify_text
        gdb.write(as_text(info, verdict))
        if verdict["unexplained"]:
            raise gdb.GdbError(
                "goref verify: " + render.unexplained(verdict["unexplained"])
            )


class _Objects(gdb.Command):
    """List the objects of the heap that are reached.
    Usage: goref objects -addresses [-out FILE]

    Options:
      -addresses
        Print one line for each object, by address: where it begins (behind a
        malloc header), and the bytes of its slot. For comparison with what
        another program finds.
      -out FILE
        Write the list to FILE."""

    def __init__(self) -> None:
        super().__init__("goref objects", gdb.COMMAND_DATA)
        self.parser = args.objects_parser()

    def complete(self, text: str, word: str | None) -> Any:
        return _complete(self.parser, text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        options = self.parser.parse_text(arg)
        if options.help:
            gdb.execute("help goref objects")
            return
        if not options.addresses:
            raise gdb.GdbError(
                "goref objects: what to list? There is -addresses"
            )
        _check_writable(options.out)
        with running() as scan:
            total = scan.objects(options.out or _write_lines)
        if options.out:
            gdb.write(render.objects_text(total, options.out))


def _write_lines(text: str) -> None:
    current.end_progress()
    gdb.write(text)


def _check_writable(path: str | None) -> None:
    """An error before a scan that takes its time."""
    goref = native.load()
    if path is None:
        return
    path = os.path.expanduser(path)
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        raise gdb.GdbError(f"goref: cannot write {path}: it is a named pipe")
    for what, file in target.files():
        if file and os.path.exists(path) and os.path.samefile(path, file):
            raise gdb.GdbError(
                f"goref: cannot write {path}: it is the {what} that gdb has open"
            )
    try:
        goref.check_writable(path)
    except goref.Error as problem:
        raise gdb.GdbError(f"goref: {problem}") from None


def register() -> None:
    _Goref()
    _Scan()
    _Why()
    _Verify()
    _Objects()

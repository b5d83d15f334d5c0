# SPDX-License-Identifier: Apache-2.0
"""goref and its subcommands."""

import inspect
import os
import stat
import time
from collections.abc import Callable, Sequence
from typing import Any

import gdb

from . import (
    args,
    complete,
    evaluate,
    memory,
    native,
    params,
    partial,
    render,
    target,
)
from .prefix import Prefix
from .progress import is_asked
from .session import current, running, warn

TOP = 10
answer: Callable[[str], Any] = gdb.write  # where answers go
MENTIONED_BYTES = 1 << 30  # of memory that a scan needs, before it begins


class _Goref(Prefix):
    """Find out who holds the memory of a Go program.
    Usage: goref SUBCOMMAND [ARGUMENT]...

    The program is a core that gdb has open or a process that it has stopped.
    Nothing is written to it and none of it runs."""

    name = "goref"


class _Command(gdb.Command):
    """One subcommand; its own text has the options put in for {options}."""

    name: str
    make_parser: Callable[[], args.Parser]

    def __init__(self) -> None:
        self.parser = type(self).make_parser()
        # gdb shows this one.
        self.__doc__ = inspect.cleandoc(type(self).__doc__ or "").replace(
            "{options}", self.parser.options_text()
        )
        super().__init__(f"goref {self.name}", gdb.COMMAND_DATA)

    def complete(self, text: str, word: str | None) -> Any:
        return complete.complete(self.parser, text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        options = self.parser.parse_text(arg)
        if options.help:
            gdb.execute(f"help goref {self.name}")
        else:
            self.run(options)

    def run(self, options: Any) -> None:
        raise NotImplementedError


class _Scan(_Command):
    """Walk the heap and list who holds how much of it.
    Usage: goref scan [OPTION]... [EXPRESSION]...

    With expressions, only what these hold. An expression is a package
    variable or a field (main.cache, main.cache.head), an object's address, a
    Go conversion as (*main.T)(0xc000012345), or what gdb can evaluate.

    Options:
    {options}
    For N and SIZE, 0 or `unlimited' means no limit. Options may be shortened,
    and `--' ends them."""

    name = "scan"
    make_parser = args.scan_parser

    def run(self, options: Any) -> None:
        scan(options)


def scan(options: Any) -> list[str]:
    """Scan and print; gives the reasons why that is not all."""
    _check_writable(options.out)
    with running(options.memory_limit, options.timeout) as opened:
        report = _scan(opened, options)
    render_report = render.scan_json if options.json else render.scan_text
    answer(render_report(report))
    lost: list[str] = report["partial"]
    return lost


def _why_limits(options: Any) -> tuple[int, int, str]:
    return (params.max_depth(), params.max_nodes(), options.attribution)


def _nodes(scan: Any, options: Any) -> int:
    """As many as are wanted and as there is memory for."""
    wanted = options.max_nodes or params.max_nodes()
    limit = params.memory_limit(options.memory_limit)
    estimate = scan.estimate()
    if params.memory_is_auto(options.memory_limit):
        estimate["copy_bytes"] = 0  # it is there already
    nodes = params.nodes_within(estimate, wanted, limit)
    needed = memory.needed_bytes(estimate, nodes)
    if needed >= MENTIONED_BYTES and not current.is_kept:
        gdb.write(
            f"up to {render.human_bytes(needed)} of memory needed, "
            f"{memory.report(render.human_bytes)}\n",
            gdb.STDERR,
        )
    if nodes < wanted:
        warn([f"no more than {nodes:,} nodes in the tree, for want of memory"])
    return nodes


def _is_wanted(reason: str, ledger: dict[str, Any]) -> bool:
    """Ask, as gdb does, whether to show what a walk found until it was
    ended. Yes where nobody is asked."""
    current.end_progress()
    if not is_asked() or not gdb.parameter("confirm"):
        return True
    share = render.percent(
        ledger["reached"]["objects"], ledger["allocated"]["objects"]
    )
    question = (
        f"{reason.capitalize()}: {share} of the objects are reached. "
        "Show what they are? (y or n) "
    )
    while True:
        try:
            answer = input(question).strip().lower()
        except EOFError:
            return True
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no"):
            return False
        gdb.write("Please answer y or n.\n")


def _scan(scan: Any, options: Any) -> dict[str, Any]:
    goref = native.load()
    places = tuple(
        evaluate.held_by(scan, e, _why_limits(options))
        for e in dict.fromkeys(options.expressions)
    )
    result = current.walk(
        options.max_depth or params.max_depth(),
        _nodes(scan, options),
        places,
        options.attribution,
        options.per_goroutine,
    )
    info = scan.info()
    ledger = result.ledger()
    ended = current.progress.reason if current.progress else ""
    lost = partial.reasons(info, ledger, ended)
    if ledger["is_partial"] and not _is_wanted(lost[0], ledger):
        raise KeyboardInterrupt
    samples = options.max_samples
    profile = None
    begin = time.monotonic()
    if options.out is not None:
        profile = result.write_profile(
            options.out,
            goref.MAX_SAMPLES if samples is None else samples,
            ", ".join(lost) or None,
        )
    ledger["phases_us"]["output"] += round((time.monotonic() - begin) * 1e6)
    return {
        "tool_version": goref.VERSION,
        "info": info,
        "ledger": ledger,
        "partial": lost,
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


class _Why(_Command):
    """Print the chain of references that holds an object.
    Usage: goref why [OPTION]... ADDRESS|EXPRESSION

    The address may point anywhere into the object. An expression is a package
    variable or a field (main.cache: what it points at), a Go conversion as
    (*main.T)(0xc000012345) or *(*main.T)(0xc000012345), or what gdb can
    evaluate ($rax, &main.cache). The chain is the one over which `goref scan'
    counts the object. What is no object is named: stack, data, free slot...

    Options:
    {options}"""

    name = "why"
    make_parser = args.why_parser

    def run(self, options: Any) -> None:
        if not options.expression:
            raise gdb.GdbError("goref why: which address or expression?")
        why(options)


def why(options: Any, expressions: Sequence[str] = ()) -> list[str]:
    """Answer and print, about several expressions or the one of the options;
    gives the reasons why that is not all."""
    found = []
    with running() as opened:
        for text in expressions or [" ".join(options.expression)]:
            asked, held = _why(opened, text, options)
            found.append((asked, held, partial.reasons(opened.info(), held)))
    if options.json:
        answer(render.why_json([(held, lost) for _, held, lost in found]))
    else:
        for asked, held, lost in found:
            answer(render.why_text(held, asked, lost))
    return [reason for _, _, lost in found for reason in lost]


def _why(scan: Any, text: str, options: Any) -> tuple[str | None, Any]:
    """The answer; and the variable's name if it is about what that holds."""
    limits = _why_limits(options)
    name, address, _type, _is_variable, value = evaluate.place(scan, text)
    if value:
        return name, scan.why(value, *limits)
    return None, scan.why(address, *limits)


class _Verify(_Command):
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
    {options}
    For N, 0 or `unlimited' means no limit."""

    name = "verify"
    make_parser = args.verify_parser

    def run(self, options: Any) -> None:
        verify(options)


def verify(options: Any) -> list[str]:
    """Verify and print; gives the reasons why that is not all."""
    with running() as opened:
        verdict = opened.verify(options.max_differences)
        info = opened.info()
    lost = partial.reasons(info, verdict)
    if options.json:
        version = native.load().VERSION
        answer(render.verify_json(version, info, verdict, lost))
    else:
        answer(render.verify_text(info, verdict, lost))
    # What a truncated core lacks is an explanation.
    if verdict["unexplained"] and not info["missing_bytes"]:
        raise gdb.GdbError(
            "goref verify: " + render.unexplained(verdict["unexplained"])
        )
    return lost


class _Objects(_Command):
    """List the objects of the heap that are reached.
    Usage: goref objects -addresses [-out FILE]

    Options:
    {options}"""

    name = "objects"
    make_parser = args.objects_parser

    def run(self, options: Any) -> None:
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

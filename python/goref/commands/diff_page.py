# SPDX-License-Identifier: Apache-2.0
"""goref diff --html: the difference as a page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import args, front, native, shell
from ..errors import Error
from .base import check_writable

if TYPE_CHECKING:
    from .._goref import Info
    from ..packages import Modules
    from ..render.diff import DiffReport
    from ..sides import Side
    from ..trees import Node


def check(options: Any) -> None:
    """Refuse options that make no sense with a page. It has all tables, with
    as many rows as a page can show."""
    if options.html is None:
        return
    if not options.json:
        if options.by and options.fail_above is None:
            raise args.UsageError(
                "a page has all tables: leave out --by, or add --json or "
                "--fail-above, which it is about"
            )
        if options.top is not None:
            raise args.UsageError(
                "--top is about tables that are printed: leave it out, or "
                "add --json"
            )
    if options.out and _is_one_file(options.html, options.out):
        raise args.UsageError("--html and --out name one file")
    _check_outside_gdb(options)
    check_writable(options.html)


def _is_one_file(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _check_outside_gdb(options: Any) -> None:
    """Error in gdb, as for `goref report': making the page takes memory that a
    debugger should not take."""
    if not front.current.is_gdb:
        return
    words = options.words
    is_loaded = len(words) < 2
    new = ["FILE"] if is_loaded else []
    line = shell.command("diff", *words, *new, "--html", options.html)
    before = "`goref save FILE' here, then " if is_loaded else ""
    raise Error(
        f"goref: a page is made outside of gdb: run {before}`{line}' in a "
        "shell"
    )


def modules(info: Info) -> Modules:
    """Whose the packages of the program are."""
    from ..report import limits  # only needed here

    return limits.modules(info)


def write(
    report: DiffReport,
    both: tuple[Side, Side],
    trees: tuple[list[Node], list[Node]],
    path: str,
) -> int:
    """Write the page of a report with all tables; its bytes."""
    from ..report import growth, limits  # only needed here
    from ..report.growth.document import document
    from ..trees import changes

    found = document(report, changes(*trees), _closer(report, *both))
    text = limits.fitting(found, growth.page)
    try:
        native.load().write_file(path, text)
    except native.load().Error as problem:
        raise Error(f"goref: {problem}") from None
    return len(text)


def how(side: Side) -> str:
    """The command up to the verb that asks a side alone."""
    return shell.command(*side.source)


def _closer(
    report: DiffReport, old: Side, new: Side
) -> list[tuple[str, str]]:
    """Commands, and what each of them says."""
    # Without the words `core' and `open', which diff finds out.
    words = [
        word
        for side in (old, new)
        for word in (side.source[1:] or side.source)
    ]
    grown = report.found.tables["type"].grown()
    names = [row.key for row in grown if not row.key.startswith("(")]
    found = [
        (
            shell.command("diff", *words, "--by", "path", "--top", "0"),
            "Each path that has changed, the 1,000 that did most:",
        )
    ]
    if names:
        found.append(
            (
                shell.command(*new.source, "why", "--type", names[0]),
                "What holds the objects of the type that grew most:",
            )
        )
    return [
        *found,
        (
            shell.command(*new.source, "suspects"),
            "What retains much of the new heap:",
        ),
        (
            shell.command(*new.source, "report", "new.html"),
            "All answers about the new heap on one page:",
        ),
        (
            shell.command("diff", *words, "--out", "growth.pb.gz"),
            "The difference for go tool pprof:",
        ),
    ]

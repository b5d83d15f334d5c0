# SPDX-License-Identifier: Apache-2.0
"""goref objects: a list of what is reached."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .. import args, front, native, partial
from ..render.objects import (
    ObjectRows,
    ObjectsReport,
    left_text,
    nothing_text,
    objects_text,
    partial_text,
)
from ..session import running
from .base import answer, answer_report, check_writable, is_terminal

if TYPE_CHECKING:
    from .._goref import Listed, Scan, Total

_SCREEN = 40  # lines, where a person looks


def extent(_options: Any) -> str:
    """The object graph has C memory, too."""
    return "native"


def check(options: Any) -> None:
    """--addresses is a list of its own, for other tools."""
    others = (
        options.type is not None
        or options.min_bytes
        or options.retained
        or options.limit is not None
        or options.sort != "address"
    )
    if options.addresses and others:
        raise args.UsageError("--addresses takes no option but --out")
    if options.json and options.out:
        raise args.UsageError("--json prints a document: leave out --out")
    args.matcher(options.type)
    check_writable(options.out)


def _limit(options: Any) -> int:
    if options.limit is not None:
        limit: int = options.limit
        return limit
    return _SCREEN if not options.out and is_terminal() else 0


def _has_retained(options: Any) -> bool:
    return bool(options.retained or options.sort == "retained")


def _list(scan: Scan, options: Any) -> tuple[Total, int]:
    """The sum of the listed objects, and how many objects are beyond the
    limit."""
    where = options.out or answer
    if options.addresses:
        return scan.reached(where), 0
    listed: Listed = scan.list_objects(
        where,
        args.matcher(options.type),
        options.min_bytes or 0,
        _limit(options),
        options.sort,
        _has_retained(options),
    )
    return listed.total, listed.left


def _near(scan: Scan, pattern: str | None) -> str:
    """A question about the types that are meant, if the expression is a name
    that is similar to theirs."""
    name = (pattern or "").strip("^$").replace("\\.", ".")
    if not re.fullmatch(r"[\w./*]+", name):
        return ""
    try:
        scan.resolve(f"(*{name})(0x1)")
    except native.load().Error as problem:
        meant = re.search(r"; (did you mean .*\?)$", str(problem))
        return f"; {meant[1]}" if meant else ""
    return ""


def _document(options: Any) -> list[str]:
    """Print the list as a document."""
    rows = ObjectRows(_has_retained(options))
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        listed = opened.list_objects(
            rows.add,
            args.matcher(options.type),
            options.min_bytes or 0,
            options.limit or 0,
            options.sort,
            rows.with_retained,
            with_kind=True,
        )
        report = ObjectsReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(opened.info(), opened.gaps()),
            listed=listed,
            rows=rows,
        )
    answer_report(report, options)
    return list(report.partial)


def run(options: Any) -> list[str]:
    if options.json:
        return _document(options)
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        total, left = _list(opened, options)
        near = "" if total.objects else _near(opened, options.type)
        lost = partial.reasons(opened.info(), opened.gaps())
    if options.out:
        answer(objects_text(total, options.out))
    if not total.objects:  # a file or a pipe stays empty
        nothing = nothing_text(options.type, options.min_bytes)
        front.current.note(nothing.rstrip("\n") + near + "\n")
    if left and is_terminal():
        answer(left_text(left))
    elif left:  # no line of the list
        front.current.note(left_text(left))
    if lost:
        front.current.note(partial_text(lost, _has_retained(options)))
    return lost

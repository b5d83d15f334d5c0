# SPDX-License-Identifier: Apache-2.0
"""goref object: one object, what it keeps alive, who refers to it."""

from __future__ import annotations

from typing import Any

from .. import args, evaluate, native, partial
from ..render.object import ObjectReport
from ..session import running
from ..verbs import VERBS
from . import why
from .base import allocation_stack, answer_report

_FEW = 4  # references that are listed unless all are asked for
_MANY = 20  # references from which on text has groups
_MOST = 1000  # references in a list of a JSON document


_NO_LIMIT = 2**32 - 1


def extent(options: Any) -> str:
    """Both extents have the runtime's samples; that of values also has
    strings and numbers."""
    return "values" if options.print else "sites"


def check(options: Any) -> None:
    if not options.words:
        raise args.UsageError("which address or expression?")


def run(options: Any) -> list[str]:
    text = " ".join(options.words)
    most = _MOST if options.json else _MANY
    limits = (
        most if options.refs else _FEW,
        most if options.referrers else _FEW,
        options.refs,
        options.referrers,
    )
    with running(options.memory_limit, options.timeout) as opened:
        place = evaluate.place(opened, text)
        name, address, _, _, value = place
        info = opened.object_info(value or address, *limits)
        instead = None
        if not info.is_object:
            instead = why.report(
                opened, text, args.defaults(VERBS["why"].options)
            )
        stack = None
        if info.is_object:
            stack = allocation_stack(opened, info.addr)
        report = ObjectReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons_of_block(opened.info(), info),
            info=info,
            asked=name if value else None,
            instead=instead,
            stack=stack,
            value=_value(opened, place, options) if options.print else None,
        )
    answer_report(report, options)
    return list(report.partial)


def _value(scan: Any, place: evaluate.Place, options: Any) -> str:
    """The value as text; "" if it is not known how to print it."""
    printed = scan.print_value(
        place,
        options.max_string or _NO_LIMIT,
        options.max_elements or _NO_LIMIT,
        options.max_depth or _NO_LIMIT,
    )
    return printed or ""

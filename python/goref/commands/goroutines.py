# SPDX-License-Identifier: Apache-2.0
"""goref goroutines: who runs, who waits, and where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Optional

from .. import args, evaluate, native, partial
from ..errors import Error
from ..render.goroutine_list import GoroutinesReport
from ..session import running
from ..verbs.goroutines import GROUP, WITH
from .base import answer_report, check_has

if TYPE_CHECKING:
    from .._goref import Backtrace, GoroutineList, GoroutineWait, Scan

_MAX_LISTED = 100
_MAX_EXAMPLES = 3
_WITHOUT_TEXT = ("running", "user")


# As answers name a channel that no variable leads to.
_PRINTED_CHANNEL = re.compile(r"\((?:<-)?chan\b.*\)\((0x[0-9a-f]+)\)")


def extent(options: Any) -> str:
    """Values are in the heap, and so are channels, locks and their names."""
    if options.exec in ("locals", "wait"):
        return "values"
    return "heap" if _needs_roots(options) else "goroutines"


def _needs_roots(options: Any) -> bool:
    return bool(
        options.chan
        or options.bytes
        or options.exec == "wait"
        or (options.group and options.group[-1][0] == "waiting-on")
    )


def check(options: Any) -> None:
    _filters(options)
    _group(options.group)


def run(options: Any) -> list[str]:
    filters = _filters(options)
    group, label = _group(options.group)
    limit = _limit(options)
    with running(
        options.memory_limit,
        options.timeout,
        "heap" if _needs_roots(options) else extent(options),
    ) as scan:
        if group == "label" or any(field == "label" for field, *_ in filters):
            check_has(scan, "labels")
        channel = _channel(scan, options.chan) if options.chan else 0
        found = scan.goroutines(
            filters,
            options.system,
            group,
            limit,
            label,
            channel,
            options.bytes,
        )
        calls = _calls(scan, found, options)
        waits = _waits(scan, found, options)
        lost = partial.reasons(scan.info(), None)
    report = GoroutinesReport(
        tool_version=native.load().VERSION,
        partial=lost,
        found=found,
        calls=calls,
        waits=waits,
        location=options.location,
        group=group,
        with_bytes=options.bytes,
    )
    answer_report(report, options)
    return lost


def _channel(scan: Scan, text: str) -> int:
    """The address of the channel that an expression is."""
    printed = _PRINTED_CHANNEL.fullmatch(text)
    found = evaluate.place(scan, printed[1] if printed else text)
    name, address, _type, is_variable, value = found
    if not is_variable:
        return value or address
    type_ = scan.variable(found, 0).type
    if not re.match(r"(<-)?chan\b", type_):
        raise Error(f"goref: {name} is not a channel, but a {type_}")
    if not value:
        raise Error(
            f"goref: {name} is nil: nothing can end a wait for it"
        )
    return value


def _limit(options: Any) -> int:
    """With --json, all goroutines and all numbers of a group."""
    if options.limit is not None:
        return int(options.limit)
    if options.json:
        return 0
    return _MAX_EXAMPLES if options.group else _MAX_LISTED


def _group(
    given: Optional[list[list[str]]],
) -> tuple[Optional[str], Optional[str]]:
    """The field to group by, and the key of the only label that counts."""
    if not given:
        return None, None
    field, *key = map(args.unquote, given[-1])
    _check_field("--group", field, GROUP.choices)
    if key and field != "label":
        raise args.UsageError(f"--group {field} takes no text")
    return field, " ".join(key) or None


def _check_field(option: str, field: str, choices: tuple[str, ...]) -> None:
    if field not in choices:
        raise args.UsageError(
            f"{option}: goroutines have no {field}; there are "
            f"{', '.join(choices)}"
        )


def _filters(options: Any) -> tuple[tuple[str, bool, str], ...]:
    return tuple(
        _filter(words, is_negated)
        for given, is_negated in (
            (options.with_, False),
            (options.without, True),
        )
        for words in given
    )


def _filter(words: list[str], is_negated: bool) -> tuple[str, bool, str]:
    option = "--without" if is_negated else "--with"
    field, *text = map(args.unquote, words)
    _check_field(option, field, WITH.choices)
    if field in _WITHOUT_TEXT and text:
        raise args.UsageError(f"{option} {field} takes no text")
    if field not in _WITHOUT_TEXT and not text:
        raise args.UsageError(f"{option} {field}: which text?")
    return field, is_negated, " ".join(text)


def _calls(
    scan: Scan, found: GoroutineList, options: Any
) -> dict[int, Backtrace]:
    with_variables = options.exec == "locals"
    if not (options.t or with_variables or options.exec == "bt"):
        return {}
    return {
        row.id: scan.backtrace(row.id, options.depth, with_variables)
        for row in found.rows
    }


def _waits(
    scan: Scan, found: GoroutineList, options: Any
) -> dict[int, GoroutineWait]:
    if options.exec != "wait":
        return {}
    return {row.id: scan.goroutine_wait(row.id) for row in found.rows}

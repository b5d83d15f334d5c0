# SPDX-License-Identifier: Apache-2.0
"""goref waits: what goroutines wait for, and who could wake them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, native, partial
from ..render.waits import GROUPS, MEMBERS, WaitsReport
from ..session import running
from .base import ConditionHolds, answer, answer_report, how

if TYPE_CHECKING:
    from .._goref import Backtrace, Scan, Waits

SHOWN_IDS = 8
SHOWN_DEADLOCKS = 5
_CALLS = 40  # of a stack; the report leaves the library's out


def check(options: Any) -> None:
    _goroutine(options.words)


def run(options: Any) -> list[str]:
    number = _goroutine(options.words)
    is_text = not options.json and options.format == "text"
    groups = options.limit
    if groups is None:
        groups = GROUPS if is_text else 0
    # Whoever asks about one goroutine, or for all groups, gets all owners.
    shows_all = bool(number) or options.limit == 0
    ids = SHOWN_IDS if is_text and not shows_all else 0
    with running(options.memory_limit, options.timeout) as scan:
        found = scan.waits(number, groups, ids)
        report = WaitsReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(scan.info(), None),
            found=found,
            stacks=stacks(scan, found),
            goroutine_id=number or None,
            **({"most": None} if shows_all else {}),
            how=how(),
        )
    if options.format == "dot" and not options.json:
        answer(report.dot())
    else:
        answer_report(report, options, options.format == "json")
    check_deadlocks("waits", found, options)
    return list(report.partial)


def check_deadlocks(verb: str, found: Waits, options: Any) -> None:
    """A likely deadlock is no reason to fail."""
    is_proven = any(deadlock.is_certain for deadlock in found.deadlocks)
    if options.fail_on_deadlock and is_proven:
        raise ConditionHolds(f"goref {verb}: goroutines are deadlocked")


def stacks(scan: Scan, found: Waits) -> dict[int, Backtrace]:
    """The calls of those that wait for each other, as far as they are shown."""
    return {
        number: scan.backtrace(number, _CALLS)
        for deadlock in found.deadlocks[:SHOWN_DEADLOCKS]
        for number in deadlock.ids[:MEMBERS]
    }


def _goroutine(words: list[str]) -> int:
    """The number of the operand; 0: there is none."""
    if not words:
        return 0
    if len(words) > 1:
        raise args.UsageError(f"one goroutine at most: {' '.join(words)}")
    text = words[0]
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise args.UsageError(f"not the number of a goroutine: {text}")
    return min(int(text), 2**64 - 1)

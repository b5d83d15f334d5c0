# SPDX-License-Identifier: Apache-2.0
"""goref leaks: goroutines that can never wake."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .. import args, native
from ..errors import Error
from ..known_leaks import (
    Baseline,
    FileError,
    Pattern,
    baseline_text,
    pattern,
    read_baseline,
    read_patterns,
)
from ..render.leaks import LeaksReport, blocked_line
from .base import ConditionHolds, ask, check_writable

if TYPE_CHECKING:
    from .._goref import Leaks, Scan


def check(options: Any) -> None:
    if options.write_baseline:
        if options.baseline or options.fail_on_leaks:
            raise args.UsageError(
                "--write-baseline writes all leaks as known ones: leave out "
                "--baseline and --fail-on-leaks"
            )
        check_writable(options.write_baseline)
    _patterns(options)
    _baseline(options)


def run(options: Any) -> list[str]:
    patterns = _patterns(options)

    def question(scan: Scan) -> Leaks:
        found = scan.leaks(tuple((p.field, p.name) for p in patterns))
        if options.write_baseline:
            _write(options.write_baseline, found)
        return found

    report = ask(
        options,
        partial(
            LeaksReport,
            patterns=patterns,
            baseline=_baseline(options),
            max_blocked=options.fail_above_blocked,
            written=options.write_baseline,
        ),
        question,
    )
    _check_found(report, options)
    return list(report.partial)


def check_leaks(verb: str, found: Leaks | None, options: Any) -> None:
    if options.fail_on_leaks and found and found.leaked:
        plural = "s have" if found.leaked != 1 else " has"
        raise ConditionHolds(
            f"goref {verb}: {found.leaked:,} goroutine{plural} leaked"
        )


def _check_found(report: LeaksReport, options: Any) -> None:
    compared = report.compared
    if not compared:
        check_leaks("leaks", report.found, options)
    elif options.fail_on_leaks and compared.new:
        plural = "s have" if compared.new != 1 else " has"
        raise ConditionHolds(
            f"goref leaks: {compared.new:,} goroutine{plural} leaked that "
            f"{compared.path} does not know"
        )
    for place in report.above()[:1]:
        raise ConditionHolds(f"goref leaks: {blocked_line(place)}")


def _patterns(options: Any) -> list[Pattern]:
    try:
        found = [pattern(args.unquote(text)) for text in options.ignore]
    except ValueError as problem:
        raise args.UsageError(f"--ignore: {problem}") from None
    try:
        for path in options.ignore_file:
            found += read_patterns(path)
    except FileError as problem:
        raise Error(f"goref: {problem}") from None
    return found


def _baseline(options: Any) -> Baseline | None:
    if not options.baseline:
        return None
    try:
        return read_baseline(options.baseline)
    except FileError as problem:
        raise Error(f"goref: {problem}") from None


def _write(path: str, found: Leaks) -> None:
    try:
        native.load().write_file(path, baseline_text(found.groups))
    except native.load().Error as problem:
        raise Error(f"goref: {problem}") from None

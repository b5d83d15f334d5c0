# SPDX-License-Identifier: Apache-2.0
"""goref leaks: goroutines that nobody can wake any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..render.leaks import LeaksReport
from .base import ConditionHolds, ask

if TYPE_CHECKING:
    from .._goref import Leaks


def run(options: Any) -> list[str]:
    report = ask(options, LeaksReport, lambda scan: scan.leaks())
    check_leaks("leaks", report.found, options)
    return list(report.partial)


def check_leaks(verb: str, found: Leaks | None, options: Any) -> None:
    if options.fail_on_leaks and found and found.leaked:
        plural = "s have" if found.leaked != 1 else " has"
        raise ConditionHolds(
            f"goref {verb}: {found.leaked:,} goroutine{plural} leaked"
        )

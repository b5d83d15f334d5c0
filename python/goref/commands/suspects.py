# SPDX-License-Identifier: Apache-2.0
"""goref suspects: the few holders that keep most of the heap alive."""

from __future__ import annotations

import functools
from typing import Any

from .. import args
from ..render.units import human_bytes
from ..render.suspects import SuspectsReport
from .base import ConditionHolds, ask


def extent(_options: Any) -> str:
    """All, and which pages are resident, if that can be known."""
    return "pages"


def check(options: Any) -> None:
    if options.fail_above and options.weight != "bytes":
        raise args.UsageError(
            "--fail-above is not in words: leave it out, or --weight"
        )


def run(options: Any) -> list[str]:
    report = ask(
        options,
        functools.partial(SuspectsReport, weight=options.weight),
        lambda scan: scan.suspects(options.weight),
        extent(options),
    )
    holder = report.over(options.fail_above)
    if holder:
        limit = human_bytes(options.fail_above)
        raise ConditionHolds(
            f"goref suspects: {holder} holds more than {limit}"
        )
    return list(report.partial)

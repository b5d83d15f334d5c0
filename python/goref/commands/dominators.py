# SPDX-License-Identifier: Apache-2.0
"""goref dominators: what keeps how much alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, evaluate, native, partial
from ..render.dominators import DominatorsReport
from ..session import running
from .base import answer_report

if TYPE_CHECKING:
    from .._goref import Dominators, Scan

MAX_DEPTH = 64  # json cannot nest any depth
TOP = 10
SCREEN_DEPTH = 5
SCREEN_ROWS = 14
_CUTS = ("depth", "min-bytes", "top")


def extent(_options: Any) -> str:
    """The object graph has C memory, too."""
    return "native"


def check(options: Any) -> None:
    if (options.depth or 0) > MAX_DEPTH:
        raise args.UsageError(
            f"--depth {options.depth}: a tree has at most {MAX_DEPTH} levels; "
            "name an object to see what is below it"
        )
    if options.min_bytes and options.weight != "bytes":
        raise args.UsageError(
            "--min-bytes is not in words: leave it out, or --weight"
        )


def run(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        found = _dominators(opened, options)
        info = opened.info()
        report = DominatorsReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(info, found),
            info=info,
            found=found,
            phases=opened.graph_phases(),
            asked=options.words,
            weight=options.weight,
        )
    answer_report(report, options)
    return list(report.partial)


def _dominators(scan: Scan, options: Any) -> Dominators:
    places = [evaluate.place(scan, text) for text in options.words]
    if not options.json and not options.given.intersection(_CUTS):
        return scan.dominators(
            places,
            max_depth=SCREEN_DEPTH,
            max_rows=SCREEN_ROWS,
            weight=options.weight,
        )
    depth = 1 if options.depth is None else options.depth
    return scan.dominators(
        places,
        max_depth=depth or MAX_DEPTH,
        max_children=TOP if options.top is None else options.top,
        min_bytes=options.min_bytes or 0,
        weight=options.weight,
    )

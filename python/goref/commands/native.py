# SPDX-License-Identifier: Apache-2.0
"""goref native: the memory of C, and what of it nothing holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, native, partial
from ..render.native import (
    NativeReport,
    nothing_line,
    refused_reasons,
    uncounted_reasons,
    unknown_reasons,
)
from ..render.native_leaks import NativeLeaksReport, leaked_line
from ..session import running
from .base import ConditionHolds, answer_report, check_has

if TYPE_CHECKING:
    from .._goref import Native, NativeLeaks, Scan

_LEAKS = "leaks"
# As a histogram by holder calls them (scanner/histogram/blocks.c).
_NOT_HELD = "C blocks without a known holder"
_WORDS = 8  # of an example's content


def extent(_options: Any) -> str:
    return "native"


def check(options: Any) -> None:
    words = options.words
    if words and words != [_LEAKS]:
        raise args.UsageError(
            f"native takes only the word `{_LEAKS}', not `{' '.join(words)}'"
        )
    if not words and (options.fail_on_leaks or options.values):
        raise args.UsageError(
            "--fail-on-leaks and --values go with `native leaks'"
        )


def run(options: Any) -> list[str]:
    if options.words:
        return _leaks(options)
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        report = memory(opened, options.top)
    answer_report(report, options)
    return list(report.partial)


def memory(scan: Scan, top: int | None) -> NativeReport:
    """The answer on arenas and blocks."""
    found, kept, info = scan.native(), scan.kept_by_c(), scan.info()
    return NativeReport(
        tool_version=native.load().VERSION,
        partial=[*partial.reasons(info, kept), *refused_reasons(found)],
        found=found,
        kept=kept,
        nothing=nothing_line(found, info),
        by_type=_types(scan, found) if found.heaps else (),
        by_holder=_c_rows(scan, "holder") if found.heaps else (),
        top=top,
    )


def _types(scan: Scan, found: Native) -> list[tuple[str, int, int]]:
    """The types of all blocks: a histogram has those that something holds."""
    rows = _c_rows(scan, "type")
    blocks = sum(row.blocks for row in found.sizes)
    bytes_ = sum(row.bytes * row.blocks for row in found.sizes)
    left = blocks - sum(row[1] for row in rows)
    if left:
        left_bytes = bytes_ - sum(row[2] for row in rows)
        rows.append((_NOT_HELD, left, left_bytes))
    return sorted(rows, key=lambda row: -row[2])


def _c_rows(scan: Scan, by: str) -> list[tuple[str, int, int]]:
    """Key, blocks and bytes of the rows that have C memory."""
    return sorted(
        (
            (row.key, row.c_objects, row.c_bytes)
            for row in scan.histogram(by).rows
            if row.c_objects
        ),
        key=lambda row: -row[2],
    )


def _leaks(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        if options.values:
            check_has(opened, "values")
        report = leaked(opened, options.top, options.values)
    found = report.found
    answer_report(report, options)
    if options.fail_on_leaks and found.leaked_blocks and not report.partial:
        raise ConditionHolds(f"goref native leaks: {leaked_line(found)}")
    return list(report.partial)


def leaked(
    scan: Scan, top: int | None, with_values: bool
) -> NativeLeaksReport:
    """The answer on blocks that nothing holds."""
    found, info = scan.native_leaks(), scan.info()
    c_memory = scan.native()
    nothing, unknown = "", refused_reasons(c_memory)
    if not found.is_known:
        nothing = nothing_line(c_memory, info) or "; ".join(unknown)
        unknown = unknown_reasons(c_memory)
    return NativeLeaksReport(
        tool_version=native.load().VERSION,
        partial=[
            *partial.reasons(info, found),
            *unknown,
            *partial.lost_holders(info, found),
            *uncounted_reasons(found.unchecked_arenas),
        ],
        found=found,
        nothing=nothing,
        contents=_contents(scan, found) if with_values else {},
        top=top,
    )


def _contents(scan: Scan, found: NativeLeaks) -> dict[int, bytes]:
    """The first bytes of the example of each group, by its address."""
    return {
        group.example: scan.content(group.vertex, _WORDS * 8)
        for group in found.groups
    }

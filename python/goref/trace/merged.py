# SPDX-License-Identifier: Apache-2.0
"""Old intervals of a long trace, which are merged so that they take no more and
more room."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.trace import ClassGrowth, TracedInterval

MOST = 4096


def shortened(rows: list[TracedInterval]) -> list[TracedInterval]:
    """The same intervals; if there are too many, each two neighbours as one."""
    if len(rows) <= MOST:
        return rows
    return [_merged(rows[i : i + 2]) for i in range(0, len(rows), 2)]


def _merged(rows: Sequence[TracedInterval]) -> TracedInterval:
    """One interval that has the span of all. Its changes are their sums."""
    first, last = rows[0], rows[-1]
    growths: dict[str, ClassGrowth] = {}
    for c in (c for row in rows for c in row.classes):
        size = growths[c.name].growth_bytes if c.name in growths else 0
        growths[c.name] = c._replace(growth_bytes=size + c.growth_bytes)
    unattributed = [row.unattributed_bytes or 0 for row in rows]
    is_known = all(row.unattributed_bytes is not None for row in rows)
    return last._replace(
        begin_s=first.begin_s,
        growth_bytes=sum(row.growth_bytes for row in rows),
        classes=list(growths.values()),
        unattributed_bytes=sum(unattributed) if is_known else None,
        events=sum(row.events for row in rows),
        dropped=sum(row.dropped for row in rows),
        overhead_percent=_overhead(rows),
        off_s=sum(row.off_s for row in rows),
    )


def _overhead(rows: Sequence[TracedInterval]) -> float | None:
    """By the time that each row takes."""
    sum_s = used = 0.0
    for row in rows:
        if row.overhead_percent is None:
            return None
        seconds = row.end_s - row.begin_s
        sum_s += seconds
        used += row.overhead_percent * seconds
    return used / sum_s if sum_s else 0.0

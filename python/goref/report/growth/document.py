# SPDX-License-Identifier: Apache-2.0
"""The document of the page of a difference: that of `goref diff --json` with
bounded tables, the trees, and commands that look closer."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ...difference import BETWEEN, merged
from ...render.diff import row_document, shortened
from ...render.sites import NEXT_CALL
from .. import limits, values
from .trees import grown_and_shrunk, of_c

if TYPE_CHECKING:
    from ...difference import Row, Table
    from ...render.diff import DiffReport
    from ...render.report import Document
    from ...trees import Change

_LONG = 200  # rows of paths and stacks
_STEPS = 40  # of a path


def document(
    report: DiffReport,
    changes: Sequence[Change],
    closer: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """report: of all tables. changes: of all paths (trees.py). closer:
    commands, and what each says."""
    body: Any = report.document()
    in_c = of_c(report.found.tables["holder"].rows, len(changes))
    commands = {
        (row["kind"], row["name"], row["where"]): row["next"]
        for row in report.totals[1]["suspects"]
    }
    found = {
        **body,
        "modules": report.totals[1]["modules"],
        "made_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "by": {
            by: _table(report, one) for by, one in report.found.tables.items()
        },
        "nsuspects": len(body["suspects"]),
        "suspects": [
            _suspect(row, commands) for row in body["suspects"][: limits.ROWS]
        ],
        "survivors_wanted": report.survivors_wanted,
        "survivors": _survivors(body["survivors"]),
        "closer": [{"command": line, "text": text} for line, text in closer],
        **grown_and_shrunk([*changes, *in_c]),
    }
    return values.shown(found, with_values=False)


def _suspect(
    row: Mapping[str, Any], commands: Mapping[Any, Sequence[str]]
) -> dict[str, Any]:
    """One that has vanished has no commands about NEW."""
    key = (row["kind"], row["name"], row["where"])
    place = {"accumulation_point": row["where"]}
    rest = {name: value for name, value in row.items() if name != "where"}
    return {**rest, **place, "next": list(commands.get(key, ()))}


def _most_changed(rows: Sequence[Row], count: int) -> list[Row]:
    """So many rows with the greatest change, in the order of the table."""

    def change(i: int) -> tuple[int, int, int]:
        row = rows[i]
        other = max(abs(row.retained_bytes), abs(row.stack_bytes))
        return abs(row.bytes), other, -i

    chosen = heapq.nlargest(count, range(len(rows)), key=change)
    return [rows[i] for i in sorted(chosen)]


def _table(report: DiffReport, one: Table) -> Document:
    """A row of paths is about all that are the same but for what is in their
    middle. nrows: how many rows there are."""
    found: dict[str, Any] = {
        "known": report.knows(one.by),
        "grew": len(one.grown()),
        "shrank": len(one.shrunk()),
        "retained_is_exact": one.is_exact,
        "note": report.note(one.by),
        "nrows": len(one.rows),
    }
    if one.by == "path":
        groups = {row.key: (row, rows) for row, rows in _alike(one)}
        first = [row for row, _ in groups.values()]
        found["nrows"] = len(first)
        found["rows"] = [
            _path(*groups[row.key]) for row in _most_changed(first, _LONG)
        ]
    elif one.by == "site":
        found["rows"] = [
            _site(row) for row in _most_changed(one.rows, _LONG)
        ]
    else:
        rows = _most_changed(one.rows, limits.ROWS)
        found["rows"] = [row_document(row) for row in rows]
    return found


def _alike(one: Table) -> list[tuple[Row, list[Row]]]:
    return merged(one.rows, shortened)


def _path(row: Row, group: Sequence[Row]) -> Document:
    """steps: of the path that changed most; n: the name of each, and count:
    equal ones in a row."""
    most = max(group, key=lambda one: abs(one.bytes))
    steps: list[Any] = [
        {"n": name, "count": sum(1 for _ in same)}
        for name, same in itertools.groupby(most.key.split(BETWEEN))
    ]
    left = len(steps) - _STEPS
    if left > 0:
        half = _STEPS // 2
        steps[half:-half] = [{"n": "...", "count": left}]
    made = row_document(row)
    del made["key"]
    return {**made, "paths": len(group), "steps": steps}


def _site(row: Row) -> Document:
    """calls: the innermost first."""
    made = row_document(row)
    del made["key"]
    return {**made, "calls": row.key.split(NEXT_CALL)[: limits.CALLS]}


def _survivors(found: Mapping[str, Any] | None) -> Document | None:
    """Types with the greatest number of new or gone objects."""
    if found is None:
        return None
    rows = sorted(
        found["types"],
        key=lambda row: (
            row["objects"] - row["new_objects"],
            row["objects"] - row["old_objects"],
        ),
    )
    return {**found, "ntypes": len(rows), "types": rows[: limits.ROWS]}

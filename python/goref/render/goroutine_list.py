# SPDX-License-Identifier: Apache-2.0
"""goref goroutines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .goroutine_wait import wait_lines, waits_document
from .goroutines import (
    call_lines,
    frames_document,
    goroutine_document,
    goroutine_line,
)
from .report import Listed, Report, partial_lines
from .sizes import both, sizes_of
from .units import human_bytes

if TYPE_CHECKING:
    from .._goref import (
        Backtrace,
        Goroutine,
        GoroutineGroup,
        GoroutineList,
        GoroutineWait,
    )
    from .report import Document, Json

_MAX_GROUPS = 20
_MAX_ADDRESSES = 3


def _numbers(group: GoroutineGroup) -> range:
    """The numbers of the rows of its members."""
    return range(group.first, group.first + group.nrows)


def _awaited_lines(group: GoroutineGroup) -> list[str]:
    """Where in memory lies what they wait for."""
    if not group.nawaited:
        return []
    shown = group.awaited[:_MAX_ADDRESSES]
    text = ", ".join(f"{address:#x}" for address in shown)
    more = group.nawaited - len(shown)
    return [f"    at {text}" + (f" and {more:,} more" if more else "")]


def _counted(number: int) -> str:
    return f"{number:,} goroutine{'s' if number != 1 else ''}"


class GoroutinesReport(Report):
    """A list of goroutines, or groups of them."""

    found: GoroutineList
    calls: Mapping[int, Backtrace]
    waits: Mapping[int, GoroutineWait]
    location: str = "userloc"
    group: str | None = None
    with_bytes: bool = False

    def lines(self) -> list[str]:
        shown = (
            self._group_lines() if self.group else self._rows(self.found.rows)
        )
        return [
            *shown,
            self._end_line(),
            *self._bytes_lines(),
            *partial_lines(self.partial),
        ]

    def _bytes_lines(self) -> list[str]:
        found = self.found
        if not self.with_bytes:
            return []
        parts = "groups" if self.group else "goroutines"
        together = found.exclusive_bytes + found.shared_bytes
        in_c = found.exclusive_c_bytes + found.shared_c_bytes
        return [
            f"[together they retain {both(together, in_c)}, of which several "
            f"{parts} share {both(found.shared_bytes, found.shared_c_bytes)}, "
            "and "
            f"{human_bytes(found.stack_size)} of stack]"
        ]

    def _rows(self, rows: Sequence[Goroutine]) -> list[str]:
        lines = []
        for row in rows:
            bytes_ = "" if self.group else self._bytes(row)
            lines.append(goroutine_line(row, self.location) + bytes_)
            lines += ["    " + line for line in self._details(row)]
        return lines

    def _bytes(self, row: Goroutine | GoroutineGroup) -> str:
        """The costs of goroutines, which stand behind their line."""
        if not self.with_bytes:
            return ""
        size = both(row.exclusive_bytes, row.exclusive_c_bytes)
        return (
            f", retaining {size}, and "
            f"{human_bytes(row.stack_size)} of stack"
        )

    def _details(self, row: Goroutine) -> list[str]:
        """The lines that were asked for of each goroutine."""
        calls, wait = self.calls.get(row.id), self.waits.get(row.id)
        return [
            *(call_lines(calls.calls, calls.is_cut) if calls else ()),
            *(wait_lines(wait) if wait else ()),
        ]

    def _group_lines(self) -> list[str]:
        lines = []
        for group in self.found.groups[:_MAX_GROUPS]:
            first, *rest = group.key.split("; ")
            counted = _counted(group.goroutines) + self._bytes(group)
            if group.nawaited > 1:
                counted += f" for {group.nawaited:,} things"
            lines.append(f"{counted}: {first}")
            lines += [f"    {line}" for line in rest]
            lines += _awaited_lines(group)
            lines += ["  " + line for line in self._rows(self._members(group))]
            if group.nrows < group.goroutines:
                lines.append(
                    f"    and {group.goroutines - group.nrows:,} more"
                )
        others = self.found.groups[_MAX_GROUPS:]
        if others:
            count = sum(group.goroutines for group in others)
            lines.append(
                f"{len(others):,} more groups of {count:,} goroutines"
            )
        return lines

    def _members(self, group: GoroutineGroup) -> Sequence[Goroutine]:
        return self.found.rows[group.first : group.first + group.nrows]

    def _end_line(self) -> str:
        found = self.found
        counted = _counted(found.total)
        if self.group:
            groups = len(found.groups)
            plural = "s" if groups != 1 else ""
            return f"[{counted} in {groups:,} group{plural}]"
        if len(found.rows) < found.total:
            return (
                f"[{counted}, {len(found.rows):,} shown: --limit 0 shows "
                "all, --group userloc counts them]"
            )
        return f"[{counted}]"

    def body(self) -> Mapping[str, Json | Listed]:
        return {
            "total": self.found.total,
            **self._bytes_document(self.found),
            **(
                sizes_of(self.found, "shared", self.found.knows_c)
                if self.with_bytes
                else {}
            ),
            "goroutines": Listed(self._document, self.found.rows),
            "groups": Listed(self._group_document, self.found.groups),
        }

    def _group_document(self, group: GoroutineGroup) -> Document:
        return {
            "key": group.key,
            "count": group.goroutines,
            "ids": [self.found.rows[i].id for i in _numbers(group)],
            **self._bytes_document(group),
            **self._awaited_document(group),
        }

    def _awaited_document(self, group: GoroutineGroup) -> Document:
        if self.group != "waiting-on":
            return {}
        return {
            "awaited_count": group.nawaited,
            "addresses": [f"{address:#x}" for address in group.awaited],
        }

    def _bytes_document(
        self, row: Goroutine | GoroutineGroup | GoroutineList
    ) -> Document:
        if not self.with_bytes:
            return {}
        return {
            "stack_size": row.stack_size,
            **sizes_of(row, "exclusive", self.found.knows_c),
        }

    def _document(self, row: Goroutine) -> Document:
        calls, wait = self.calls.get(row.id), self.waits.get(row.id)
        return {
            **goroutine_document(row),
            **({} if self.group else self._bytes_document(row)),
            **(frames_document(calls.calls, calls.is_cut) if calls else {}),
            **(waits_document(wait) if wait else {}),
        }

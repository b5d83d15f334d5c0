# SPDX-License-Identifier: Apache-2.0
"""goref leaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import TopReport, partial_lines
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .._goref import LeakGroup, Leaks, Location
    from .report import Document

TOP = 4  # groups as text, so that they fit on one screen
_IDS = 5  # goroutines of a group, as text
_REASONS = {
    "unknown wait": "what they wait for could not be found",
    "missing memory": "a pointer to what they wait for may lie in the "
    "memory that is missing",
}


class LeaksReport(TopReport["Leaks"]):
    """Goroutines that nobody can wake any more, in groups."""

    schema = 1

    def lines(self) -> list[str]:
        top = TOP if self.top is None else self.top
        groups = self._groups(is_leaked=True)
        shown = groups[: top or None]
        lines = [leaks_line(self.found), *partial_lines(self.partial)]
        for number, group in enumerate(shown, 1):
            lines += ["", f"{number}. {_title(group)}"]
            lines += self._details(group)
        rest = groups[len(shown) :]
        if rest:
            count = sum(group.goroutines for group in rest)
            lines += [
                "",
                f"and {counted(len(rest), 'more group')} of "
                f"{_goroutines(count)} (--top 0 shows all)",
            ]
        return lines + self._unproven_lines(top) + self._basis_lines()

    def body(self) -> Document:
        found = self.found
        limit = self.top or None
        return {
            "leaked": found.leaked,
            "unproven": found.unproven,
            "goroutines": found.goroutines,
            "blocked": found.blocked,
            "retained_bytes": found.retained_bytes,
            "retained_objects": found.retained_objects,
            "stack_bytes": found.stack_bytes,
            "groups": [
                self._document(group)
                for group in self._groups(is_leaked=True)[:limit]
            ],
            "unproven_groups": [
                {**self._document(group), "reason": group.verdict}
                for group in self._groups(is_leaked=False)[:limit]
            ],
        }

    def _groups(self, *, is_leaked: bool) -> list[LeakGroup]:
        return [
            group
            for group in self.found.groups
            if (group.verdict == "leaked") == is_leaked
        ]

    def _ids(self, group: LeakGroup) -> Sequence[int]:
        return self.found.ids[group.first : group.first + group.nids]

    def _details(self, group: LeakGroup) -> list[str]:
        ids = self._ids(group)
        shown = ", ".join(map(str, ids[:_IDS]))
        if len(ids) > _IDS:
            shown += f" and {len(ids) - _IDS:,} more"
        rows = [
            ("in", f"{group.at.function or '?'}{_at(group.at)}"),
            ("on", _awaited(group)),
            ("created", _created(group)),
            ("ids", shown),
            ("closer", f"{self.how} goroutine {ids[0]}"),
        ]
        return [f"   {title:8}{text}" for title, text in rows if text]

    def _unproven_lines(self, top: int) -> list[str]:
        groups = self._groups(is_leaked=False)
        if not groups:
            return []
        lines = [
            "",
            f"unproven: {_goroutines(self.found.unproven)} may have leaked",
        ]
        for group in groups[: top or None]:
            lines.append(
                f"   {group.goroutines:,} in {group.at.function or '?'}"
                f"{_at(group.at)} [{group.wait_reason or '?'}]: "
                f"{_REASONS[group.verdict]}"
            )
        if top and len(groups) > top:
            lines.append(f"   and {counted(len(groups) - top, 'more group')}")
        return lines

    def _basis_lines(self) -> list[str]:
        """What the verdict rests on."""
        found = self.found
        if not found.blocked:
            return []
        return [
            "",
            f"[{found.blocked:,} of {_goroutines(found.goroutines)} wait for "
            "channels or package sync. One has",
            "leaked if neither a root nor the stack of a goroutine that can "
            "still run leads",
            "to what it waits for, as in Go's own goroutineleak profile]",
        ]

    def _document(self, group: LeakGroup) -> Document:
        return {
            "count": group.goroutines,
            "function": group.at.function,
            "file": group.at.file,
            "line": group.at.line,
            "wait_reason": group.wait_reason,
            "awaited": group.awaited,
            "element_type": group.element_type,
            "awaited_count": group.nawaited,
            "created_by": group.go.function,
            "created_file": group.go.file,
            "created_line": group.go.line,
            "start_function": group.start.function,
            "retained_bytes": group.retained_bytes,
            "retained_objects": group.retained_objects,
            "stack_bytes": group.stack_bytes,
            "ids": list(self._ids(group)),
        }


def leaks_line(found: Leaks) -> str:
    """How many have leaked, or that none has: one line."""
    if not found.leaked:
        if found.unproven:
            return (
                "no goroutine is known to have leaked; "
                f"{found.unproven:,} may have"
            )
        return "no goroutine has leaked"
    groups = sum(group.verdict == "leaked" for group in found.groups)
    verb = "retains" if found.leaked == 1 else "retain"
    return (
        f"{counted(found.leaked, 'leaked goroutine')} in "
        f"{counted(groups, 'group')} {verb} "
        f"{human_bytes(found.retained_bytes)}, and "
        f"{human_bytes(found.stack_bytes)} of stacks"
    )


def _goroutines(count: int) -> str:
    return counted(count, "goroutine")


def _title(group: LeakGroup) -> str:
    verb = "retains" if group.goroutines == 1 else "retain"
    return (
        f"{_goroutines(group.goroutines)} [{group.wait_reason or '?'}] {verb} "
        f"{human_bytes(group.retained_bytes)}, and "
        f"{human_bytes(group.stack_bytes)} of stacks"
    )


def _at(place: Location) -> str:
    return f" at {place.file}:{place.line}" if place.file else ""


def _awaited(group: LeakGroup) -> str:
    """`3 channels of int', `a Mutex'; empty if it waits for nothing."""
    if not group.awaited:
        return ""
    of_type = f" of {group.element_type}" if group.element_type else ""
    if group.nawaited == 1:
        return f"one {group.awaited}{of_type}"
    plural = "es" if group.awaited.endswith("x") else "s"
    return f"{group.nawaited:,} {group.awaited}{plural}{of_type}"


def _created(group: LeakGroup) -> str:
    if not group.go.pc:
        return ""
    return f"by {group.go.function or '?'}{_at(group.go)}"

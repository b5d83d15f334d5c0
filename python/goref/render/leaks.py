# SPDX-License-Identifier: Apache-2.0
"""goref leaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..known_leaks import Compared, counts
from .report import TopReport, fields_of, partial_lines
from .sizes import both, sizes_of
from .style import styled, title
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .._goref import BlockedPlace, LeakGroup, Leaks, Location
    from ..known_leaks import Baseline, Pattern
    from .report import Document

TOP = 4  # groups as text, so that they fit on one screen
_IDS = 5  # goroutines of a group, as text
_PLACES = 4  # where too many are blocked, as text
_REASONS = {
    "unknown wait": "what they wait for could not be found",
    "missing memory": "a pointer to what they wait for may lie in the "
    "memory that is missing",
}


class LeaksReport(TopReport["Leaks"]):
    """Goroutines that can never wake, in groups.

    patterns: of what was left out, as scan.leaks() was asked.
    baseline: what was known before; None: nobody asked.
    max_blocked: name each place where more goroutines are blocked; 0 or
        None: nobody asked.
    written: the file to which a baseline has been written."""

    patterns: Sequence[Pattern] = ()
    baseline: Baseline | None = None
    max_blocked: int | None = None
    written: str | None = None

    def __post_init__(self) -> None:
        self.compared = self.baseline and Compared(
            self.baseline, self.found.groups
        )

    def above(self) -> list[BlockedPlace]:
        """Places where more than the wanted number is blocked."""
        limit = self.max_blocked
        return [
            place
            for place in self.found.places
            if limit and place.goroutines > limit
        ]

    def lines(self) -> list[str]:
        top = TOP if self.top is None else self.top
        groups = self._news()
        shown = groups[: top or None]
        first = leaks_line(self.found)
        if self.partial and not self.found.leaked:
            first = f"in what could be read: {first}"
        lines = [
            styled(first, "warn" if self.found.leaked else "title"),
            *partial_lines(self.partial),
            *self._known_lines(),
            *self._ignored_lines(),
            *self._above_lines(),
        ]
        for number, group in enumerate(shown, 1):
            lines += ["", title(f"{number}. {_title(group)}")]
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
            **fields_of(
                found,
                "leaked unproven goroutines blocked retained_objects "
                "stack_bytes",
            ),
            **sizes_of(found, "retained", found.knows_c),
            "groups": [
                {**self._document(group), **self._known(group)}
                for group in self._groups(is_leaked=True)[:limit]
            ],
            "unproven_groups": [
                {**self._document(group), "reason": group.verdict}
                for group in self._groups(is_leaked=False)[:limit]
            ],
            "baseline": self._baseline_document(),
            "ignored": [
                {
                    "pattern": str(pattern),
                    "blocked": row.blocked,
                    "leaked": row.leaked,
                }
                for pattern, row in zip(self.patterns, self.found.ignored)
            ],
            "blocked_places": [
                _place_document(place) for place in self.found.places[:limit]
            ],
            "written": self.written,
        }

    def _news(self) -> list[LeakGroup]:
        """Leaked groups without those that the baseline knows."""
        return [
            group
            for group in self._groups(is_leaked=True)
            if not self.compared or self.compared.has_grown(group)
        ]

    def _known_lines(self) -> list[str]:
        """The lines about the baseline, and about what has become of it."""
        compared, written = self.compared, self.written
        if written:
            count = counted(len(counts(self.found.groups)), "place")
            return [f"baseline: {count} written to {written}"]
        if not compared:
            return []
        lines = [
            f"baseline: {compared.new:,} new, {compared.old:,} known to "
            f"{compared.path}"
        ]
        shrunk = len(compared.shrunk())
        if shrunk:
            have = "has" if shrunk == 1 else "have"
            lines.append(
                f"baseline: {counted(shrunk, 'place')} {have} fewer leaks "
                "than the file says: write the file again"
            )
        return lines

    def _ignored_lines(self) -> list[str]:
        rows = self.found.ignored
        if not self.patterns:
            return []
        leaked, blocked = (
            sum(row.leaked for row in rows),
            sum(row.blocked for row in rows),
        )
        lines = [
            f"ignored: {_goroutines(blocked)} that "
            f"{'waits' if blocked == 1 else 'wait'}, of which {leaked:,} "
            f"{'has' if leaked == 1 else 'have'} leaked"
        ]
        useless = [
            str(pattern)
            for pattern, row in zip(self.patterns, rows)
            if not row.blocked
        ]
        if useless:
            more = f" and {len(useless) - 1:,} more" if useless[1:] else ""
            lines.append(f"ignored: no goroutine matches {useless[0]}{more}")
        return lines

    def _above_lines(self) -> list[str]:
        found = self.above()
        lines = [
            f"more than {self.max_blocked:,} in one place: "
            f"{blocked_line(place)}"
            for place in found[:_PLACES]
        ]
        if len(found) > _PLACES:
            lines.append(f"and {counted(len(found) - _PLACES, 'more place')}")
        return lines

    def _known(self, group: LeakGroup) -> Document:
        """The keys of a leaked group that the baseline tells."""
        if not self.compared:
            return {}
        return {
            "known": self.compared.known_of(group),
            "new": self.compared.has_grown(group),
        }

    def _baseline_document(self) -> Document | None:
        compared = self.compared
        if not compared:
            return None
        return {
            "file": compared.path,
            "new": compared.new,
            "known": compared.old,
            "shrunk": [
                {**key._asdict(), "known": known, "count": count}
                for key, known, count in compared.shrunk()
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
            ("known", self._known_text(group)),
            ("ids", shown),
            ("closer", f"{self.how} goroutine {ids[0]}"),
        ]
        return [f"   {title:8}{text}" for title, text in rows if text]

    def _known_text(self, group: LeakGroup) -> str:
        """How a group has grown, if its place was known."""
        if not self.compared or not self.compared.known_of(group):
            return ""
        return (
            f"{self.compared.known_of(group):,} of "
            f"{self.compared.found_of(group):,} like these"
        )

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
        """The lines about the ground that the verdict rests on."""
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
            **fields_of(group.at, "function file line"),
            **fields_of(group, "wait_reason awaited element_type"),
            "awaited_count": group.nawaited,
            "created_by": group.go.function,
            "created_file": group.go.file,
            "created_line": group.go.line,
            "start_function": group.start.function,
            **sizes_of(group, "retained", self.found.knows_c),
            **fields_of(group, "retained_objects stack_bytes"),
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
        f"{both(found.retained_bytes, found.retained_c_bytes)}, and "
        f"{human_bytes(found.stack_bytes)} of stacks"
    )


def blocked_line(place: BlockedPlace) -> str:
    """A place where goroutines are blocked."""
    verb = "is" if place.goroutines == 1 else "are"
    leaked = ""
    if place.leaked:
        have = "has" if place.leaked == 1 else "have"
        leaked = f", of which {place.leaked:,} {have} leaked"
    return (
        f"{_goroutines(place.goroutines)} {verb} blocked in "
        f"{place.at.function or '?'}{_at(place.at)} "
        f"[{place.wait_reason or '?'}]{leaked}"
    )


def _place_document(place: BlockedPlace) -> Document:
    return {
        **fields_of(place.at, "function file line"),
        "wait_reason": place.wait_reason,
        "count": place.goroutines,
        "leaked": place.leaked,
    }


def _goroutines(count: int) -> str:
    return counted(count, "goroutine")


def _title(group: LeakGroup) -> str:
    verb = "retains" if group.goroutines == 1 else "retain"
    return (
        f"{_goroutines(group.goroutines)} [{group.wait_reason or '?'}] {verb} "
        f"{both(group.retained_bytes, group.retained_c_bytes)}, and "
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

# SPDX-License-Identifier: Apache-2.0
"""goref profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import Report
from .sites import NOT_LINKED, SAMPLING_IS_OFF, sampling_text
from .units import human_bytes, printable

if TYPE_CHECKING:
    from .._goref import (
        BucketProfile,
        Goroutine,
        GoroutineProfile,
        GoroutineSample,
        StackFrame,
    )
    from .report import Document

NO_LEAKS = "no goroutine has leaked"


def leak_note(kind: str, found: GoroutineProfile) -> str | None:
    """The note of a profile of leaked goroutines about those that it lacks."""
    if kind != "goroutineleak":
        return None
    if found.unproven:
        return (
            f"{found.unproven:,} more may have leaked: `goref leaks' has the "
            "reasons"
        )
    return None if found.rows else NO_LEAKS


def _is_shown(function: str, is_innermost: bool) -> bool:
    """runtime/traceback.go: showfuncinfo. The runtime's own calls are left
    out, but for exported functions and panics."""
    if function == "runtime.gopanic":
        return not is_innermost
    if not function.startswith("runtime."):
        return "." in function
    return function[len("runtime.") :][:1].isupper()


def _name(function: str) -> str:
    """runtime/traceback.go: printFuncName, funcNameForPrint."""
    if function == "runtime.gopanic":
        return "panic"
    begin, end = function.find("["), function.rfind("]")
    if 0 <= begin < end:
        return f"{function[:begin]}[...]{function[end + 1:]}"
    return function


def _frame_lines(frames: Sequence[StackFrame]) -> list[str]:
    lines = []
    for i, frame in enumerate(frames):
        function = frame.function or "?"
        if not _is_shown(function, i == 0):
            continue
        # An inlined call has no pc of its own.
        off = f" +{frame.off_bytes:#x}" if not frame.is_inlined else ""
        lines.append(f"{printable(_name(function))}(...)")
        lines.append(f"\t{_place(frame.file, frame.line)}{off}")
    return lines


def _place(file: str | None, line: int) -> str:
    return f"{printable(file or '?')}:{line}"


def _header(row: Goroutine) -> str:
    words = [row.wait_reason or row.state]
    if row.wait_reason and row.state == "leaked":
        words[0] += " (leaked)"
    if row.locked_thread_id:
        words.append("locked to thread")
    return f"goroutine {row.id} [{', '.join(words)}]:"


def _creator_lines(row: Goroutine) -> list[str]:
    function = row.go.function
    if not function or row.id == 1 or not _is_shown(function, False):
        return []
    by = f" in goroutine {row.creator_id}" if row.creator_id else ""
    return [
        f"created by {printable(_name(function))}{by}",
        f"\t{_place(row.go.file, row.go.line)}",
    ]


def stacks_text(found: GoroutineProfile) -> str:
    """All goroutines as the runtime prints them, a blank line between."""
    stacks = [_frame_lines(sample.frames) for sample in found.samples]
    return "\n".join(
        "".join(
            f"{line}\n"
            for line in (
                _header(row.goroutine),
                *stacks[row.sample],
                *(["...additional frames elided..."] if row.is_cut else []),
                *_creator_lines(row.goroutine),
            )
        )
        for row in found.rows
    )


def stacks_notes(
    kind: str, found: GoroutineProfile, lost: Sequence[str]
) -> list[str]:
    """The notes that belong beside the text."""
    note = leak_note(kind, found)
    lines = [note] if note else []
    if lost:
        lines.append(f"PARTIAL: {', '.join(lost)}: goroutines may be missing")
    return lines


class GoroutineProfileReport(Report):
    """A profile of goroutines was written."""

    kind: str
    found: GoroutineProfile
    out: str

    def _samples(self) -> Sequence[GoroutineSample]:
        return self.found.samples

    def _stack_space(self) -> int:
        return sum(sample.stack_space for sample in self._samples())

    def lines(self) -> list[str]:
        return [
            f"{self.out}: {len(self.found.rows):,} goroutines, "
            f"{len(self._samples()):,} different stacks, "
            f"{human_bytes(self._stack_space())} of stack space",
            *stacks_notes(self.kind, self.found, self.partial),
        ]

    def body(self) -> Document:
        return {
            "profile": self.kind,
            "out": self.out,
            "goroutines": len(self.found.rows),
            "samples": len(self._samples()),
            "stack_space_bytes": self._stack_space(),
            "note": leak_note(self.kind, self.found),
        }


def bucket_notes(kind: str, found: BucketProfile) -> list[str]:
    """Notes that explain the numbers, or that there are none."""
    notes = []
    if found.is_disabled:
        notes.append(NOT_LINKED)
    elif found.is_off:
        notes.append(
            {
                "block": "block profiling is off: see "
                "runtime.SetBlockProfileRate",
                "mutex": "mutex profiling is off: see "
                "runtime.SetMutexProfileFraction",
            }.get(kind, SAMPLING_IS_OFF)
        )
    if found.is_before_gc and found.samples:
        notes.append(
            "no collection has ended yet: allocations so far, freed or not"
        )
    if found.is_in_ticks and found.samples:
        notes.append(
            "the delays are in ticks: the runtime has not measured its clock"
        )
    return notes


class BucketProfileReport(Report):
    """A profile of the runtime's buckets was written.

    is_now: in use is what exists at this moment."""

    kind: str
    found: BucketProfile
    out: str
    is_now: bool = False

    def _is_memory(self) -> bool:
        return self.kind in ("heap", "allocs")

    def _sum_text(self) -> str:
        first, second, live, live_bytes = self.found.totals
        if self._is_memory():
            return (
                f"{human_bytes(live_bytes)} in use{' now' * self.is_now} in "
                f"{live:,} objects, "
                f"{human_bytes(second)} allocated in {first:,}"
            )
        delay = (
            f"{second:,} ticks"
            if self.found.is_in_ticks and self.found.samples
            else f"{second / 1e9:,.3f} s"
        )
        return f"{first:,} contentions, {delay} of delay"

    def _estimate_lines(self) -> list[str]:
        if not self.found.is_estimated or not self.found.samples:
            return []
        if self._is_memory():
            return [sampling_text(self.found.period)]
        return ["sampled: contentions and delays are estimated"]

    def lines(self) -> list[str]:
        lines = [
            f"{self.out}: {self._sum_text()}, {self.found.samples:,} samples",
            *self._estimate_lines(),
            *bucket_notes(self.kind, self.found),
        ]
        if self.partial:
            lines.append(
                f"PARTIAL: {', '.join(self.partial)}: samples may be missing"
            )
        return lines

    def body(self) -> Document:
        first, second, live, live_bytes = self.found.totals
        totals: Document = (
            {
                "alloc_objects": first,
                "alloc_bytes": second,
                "inuse_objects": live,
                "inuse_bytes": live_bytes,
                "sample_rate_bytes": self.found.period,
            }
            if self._is_memory()
            else {"contentions": first, "delay": second}
        )
        return {
            "profile": self.kind,
            "out": self.out,
            "now": self.is_now,
            "samples": self.found.samples,
            **totals,
            "estimated": self.found.is_estimated,
            "notes": bucket_notes(self.kind, self.found),
        }

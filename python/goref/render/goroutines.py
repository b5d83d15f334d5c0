# SPDX-License-Identifier: Apache-2.0
"""goref goroutine, and what all answers say of a goroutine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import Report, fields_of, partial_lines
from .values import value_lines

if TYPE_CHECKING:
    from .._goref import (
        Backtrace,
        Call,
        CallVariable,
        Goroutine,
        Location,
    )
    from .report import Document

_MINUTE = 60 * 10**9
_TITLES = {
    "userloc": "User",
    "curloc": "Current",
    "goloc": "Go",
    "startloc": "Start",
}


def _location(row: Goroutine, field: str) -> Location:
    return {
        "userloc": row.user,
        "curloc": row.current,
        "goloc": row.go,
        "startloc": row.start,
    }[field]


def place_text(at: Location) -> str:
    """`FILE:LINE FUNCTION (0xPC)', as Delve has it."""
    return f"{at.file or '?'}:{at.line} {at.function or '?'} ({at.pc:#x})"


def status_text(row: Goroutine) -> str:
    """In brackets behind a goroutine."""
    words = [row.wait_reason or row.state]
    if row.wait_reason and row.state != "waiting":
        words.append(row.state)
    words += waited_words(row.waited_ns)
    if row.thread_id:
        words.append(f"thread {row.thread_id}")
    if row.m_id is not None:
        words.append(f"M {row.m_id}")
    if row.locked_thread_id:
        words.append(f"locked to thread {row.locked_thread_id}")
    return ", ".join(words)


def waited_words(nanoseconds: int | None) -> list[str]:
    """`at least 5 min', from a minute on."""
    minutes = (nanoseconds or 0) // _MINUTE
    return [f"at least {minutes:,} min"] if minutes else []


def labels_text(row: Goroutine) -> str:
    """Behind a goroutine: ` {key: value}', as the runtime prints it."""
    if row.labels is None:
        return " {labels not in the file}"
    if not row.labels:
        return ""
    pairs = (
        f"{_quoted(label.key)}: {_quoted(label.value)}" for label in row.labels
    )
    return " {" + ", ".join(pairs) + "}"


def labels_document(row: Goroutine) -> Document | None:
    """None: they are not known."""
    if row.labels is None:
        return None
    return {label.key: label.value for label in row.labels}


def _quoted(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9./_]+", text):
        return text
    import json  # only needed here

    return json.dumps(text, ensure_ascii=False)


def goroutine_line(row: Goroutine, field: str = "userloc") -> str:
    mark = "*" if row.thread_id else " "
    at = place_text(_location(row, field))
    return (
        f"{mark} Goroutine {row.id} - {_TITLES[field]}: {at} "
        f"[{status_text(row)}]{labels_text(row)}"
    )


def _one_call(
    number: int, call: Call, variables: Sequence[CallVariable]
) -> list[str]:
    at = call.at
    inlined = " (inlined)" if call.is_inlined else ""
    return [
        f"{number:3}  {at.function or '?'}{inlined}",
        f"       {at.file or '?'}:{at.line} ({at.pc:#x})",
        *(
            line
            for v in variables
            for line in value_lines(f"         {v.name} = ", v.value)
        ),
    ]


def _is_runtime(call: Call) -> bool:
    return (call.at.function or "").startswith("runtime.")


def call_lines(calls: Sequence[Call], is_cut: bool) -> list[str]:
    """Two lines a call, as a panic prints them, and its variables; those of the
    runtime's calls are large and interest few."""
    lines = []
    for i, call in enumerate(calls):
        variables = () if _is_runtime(call) else call.variables
        lines += _one_call(i, call, variables)
    if is_cut:
        lines.append(
            "     more calls are missing: the stack is very deep, or "
            "it could not be read"
        )
    return lines


def frames_document(calls: Sequence[Call], is_cut: bool) -> Document:
    return {
        "complete_stack": not is_cut,
        "frames": [
            {
                **location_document(call.at),
                "inlined": call.is_inlined,
                "sp": f"{call.sp:#x}",
                "variables": [
                    fields_of(v, "name type value") for v in call.variables
                ],
            }
            for call in calls
        ],
    }


def location_document(at: Location) -> Document:
    return {
        **fields_of(at, "function file line"),
        "pc": f"{at.pc:#x}",
    }


def goroutine_document(row: Goroutine) -> Document:
    return {
        **fields_of(row, "id state wait_reason waited_ns"),
        **fields_of(row.user, "function file line"),
        "pc": f"{row.user.pc:#x}",
        "system": row.is_system,
        **fields_of(row, "thread_id m_id locked_thread_id creator_id"),
        "current": location_document(row.current),
        "go": location_document(row.go),
        "start": location_document(row.start),
        "stack_bytes": row.stack_bytes,
        "labels": labels_document(row),
    }


class GoroutineReport(Report):
    """The calls of one goroutine, or one of them."""

    backtrace: Backtrace
    frame: int | None = None

    def lines(self) -> list[str]:
        row = self.backtrace.goroutine
        if self.frame is not None:
            call = self.backtrace.calls[self.frame]
            return [
                *_one_call(self.frame, call, call.variables),
                *partial_lines(self.partial),
            ]
        creator = f" by goroutine {row.creator_id}" if row.creator_id else ""
        system = ", the runtime's own" if row.is_system else ""
        # The runtime's own start has made the first goroutine.
        created = (
            [f"created{creator} at {place_text(row.go)}"]
            if row.go.pc and row.id != 1
            else []
        )
        return [
            f"goroutine {row.id} [{status_text(row)}]{system}"
            f"{labels_text(row)}",
            *call_lines(self.backtrace.calls, self.backtrace.is_cut),
            *created,
            *partial_lines(self.partial),
        ]

    def body(self) -> Document:
        return {
            **goroutine_document(self.backtrace.goroutine),
            **frames_document(self._shown(), self.backtrace.is_cut),
        }

    def _shown(self) -> Sequence[Call]:
        calls = self.backtrace.calls
        if self.frame is None:
            return calls
        return calls[self.frame : self.frame + 1]

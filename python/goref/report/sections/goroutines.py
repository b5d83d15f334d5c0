# SPDX-License-Identifier: Apache-2.0
"""Goroutines by their calls, and those that have leaked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.units import counted, human_bytes
from ..calls import own_call
from ..live import size_text, whole
from ..markup import bar, code, el, empty, note, place, section
from ..tables import Cell, Column, bytes_, name, number, table, text
from .parts import command, missing, numbers, stack

if TYPE_CHECKING:
    from ..markup import Element


def goroutines(document: Mapping[str, Any]) -> Element:
    title = "Goroutines"
    found = document.get("goroutines")
    if found is None:
        reason = missing(document, "goroutines", "what goroutines do")
        return section("goroutines", title, None, reason)
    total = found["total"]
    lead = (
        f"{counted(total, 'goroutine')} in "
        f"{counted(found['ngroups'], 'group')} with the same calls, without "
        "those of the runtime. Together they have "
        f"{human_bytes(found['stack_bytes'])} of stacks."
    )
    if not total:
        return section(
            "goroutines", title, None, empty("There is no goroutine.")
        )
    left = found["ngroups"] - len(found["groups"])
    return section(
        "goroutines",
        title,
        lead,
        [_group(group, total) for group in found["groups"]],
        note(f"Not in this report: {counted(left, 'smaller group')}.")
        if left
        else None,
    )


def _group(group: Mapping[str, Any], total: int) -> Element:
    return el(
        "details",
        {"class": "card group"},
        el(
            "summary",
            None,
            el("strong", {"class": "count"}, f"{group['count']:,}"),
            bar(group["count"], total),
            el("span", {"class": "state"},
               group["wait_reason"] or group["state"]),
            place(own_call(group["frames"]) or group["user"]),
            el("span", {"class": "more"}, _cost(group)),
        ),
        stack(group["frames"], group["complete_stack"]),
        _facts(group),
    )  # fmt: skip


def _cost(group: Mapping[str, Any]) -> str:
    held = size_text(group)
    verb = "retains" if group["count"] == 1 else "retain"
    return f"{verb} {held}, {human_bytes(group['stack_bytes'])} of stacks"


def _facts(group: Mapping[str, Any]) -> Element:
    rows = [("Numbers", numbers(group["ids"], group["count"]))]
    labels = "not in the file"
    if group["labels"] is not None:
        labels = ", ".join(f"{k}: {v}" for k, v in group["labels"].items())
    if labels:
        rows.append(("Labels of the first", labels))
    return el(
        "dl",
        {"class": "inline"},
        [[el("dt", None, key), el("dd", None, what)] for key, what in rows],
        [
            el("dt", None, "Created in"),
            el("dd", None, place(group["created_by"])),
        ]
        if group["created_by"]
        else None,
    )


def leaks(document: Mapping[str, Any]) -> Element:
    title = "Leaked goroutines"
    found = document.get("leaks")
    if found is None:
        reason = missing(document, "leaks", "which goroutines have leaked")
        return section("leaks", title, None, reason)
    lead = (
        "Nobody can wake them any more: neither a root nor the stack of a "
        "goroutine that can still run leads to what they wait for. This is "
        "the rule of Go's own goroutineleak profile."
    )
    if not found["leaked"] and not found["unproven"]:
        none = "No goroutine has leaked."
        return section("leaks", title, lead, empty(none))
    return section(
        "leaks",
        title,
        lead,
        _table(found)
        if found["leaked"]
        else empty("No goroutine is known to have leaked."),
        command(f"{document['command']} leaks") if found["leaked"] else None,
        _unproven(found),
    )


def _table(found: Mapping[str, Any]) -> Element:
    columns = [
        Column("Retained", True),
        Column("Count", True),
        Column("Stacks", True, True),
        Column("Where"),
        Column("Waits for", is_minor=True),
        Column("Created in", is_minor=True),
    ]
    cells = [
        (
            bytes_(whole(group)),
            number(group["count"]),
            bytes_(group["stack_bytes"]),
            Cell(group["function"] or "?", place(group)),
            text(_awaited(group)),
            name(group["created_by"] or "?", length=40),
        )
        for group in found["groups"]
    ]
    return table("leaks-table", "Leaked goroutines", columns, cells)


def _awaited(group: Mapping[str, Any]) -> str:
    return str(group["wait_reason"] or group["awaited"] or "?")


def _unproven(found: Mapping[str, Any]) -> Element | None:
    if not found["unproven"]:
        return None
    return el(
        "div",
        None,
        note(f"{counted(found['unproven'], 'goroutine')} more may have "
             "leaked; that could not be proven:"),
        el(
            "ul",
            {"class": "note"},
            [
                el(
                    "li",
                    None,
                    f"{group['count']:,} in ",
                    code(group["function"] or "?"),
                    f": {group['reason']}",
                )
                for group in found["unproven_groups"]
            ],
        ),
    )  # fmt: skip

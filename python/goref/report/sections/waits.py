# SPDX-License-Identifier: Apache-2.0
"""Who waits for what, and who could wake them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.units import counted
from ..findings import duration
from ..markup import code, el, empty, note, place, prose, section
from ..tables import Cell, Column, name, number, table, text
from ..waitgraph import graph
from .parts import command, missing, own_calls

if TYPE_CHECKING:
    from ..markup import Element

_NAME = 36  # characters of the names, two in a row
_OWNED = ("mutex", "read lock", "write lock", "wait group")


def waits(document: Mapping[str, Any]) -> Element:
    title = "Who waits for whom"
    found = document.get("waits")
    if found is None:
        reason = missing(document, "waits", "what goroutines wait for")
        return section("waits", title, None, reason)
    if not found["groups"]:
        none = "No goroutine waits for a lock or a channel."
        return section("waits", title, None, empty(none))
    return section(
        "waits",
        title,
        f"{counted(found['goroutines'], 'goroutine')} "
        f"{'waits' if found['goroutines'] == 1 else 'wait'} for "
        f"{counted(found['groups'], 'lock or channel')}."
        .replace("lock or channels", "locks or channels"),
        _deadlocks(found),
        _picture(found),
        _table(found),
        _outside(document),
        command(f"{document['command']} waits"),
    )  # fmt: skip


def _deadlocks(found: Mapping[str, Any]) -> list[Element]:
    if not found["ndeadlocks"]:
        return [el("p", {"class": "good"}, "No deadlock was found.")]
    shown = [
        _deadlock(i, deadlock, found["stacks"])
        for i, deadlock in enumerate(found["deadlocks"], 1)
    ]
    left = found["ndeadlocks"] - len(shown)
    if left:
        more = f"Not in this report: {counted(left, 'more deadlock')}."
        shown.append(note(more))
    return shown


def _deadlock(
    number_: int, deadlock: Mapping[str, Any], stacks: Mapping[str, Any]
) -> Element:
    behind = deadlock["behind"]
    return el(
        "details",
        {"class": "card bad", "open": number_ <= 3},
        el(
            "summary",
            None,
            el("strong", None, f"Deadlock {number_}: "),
            counted(deadlock["count"], "goroutine"),
            None
            if deadlock["certain"]
            else " (likely, not proven)",
            f"; {behind:,} more {'waits' if behind == 1 else 'wait'} for what "
            "they hold"
            if behind
            else None,
        ),
        el(
            "div",
            {"class": "columns"},
            [
                _member(deadlock, i, stacks)
                for i in range(len(deadlock["ids"]))
            ],
        ),
        note(f"{deadlock['count'] - len(deadlock['ids']):,} more members.")
        if deadlock["count"] > len(deadlock["ids"])
        else None,
    )


def _member(
    deadlock: Mapping[str, Any], index: int, stacks: Mapping[str, Any]
) -> Element:
    ids, primitives = deadlock["ids"], deadlock["primitives"]
    awaited = primitives[index % len(primitives)]
    is_last = index + 1 == len(ids)
    is_cut = is_last and deadlock["count"] > len(ids)
    owner = ids[(index + 1) % len(ids)]
    whom = "itself" if owner == ids[index] else f"goroutine {owner}"
    has = "owned by" if awaited["kind"] in _OWNED else "in reach of"
    found = stacks.get(str(ids[index]))
    return el(
        "div",
        None,
        el(
            "p",
            None,
            el("strong", None, f"goroutine {ids[index]}"),
            " waits for ",
            code(_name(awaited)),
            prose(f" ({_state(awaited)})"),
            None if is_cut else f", {has} ",
            None if is_cut else el("strong", None, whom),
        ),
        own_calls(found["frames"], found["complete_stack"]) if found else None,
    )


def _name(awaited: Mapping[str, Any]) -> str:
    return str(awaited["path"] or awaited["primitive"] or "nothing")


def _state(awaited: Mapping[str, Any]) -> str:
    words = [awaited["kind"], awaited["state"]]
    state = ", ".join(filter(None, words))
    return f"{state}, in {awaited['type']}" if _holder(awaited) else state


def _holder(awaited: Mapping[str, Any]) -> bool:
    """Is it a field of something that has a name?"""
    plain = ("sync.", "chan ", "hchan", "runtime.hchan")
    type_ = awaited["type"]
    return bool(type_) and not type_.startswith(plain)


def _picture(found: Mapping[str, Any]) -> Element | None:
    drawn = graph(found)
    if not drawn["edges"]:
        return None
    left = drawn["left_out"]
    return el(
        "figure",
        {"id": "waitgraph", "hidden": True},
        el("div", {"class": "scroll", "tabindex": "0", "role": "region",
                   "aria-label": "Picture of who waits for whom"}),
        el(
            "figcaption",
            None,
            "An arrow leads from who waits to what is awaited, and from there "
            "to its owner. Dashed: the owner is likely, not certain. ",
            el("span", {"class": "badtext"},
               "Red, with thick lines: a deadlock.")
            if found["ndeadlocks"]
            else None,
            f" Not drawn: {counted(left, 'more group')}." if left else None,
        ),
    )  # fmt: skip


def _table(found: Mapping[str, Any]) -> Element:
    has_owners = any(_is_owned(row) for row in found["waits"])
    columns = [
        Column("Waiting", True),
        Column("For", is_name=True),
        Column("State", is_minor=True),
        Column("Since", True, True, "at least, the longest of the row"),
        Column("Where", is_minor=True),
        *([Column("Owner")] if has_owners else []),
    ]
    cells = [
        (
            number(row["count"]),
            name(
                _many(row) or _name(row),
                row["type"] if _holder(row) else None,
                length=_NAME,
            ),
            text(", ".join(filter(None, [row["kind"], row["state"]]))),
            _since(row),
            Cell(row["function"] or "?", place(row, _NAME)),
            *([_owner(row)] if has_owners else []),
        )
        for row in found["waits"]
    ]
    return table(
        "waits-table",
        "Goroutines by what they wait for",
        columns,
        cells,
        len(found["waits"]) + found["left_out"],
        sorted_by=None,
    )


def _since(row: Mapping[str, Any]) -> Cell:
    waited = row.get("waited_ns")
    if not waited:
        return Cell(-1, el("span", {"class": "more"}, "not known"))
    return Cell(waited, duration(waited))


def _is_owned(row: Mapping[str, Any]) -> bool:
    """Is there an owner, or a proof that there is none?"""
    return bool(row["verdict"] or any(o["likely"] for o in row["owners"]))


def _many(row: Mapping[str, Any]) -> str | None:
    """`398 different (chan string)', if rows were merged."""
    if row["things"] == 1:
        return None
    return f"{row['things']:,} different {row['path'] or row['kind']}"


def _owner(row: Mapping[str, Any]) -> Cell:
    owners = row["owners"]
    if owners and owners[0]["likely"]:
        first = owners[0]
        kind = "" if first["certain"] else "likely "
        whom = f"{kind}goroutine {first['id']}"
        evidence = el("span", {"class": "more"}, prose(first["evidence"]))
        return Cell(whom, [whom, evidence])
    if row["verdict"]:
        return text(row["verdict"])
    return Cell("", el("span", {"class": "more"}, "not known"))


def _outside(document: Mapping[str, Any]) -> Element | None:
    """Threads in system calls and in C."""
    hung = document.get("hung")
    if not hung or not hung["outside"]:
        return None
    return el(
        "div",
        None,
        el("h3", None, "In system calls or in C"),
        el(
            "ul",
            {"class": "plain"},
            [
                el(
                    "li",
                    None,
                    f"{row['count']:,} ",
                    place(row),
                    f" calls {row['c_function']}" if row["c_function"] else "",
                )
                for row in hung["outside"]
            ],
        ),
    )

# SPDX-License-Identifier: Apache-2.0
"""Bounds of the page: whatever the heap, it has a few megabytes. Each function
makes a document of bounded size that says how much there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..render.goroutines import (
    frames_document,
    labels_document,
    location_document,
)
from ..render.sizes import apart, sizes_of

if TYPE_CHECKING:
    from .._goref import Backtrace, GoroutineGroup, GoroutineList, Info
    from .._goref import Waits
    from ..packages import Modules
    from ..render.report import Document

FIRST = 5  # rows of the overview
ROWS = 500  # of a table
NODES = 5000  # of a tree
PATHS = 20000  # of the reference tree, before its nodes are chosen
GROUPS = 100  # of goroutines
WAITS = 5000  # groups of waiters, before those that are alike are merged
DEADLOCKS = 20
IDS = 8  # numbers of goroutines
MEMBERS = 24  # of a deadlock
SITES = 200  # and their roots
CALLS = 40  # of a stack
PAGE = 10 << 20  # bytes
NAME = 400  # characters
NAMES = (NAME, 150, 60)  # tried in turn until the page fits

_INDEX = re.compile(r"\[\d+\]")


def short(text: str, length: int = NAME) -> str:
    """A name; a type written out may have any length."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def fitting(
    document: dict[str, Any], make: Callable[[Mapping[str, Any]], str]
) -> bytes:
    """The page that make() makes of the document. Where names are very long,
    they are cut until it fits. If that is not enough, the document loses the
    cards of objects, and says so."""
    for length in NAMES:
        text = make(_cut(document, length)).encode("utf-8")
        if len(text) <= PAGE:
            return text
    if not document.pop("objects", None):
        return text
    document["missing"]["objects"] = "the page would be too large"
    return make(_cut(document, NAMES[-1])).encode("utf-8")


def _cut(part: Any, length: int) -> Any:
    if isinstance(part, dict):
        return {
            short(name, length): _cut(value, length)
            for name, value in part.items()
        }
    if isinstance(part, list):
        return [_cut(value, length) for value in part]
    return short(part, length) if isinstance(part, str) else part


def modules(info: Info) -> Modules:
    """Whose the packages are: as goref.packages takes it."""
    return {
        "main": info.main_module,
        "path": info.main_path,
        "dependencies": list(info.dependencies),
    }


def _frames(backtrace: Backtrace) -> Document:
    """Its calls, without what their variables and registers were."""
    document: dict[str, Any] = frames_document(
        backtrace.calls, backtrace.is_cut
    )
    return {
        "complete_stack": document["complete_stack"]
        and len(backtrace.calls) < CALLS,
        "frames": [
            {
                key: frame[key]
                for key in ("function", "file", "line", "inlined")
            }
            for frame in document["frames"]
        ],
    }


def goroutines(
    found: GoroutineList, calls: Mapping[int, Backtrace]
) -> Document:
    """Groups by their calls. calls: by the first row of a group."""
    return {
        "total": found.total,
        "stack_bytes": found.stack_size,
        **apart(found.exclusive_bytes, found.exclusive_c_bytes, "retained"),
        **sizes_of(found, "shared"),
        "ngroups": len(found.groups),
        "groups": [
            _group(found, group, calls[group.first])
            for group in found.groups[:GROUPS]
        ],
    }


def _group(
    found: GoroutineList, group: GoroutineGroup, backtrace: Backtrace
) -> Document:
    rows = found.rows[group.first : group.first + group.nrows]
    first = rows[0]
    return {
        "count": group.goroutines,
        "ids": [row.id for row in rows],
        "state": first.state,
        "wait_reason": first.wait_reason,
        "user": location_document(first.user),
        "created_by": location_document(first.go) if first.go.pc else None,
        "labels": labels_document(first),
        "stack_bytes": group.stack_size,
        **apart(group.exclusive_bytes, group.exclusive_c_bytes, "retained"),
        **_frames(backtrace),
    }


def waits(
    document: Document, stacks: Mapping[int, Backtrace], found: Waits
) -> Document:
    """stacks: of the goroutines of deadlocks."""
    deadlocks: Any = document["deadlocks"]
    rows: Any = document["waits"]
    merged = _merged(rows)
    shown = [_members(deadlock) for deadlock in deadlocks[:DEADLOCKS]]
    members = {number for deadlock in shown for number in deadlock["ids"]}
    return {
        **document,
        "ndeadlocks": len(deadlocks),
        "deadlocks": shown,
        "waits": merged[:GROUPS],
        "left_out": len(merged[GROUPS:]) + found.total - len(rows),
        "owners": [
            {
                "id": blocker.owner.id,
                "primitive": f"{blocker.primitive.addr or 0:#x}",
                "behind": blocker.behind,
            }
            for blocker in found.blockers[:GROUPS]
        ],
        "stacks": {
            str(number): _frames(backtrace)
            for number, backtrace in stacks.items()
            if number in members
        },
    }


def _rank(row: dict[str, Any]) -> tuple[bool, int]:
    """The rank of a group: groups that wait for one thing come first."""
    return row["things"] == 1 and row["count"] > 1, row["count"]


def _common_path(row: Mapping[str, Any]) -> str | None:
    """The path of what waiters wait for without what differs among many like
    it: an address, or the indexes of the things of lone waiters."""
    path = row["path"] or ""
    if not path or "(0x" in path:
        return str(path.partition("(0x")[0])
    whole = _INDEX.sub("[]", path)
    return whole if row["count"] == 1 and whole != path else None


def _merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Waiters of one line for things without an owner, and without a name of
    their own, are one row: each worker of a pool waits for a channel of its
    own. things: how many things a row is about."""
    made: dict[Any, dict[str, Any]] = {}
    for row in rows:
        row = {**row, "owners": row["owners"][:IDS], "things": 1}
        key: Any = row["primitive"]
        common = _common_path(row)
        is_owned = any(owner["likely"] for owner in row["owners"])
        if not is_owned and common is not None:
            same = ("kind", "state", "function", "line", "verdict")
            key = (common, *(row[name] for name in same))
        first = made.setdefault(key, row)
        if first is not row:
            first["count"] += row["count"]
            first["path"] = common
            first["things"] += 1
            first["waited_ns"] = max(
                (r.get("waited_ns") or 0 for r in (first, row))
            ) or None  # the longest that is known
            first["waiters"] = (first["waiters"] + row["waiters"])[:IDS]
    return sorted(made.values(), key=_rank, reverse=True)


def _members(deadlock: Mapping[str, Any]) -> dict[str, Any]:
    """Each goroutine waits for the primitive of its index."""
    return {
        **deadlock,
        "count": len(deadlock["ids"]),
        "ids": deadlock["ids"][:MEMBERS],
        "primitives": deadlock["primitives"][:MEMBERS],
    }


def hung(document: Document) -> Document:
    """The cause, and who is outside of Go; waits and leaks have the rest."""
    keys = ("schema", "cause", "cause_kind", "states", "outside", "next")
    return {key: document[key] for key in keys}


def sites(document: Document, nrows: int) -> Document:
    rows: Any = document["rows"]
    return {
        **document,
        "nrows": nrows,
        "rows": [{**row, "stack": row["stack"][:CALLS]} for row in rows],
    }


def native(document: Document) -> Document:
    """C memory: the largest arenas, and the first rows of each table."""
    allocators: Any = document["allocators"]
    tables: Any = {
        key: document[key] for key in ("sizes", "types", "holders", "kept_by_c")
    }
    return {
        **document,
        "allocators": [
            {**row, "arena_list": _largest(row["arena_list"])}
            for row in allocators
        ],
        **{key: rows[:ROWS] for key, rows in tables.items()},
        **{f"n{key}": len(rows) for key, rows in tables.items()},
    }


def _largest(arenas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(arenas, key=lambda row: -row["mapped_bytes"])[:ROWS]


def native_leaks(document: Document) -> Document:
    groups: Any = document["groups"]
    return {**document, "groups": groups[:ROWS], "ngroups": len(groups)}


def leaks(document: Document) -> Document:
    leaked: Any = document["groups"]
    unproven: Any = document["unproven_groups"]
    return {
        **document,
        "groups": [_numbers(group) for group in leaked],
        "unproven_groups": [_numbers(group) for group in unproven],
        "blocked_places": [],
    }


def _numbers(group: Mapping[str, Any]) -> dict[str, Any]:
    return {**group, "ids": group["ids"][:IDS]}

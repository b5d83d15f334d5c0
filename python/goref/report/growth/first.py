# SPDX-License-Identifier: Apache-2.0
"""The first screen of a difference: how much the heap grew, who grew, and what
was compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...render.diff import in_parts, signed, signed_bytes
from ...render.sizes import both
from ...render.units import human_bytes, percent
from ..live import whole
from ..markup import code, el, prose
from ..names import middle
from ..screens import finding, finding_list, partial_note, subject

if TYPE_CHECKING:
    from ..markup import Element

_NAMED = 4  # suspects
_MOST = ("root", "type")  # whose first row is named
_NAME = 40  # characters of a name


def screen(document: Mapping[str, Any]) -> Element:
    exe = document["new"]["exe"]
    made = document["made_at"].replace("T", " ").replace("+00:00", " UTC")
    return el(
        "div",
        {"class": "first"},
        subject(
            exe.rpartition("/")[2], exe, f"{_pair(document)}; made {made}"
        ),
        _partial(document),
        finding_list(
            "What has changed", _first_findings(document), _suspects(document)
        ),
        el("dl", {"class": "facts"}, _facts(document)),
    )


def _pair(document: Mapping[str, Any]) -> str:
    old, new = document["old"]["source"], document["new"]["source"]
    return f"difference from {old} to {new}"


def _partial(document: Mapping[str, Any]) -> Element | None:
    if not document["partial"]:
        return None
    lost = "; ".join(document["partial"])
    return partial_note(
        "Partial", f"{lost}. Growth may be too small or too large."
    )


def _row(before: str, name: str, after: str) -> Element:
    return el("span", None, before, code(name, _NAME), " ", prose(after))


# ----------------------------------------------------------------- the heap


def verdict(document: Mapping[str, Any]) -> str:
    """`+10.2 MiB, +37.1 %: 27.6 MiB → 37.8 MiB'."""
    old, new = (size_of(document[side]) for side in ("old", "new"))
    if old == new:
        return f"as large as before: {human_bytes(new)}"
    parts = ""
    if has_c(document):
        parts = f" ({in_parts(new - old, document['growth_c_bytes'])})"
    return _growth(old, new, parts)


def _growth(old: int, new: int, parts: str = "") -> str:
    growth = new - old
    sign = "-" if growth < 0 else "+"
    share = f", {sign}{percent(abs(growth), old)}" if old else ""
    return (
        f"{signed_bytes(growth)}{share}{parts}: {human_bytes(old)} → "
        f"{human_bytes(new)}"
    )


def _first_findings(document: Mapping[str, Any]) -> list[Element | None]:
    """Reached and leaked memory: that which grew more comes first."""
    found = [_heap(document), _leaked(document)]
    leaked = document["growth_leaked_c_bytes"] or 0
    return found[::-1] if leaked > whole(document, "growth") else found


def _leaked(document: Mapping[str, Any]) -> Element | None:
    """The growth of blocks of C that nothing holds."""
    growth = document["growth_leaked_c_bytes"]
    if not growth:
        return None
    old, new = (document[side]["leaked_c_bytes"] for side in ("old", "new"))
    grew = "grew" if growth > 0 else "shrank"
    grade = "warn" if growth > 0 else "good"
    title = f"Leaked C memory {grew}"
    return finding(grade, "c-memory", title, prose(_growth(old, new)))


def growth_of_all(document: Mapping[str, Any]) -> int:
    """The growth of what is reached and of what is leaked."""
    leaked = document["growth_leaked_c_bytes"] or 0
    return whole(document, "growth") + int(leaked)


def _heap(document: Mapping[str, Any]) -> Element:
    growth = whole(document, "growth")
    title = "No growth"
    if growth:
        what = "Live memory" if has_c(document) else "The heap"
        title = f"{what} grew" if growth > 0 else f"{what} shrank"
    grade = "warn" if growth > 0 else "good"
    rows = [_most(document, by, growth < 0) for by in _MOST]
    return finding(
        grade, "charts", title, prose(verdict(document)), *rows
    )


def _most(
    document: Mapping[str, Any], by: str, is_shrunk: bool
) -> Element | None:
    """The row that has changed most, in the direction of the heap."""
    rows = document["by"][by]["rows"]
    row = rows[-1 if is_shrunk else 0] if rows else None
    growth = whole(row, "growth") if row else 0
    if not growth or (growth < 0) != is_shrunk:
        return None
    return _row(f"most by {by}: ", row["key"], signed_bytes(growth))


# ------------------------------------------------------------- the suspects


def sizes(row: Mapping[str, Any]) -> str:
    """`6.9 MiB → 17.2 MiB, +10.2 MiB', or the only size."""
    old, new = retained(row, "old"), retained(row, "new")
    if old is None or new is None:
        name = "old" if new is None else "new"
        return both(old or new or 0, row.get(f"{name}_c_bytes") or 0)
    text = f"{human_bytes(old)} → {human_bytes(new)}, "
    text += signed_bytes(new - old)
    sides = [row.get(f"{side}_c_bytes") or 0 for side in ("old", "new")]
    if any(sides):
        text += f" ({in_parts(new - old, sides[1] - sides[0])})"
    return text


def retained(row: Mapping[str, Any], side: str) -> int | None:
    """The size that a suspect retains on a side, C memory included."""
    return None if row[f"{side}_bytes"] is None else whole(row, side)


def size_of(side: Mapping[str, Any]) -> int:
    """The bytes of a side, or of a side of a row, in Go and in C."""
    return int(side["bytes"]) + int(side.get("c_bytes", 0))


def has_c(document: Mapping[str, Any]) -> bool:
    """Has either side blocks of C that something holds?"""
    return any(document[side].get("c_bytes") for side in ("old", "new"))


def has_leaked(document: Mapping[str, Any]) -> bool:
    """Has either side blocks of C that nothing holds?"""
    return any(
        document[side].get("leaked_c_objects") for side in ("old", "new")
    )


def _suspects(document: Mapping[str, Any]) -> Element | None:
    found = document["suspects"]
    if not found:
        return None
    changes = [row["change"] for row in found]
    counts = [
        f"{changes.count(change):,} {change}"
        for change in ("new", "remaining", "vanished")
        if change in changes
    ]
    is_good = changes.count("vanished") == len(changes)
    is_mixed = len(counts) > 1
    rows = [
        _row(f"{row['change']}: " if is_mixed else "", row["name"], sizes(row))
        for row in found[:_NAMED]
    ]
    more = document["nsuspects"] - len(rows)
    if more > 0:
        rows.append(el("span", None, f"{more:,} more"))
    title = "Suspect" if document["nsuspects"] == 1 else "Suspects"
    grade = "good" if is_good else "warn"
    return finding(
        grade, "suspects", title, prose(", ".join(counts)), *rows
    )


# ---------------------------------------------------------------- the facts


def programs(document: Mapping[str, Any]) -> str:
    """How certain it is that both sides are of one."""
    if document["one_process"]:
        return "one process"
    if document["one_program"]:
        return "one program"
    if document["old"]["build_id"] and document["new"]["build_id"]:
        return "two programs"
    return "perhaps two programs"


_MEANINGS = {
    "one process": "both are of one run of the program",
    "one program": "the build ids are equal; perhaps two processes",
    "two programs": "the build ids differ; compared by names",
    "perhaps two programs": "a build id is not known; compared by names",
}


def _facts(document: Mapping[str, Any]) -> list[Element]:
    old, new = document["old"], document["new"]
    compared = programs(document)
    rows: list[tuple[str, str, str]] = [
        _objects(document),
        ("Goroutines", f"{old['goroutines']:,} → {new['goroutines']:,}",
         signed(new["goroutines"] - old["goroutines"])),
        _side("Old", old),
        _side("New", new),
        ("Compared", compared, _MEANINGS[compared]),
    ]  # fmt: skip
    return [
        el("div", None, el("dt", None, title), el("dd", None, text),
           el("dd", {"class": "more"}, prose(more)))
        for title, text, more in rows
    ]  # fmt: skip


def _objects(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """Objects of Go and blocks of C."""
    old, new = (
        side["objects"] + side.get("c_objects", 0)
        for side in (document["old"], document["new"])
    )
    return "Objects", f"{old:,} → {new:,}", signed(new - old)


def _side(title: str, side: Mapping[str, Any]) -> tuple[str, str, str]:
    source = middle(side["source"].rpartition("/")[2], _NAME)
    exe = middle(side["exe"].rpartition("/")[2], _NAME)
    size = human_bytes(size_of(side))
    return title, source, f"{exe}, {size}, {side['go_version']}"

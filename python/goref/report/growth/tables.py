# SPDX-License-Identifier: Apache-2.0
"""The tables of a difference: growth by each kind of key, the suspects, and
the survivors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...render.diff import signed, signed_bytes
from ..live import whole
from ..markup import code, el, empty, note, section
from ..origins import Origins
from ..sections.parts import command
from ..tables import Cell, Column, bytes_, name, number, table, text
from .first import (
    growth_of_all,
    has_c,
    has_leaked,
    retained,
    size_of,
    sizes,
)

if TYPE_CHECKING:
    from ..markup import Element

_GOROUTINES = "goroutines of "
_ENDS = 28  # characters of either end of a path
_CALL = 60
# Tables that are about Go alone, or about C alone.
_WITHOUT_PARTS = ("path", "site", "holder", "waste")


class _Kind(NamedTuple):
    """The subject of a table. head: of the column of names."""

    by: str
    link: str
    title: str
    head: str
    lead: str
    cell: Callable[[Mapping[str, Any], Origins], Cell]


def sections(
    document: Mapping[str, Any],
) -> list[tuple[str, str, Element]]:
    """(name, title in the bar at the top, section) of each."""
    found = []
    if document["suspects"]:
        found.append(("suspects", "Suspects", _suspects(document)))
    found += [
        (kind.link, kind.title, _growth(document, kind))
        for kind in _KINDS
        if kind.by != "holder" or has_c(document) or has_leaked(document)
    ]
    if document["survivors_wanted"]:
        found.append(("survivors", "Survivors", _survivors(document)))
    return found


# ------------------------------------------------------------------- growth


def _change(growth: int, most: int) -> Cell:
    """A growth with a bar that begins in the middle: to the right it grew, to
    the left it shrank."""
    width = 50 * min(1.0, abs(growth) / most) if most else 0.0
    start = 50.0 if growth > 0 else 50 - width
    shape = "grown" if growth > 0 else "shrunk"
    drawn = el(
        "svg",
        {"class": "bar change", "viewBox": "0 0 100 1", "aria-hidden": "true",
         "preserveAspectRatio": "none"},
        el("rect", {"class": shape, "x": f"{start:.2f}",
                    "width": f"{width:.2f}", "height": "1"}),
        el("rect", {"class": "middle", "x": "49.4", "width": "1.2",
                    "height": "1"}),
    )  # fmt: skip
    return Cell(growth, [drawn, _signed(growth)])


def _signed(growth: int) -> Element:
    return el(
        "span",
        {"class": "num pct", "title": f"{signed(growth)} B"},
        signed_bytes(growth),
    )


def _count(growth: int) -> Cell:
    return Cell(growth, signed(growth))


def _growth(document: Mapping[str, Any], kind: _Kind) -> Element:
    found = document["by"][kind.by]
    said = f"{found['grew']:,} grew, {found['shrank']:,} shrank"
    remark = f"{said}; {found['note']}." if found["note"] else f"{said}."
    if not found["rows"]:
        said = "No difference" if found["known"] else "Not known"
        text_ = f"{said}; {found['note']}." if found["note"] else f"{said}."
        return section(kind.link, kind.title, kind.lead, empty(text_))
    most = max(abs(whole(row, "growth")) for row in found["rows"])
    parts = has_c(document) and kind.by not in _WITHOUT_PARTS
    origins = Origins(document)
    cells = [
        [
            _change(whole(row, "growth"), most),
            *([_in_c(row, "c_bytes")] * parts),
            _count(row["growth_objects"]),
            bytes_(size_of(row["old"])),
            bytes_(size_of(row["new"])),
            *_more(kind.by, row, parts),
            kind.cell(row, origins),
        ]
        for row in found["rows"]
    ]
    return section(
        kind.link,
        kind.title,
        kind.lead,
        note(remark),
        table(
            f"{kind.link}-table",
            f"Growth: {kind.title.lower()}",
            [*_columns(kind.by, parts), Column(kind.head)],
            _ordered(document, cells),
            found["nrows"],
            order=_order(document),
        ),
    )


def _order(document: Mapping[str, Any]) -> str:
    """The order in which rows that changed as the heap did come first."""
    is_less = growth_of_all(document) < 0
    return "ascending" if is_less else "descending"


def _ordered(
    document: Mapping[str, Any], rows: Sequence[Sequence[Cell]]
) -> Sequence[Sequence[Cell]]:
    """Rows whose growth falls, in the order of the page."""
    return rows if _order(document) == "descending" else rows[::-1]


def _columns(by: str, has_parts: bool) -> list[Column]:
    """has_parts: in Go and in C."""
    in_c = [Column("In C", True, True, "the part in blocks of C")]
    columns = [
        Column("Growth", True, hint="of the objects themselves"),
        *(in_c * has_parts),
        Column("Objects", True, True),
        Column("Old", True, True),
        Column("New", True, True),
    ]
    if by in ("root", "goroutine"):
        hint = "growth of what it alone keeps alive"
        columns.append(Column("Retained", True, True, hint))
        columns += in_c * has_parts
    if by == "goroutine":
        columns.append(Column("Number", True, True, "of goroutines"))
        columns.append(Column("Stacks", True, True))
    return columns


def _in_c(row: Mapping[str, Any], key: str) -> Cell:
    """The part of a growth in C; empty if there is none on either side."""
    old, new = (row[side].get(key) or 0 for side in ("old", "new"))
    return Cell(new - old, _signed(new - old) if old or new else "")


def _more(by: str, row: Mapping[str, Any], has_parts: bool) -> list[Cell]:
    old, new = row["old"], row["new"]

    def growth(key: str) -> Cell:
        if old[key] is None or new[key] is None:
            return Cell(0, "")
        change = new[key] - old[key]
        return Cell(change, _signed(change))

    cells = []
    if by in ("root", "goroutine"):
        change = growth("retained_bytes")
        in_c = _in_c(row, "retained_c_bytes")
        if in_c.shown:
            size = int(change.value) + int(in_c.value)
            change = Cell(size, _signed(size))
        cells = [change, *([in_c] * has_parts)]
    if by == "goroutine":
        number_ = new["goroutines"] - old["goroutines"]
        cells += [_count(number_), growth("stack_bytes")]
    return cells


# -------------------------------------------------------------------- names


def _named(row: Mapping[str, Any], origins: Origins) -> Cell:
    sides = row["old"], row["new"]
    is_c = any(side.get("c_bytes") for side in sides) and not any(
        side["bytes"] for side in sides
    )
    return name(row["key"], mark=origins.mark(row["key"], is_c))


def _package(row: Mapping[str, Any], origins: Origins) -> Cell:
    return name(row["key"], mark=origins.mark_of_package(row["key"]))


def _function(row: Mapping[str, Any], origins: Origins) -> Cell:
    key = row["key"].removeprefix(_GOROUTINES)
    is_function = key != row["key"]
    return name(key, mark=origins.mark(key) if is_function else None)


def _path(row: Mapping[str, Any], origins: Origins) -> Cell:
    """The ends of a path, and all of it behind them."""
    steps = row["steps"]
    first, last = steps[0]["n"], steps[-1]["n"]
    ends = [code(first, _ENDS)]
    if len(steps) > 1:
        between = " → … → " if len(steps) > 2 else " → "
        ends += [between, code(last, _ENDS + 8)]
    alike = row["paths"]
    return Cell(
        " -> ".join(step["n"] for step in steps),
        el(
            "details",
            {"class": "folded"},
            el(
                "summary",
                None,
                origins.mark(first),
                ends,
                f" ({alike:,} paths)" if alike > 1 else None,
            ),
            note(f"One of {alike:,} paths, the one that changed most:")
            if alike > 1
            else None,
            el("ol", {"class": "path"}, [_step(step) for step in steps]),
        ),
    )


def _step(step: Mapping[str, Any]) -> Element:
    if step["n"] == "...":
        return el("li", {"class": "more"}, f"{step['count']:,} steps left out")
    times = f" {step['count']:,} times" if step["count"] > 1 else None
    return el("li", None, code(step["n"]), times)


def _site(row: Mapping[str, Any], _origins: Origins) -> Cell:
    calls = row["calls"]
    return Cell(
        " < ".join(calls),
        el(
            "details",
            {"class": "folded"},
            el("summary", None, code(calls[0], _CALL)),
            el("ol", {"class": "stack"},
               [el("li", None, code(call, _CALL)) for call in calls]),
        ),
    )  # fmt: skip


def _check(row: Mapping[str, Any], _origins: Origins) -> Cell:
    return text(row["key"])


_KINDS = (
    _Kind("type", "types", "Types", "Type",
          "The objects by type, as goref histogram has them.", _named),
    _Kind("root", "roots", "Roots", "Root",
          "An object that several roots reach is billed to the nearest one. "
          "Retained is what a root alone keeps alive.", _named),
    _Kind("path", "paths", "Paths", "Path",
          "The way from a root to the objects, by fields. A row is about the "
          "objects at its end; a click shows its steps.", _path),
    _Kind("site", "sites", "Sites", "Allocated in",
          "Where the objects were allocated, as the runtime has sampled it.",
          _site),
    _Kind("package", "packages", "Packages", "Package",
          "The objects by the package of their type.", _package),
    _Kind("goroutine", "goroutines", "Goroutines", "First function",
          "What the goroutines hold that began in one function. Number and "
          "stacks are those of the goroutines.", _function),
    _Kind("holder", "c-memory", "C memory", "Holder",
          "Blocks of C by the last field or variable of Go on the nearest "
          "path to them, or else by what holds them in C.", _named),
    _Kind("waste", "waste", "Savings", "Check",
          "What could be saved, by the check of goref waste that finds it.",
          _check),
)  # fmt: skip


# ------------------------------------------------------ suspects, survivors


def _suspects(document: Mapping[str, Any]) -> Element:
    rows = document["suspects"]
    growths = [
        (retained(r, "new") or 0) - (retained(r, "old") or 0) for r in rows
    ]
    most = max(map(abs, growths))
    origins = Origins(document)
    columns = [
        Column("Growth", True, hint="of what it retains"),
        Column("Old", True, True),
        Column("New", True, True),
        Column("Suspect"),
        Column("Change", is_minor=True),
    ]
    cells = [
        [
            _change(growth, most),
            bytes_(retained(row, "old")),
            bytes_(retained(row, "new")),
            _suspect(row, origins),
            text(row["change"]),
        ]
        for row, growth in zip(rows, growths)
    ]
    return section(
        "suspects",
        "Suspects",
        "What retains much of either heap. A click shows where it "
        "accumulates, and commands that show more of it.",
        table(
            "suspects-table", "Suspects", columns, _ordered(document, cells),
            document["nsuspects"], order=_order(document),
        ),
    )  # fmt: skip


def _suspect(row: Mapping[str, Any], origins: Origins) -> Cell:
    whole, where = row["name"], row["accumulation_point"]
    sizes_ = None
    if row.get("old_c_bytes") or row.get("new_c_bytes"):
        sizes_ = el("p", {"class": "note"}, sizes(row))
    place = None
    if where and where != whole:
        place = el("p", {"class": "note"}, "where: ", code(where, 90))
    mark = origins.mark(whole)
    if not place and not sizes_ and not row["next"]:
        return name(whole, mark=mark)
    return Cell(
        whole,
        el(
            "details",
            {"class": "folded"},
            el("summary", None, mark, code(whole)),
            sizes_,
            place,
            [command(words) for words in row["next"]],
        ),
    )


def _survivors(document: Mapping[str, Any]) -> Element:
    title, found = "Survivors", document["survivors"]
    if found is None:
        return section(
            "survivors", title, None,
            empty("Not known: it is not certain that both are of one "
                  "process."),
        )  # fmt: skip
    most, least = ("", "") if found["exact"] else ("at most ", "at least ")
    ran = "no collection has" if found["exact"] else "a collection may have"
    kept, new = found["objects"], found["new_objects"]
    lead = (
        f"{most}{kept:,} of {found['old_objects']:,} old objects are still "
        f"there; {least}{new - kept:,} of {new:,} are new: {ran} run between."
    )
    columns = [
        Column("New", True, hint=f"{least}so many".strip()),
        Column("Surviving", True, hint=f"{most}so many".strip()),
        Column("Old", True, True),
        Column("Type"),
    ]
    origins = Origins(document)
    cells: Sequence[Sequence[Cell]] = [
        [
            number(row["new_objects"] - row["objects"]),
            number(row["objects"]),
            number(row["old_objects"]),
            name(row["type"], mark=origins.mark(row["type"])),
        ]
        for row in found["types"]
    ]
    return section(
        "survivors",
        title,
        lead[:1].upper() + lead[1:],
        table("survivors-table", title, columns, cells, found["ntypes"]),
    )

# SPDX-License-Identifier: Apache-2.0
"""goref diff."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..difference import BETWEEN, alike, checks_left_out, knows
from .report import Report, partial_lines
from .sites import NEXT_CALL
from .sizes import apart, both
from .style import styled, title
from .table import table
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from ..difference import Amount, Difference, Row, SuspectChange, Table
    from ..survivors import Survivors
    from .report import Document

_TOP, _TOP_OF_ONE = 5, 20
_MAX_STEPS = 6  # of a path
_MAX_CALLS = 3  # of a stack

_NAMES = {
    "type": "type",
    "root": "root",
    "path": "path",
    "site": "site",
    "package": "package",
    "goroutine": "goroutines",
    "holder": "holder of C memory",
    "waste": "check of waste",
}
# Sums of a side that are about blocks of C.
_IN_C = ("c_objects", "c_bytes", "leaked_c_objects", "leaked_c_bytes")
# Those that blocks of C are not counted in.
_GO_ALONE = ("path", "site", "waste")


def signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def signed_bytes(count: int) -> str:
    if not count:
        return "0 B"
    return ("+" if count > 0 else "-") + human_bytes(abs(count))


def in_parts(growth: int, in_c: int) -> str:
    """`Go +1.0 MiB, C +2.0 MiB': the parts of a growth."""
    return f"Go {signed_bytes(growth - in_c)}, C {signed_bytes(in_c)}"


def _whole(totals: Mapping[str, Any], what: str) -> int:
    """The sum of Go and C."""
    return int(totals[what]) + int(totals.get(f"c_{what}", 0))


def _direction(growth: int) -> str:
    """The style of a growth."""
    return "grown" if growth > 0 else "shrunk"


def _site(stack: str) -> str:
    """The innermost calls."""
    calls = stack.split(NEXT_CALL)
    return NEXT_CALL.join([*calls[:_MAX_CALLS], "..."][: len(calls)])


def shortened(path: str) -> str:
    """A path with its ends: who holds it, and what it is. Steps that follow
    each other and are equal, as in a list, are counted."""
    steps = []
    for step, alike in itertools.groupby(path.split(BETWEEN)):
        number = len(list(alike))
        steps.append(step if number == 1 else f"{number} x {step}")
    if len(steps) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        steps[half:-half] = ["..."]
    return BETWEEN.join(steps)


class DiffReport(Report):
    """The objects that have grown, and those that are gone.

    names, totals: of OLD and NEW.
    by: the only table; None: all of them.
    top: rows of each; 0: all; None: all in JSON, a screen as text.
    html, html_bytes: the page that stands for the text."""

    names: tuple[str, str]
    totals: tuple[Mapping[str, Any], Mapping[str, Any]]
    found: Difference
    is_one_process: bool
    survivors: Survivors | None = None
    survivors_wanted: bool = False
    by: str | None = None
    top: int | None = None
    out: str | None = None
    html: str | None = None
    html_bytes: int = 0

    def __post_init__(self) -> None:
        self.old, self.new = self.totals

    def tables(self) -> list[Table]:
        """One table, or all. Without C memory, none is about holders."""
        every = self.found.tables
        if self.by:
            return [every[self.by]]
        has_holders = self.has_c() or self.has_leaked()
        return [t for by, t in every.items() if by != "holder" or has_holders]

    def has_c(self) -> bool:
        """Has either side blocks of C that something holds?"""
        return bool(self.old.get("c_bytes") or self.new.get("c_bytes"))

    def has_leaked(self) -> bool:
        """Has either side blocks of C that nothing holds?"""
        return any(side.get("leaked_c_objects") for side in self.totals)

    def growth_of_leaked(self, what: str) -> int | None:
        """The growth of such blocks or their bytes; None: not known."""
        key = f"leaked_c_{what}"
        old, new = self.old.get(key, 0), self.new.get(key, 0)
        return None if old is None or new is None else int(new - old)

    def growth(self, what: str) -> int:
        """The growth of objects or bytes, in Go and in C."""
        return _whole(self.new, what) - _whole(self.old, what)

    def growth_in_c(self, what: str) -> int:
        key = f"c_{what}"
        return int(self.new.get(key, 0)) - int(self.old.get(key, 0))

    def most_grown(self) -> tuple[str, int] | None:
        """The name and the bytes of what --fail-above is about."""
        if not self.by:
            name = "live memory" if self.has_c() else "the heap"
            leaked = self.growth_of_leaked("bytes") or 0
            if leaked:
                name = "live and leaked memory"
            return name, self.growth("bytes") + leaked
        grown = self.found.tables[self.by].grown()
        return (grown[0].key, grown[0].bytes) if grown else None

    def is_one_program(self) -> bool:
        build_id = self.old["build_id"]
        return bool(build_id) and build_id == self.new["build_id"]

    # ------------------------------------------------------------------ text

    def lines(self) -> list[str]:
        if self.html is not None:
            return [*self._page_lines(self.html), *self._out_lines()]
        lines = [
            *self._verdict_lines(),
            *self._partial_lines("OLD: "),
            *self._partial_lines("NEW: "),
            self._goroutines(),
            f"old  {self._side(0)}",
            f"new  {self._side(1)}",
            *self._programs(),
        ]
        for one in self.tables():
            lines += self._table(one)
        lines += self._survivors()
        if self.out:
            lines += ["", *self._out_lines()]
        return lines

    def _out_lines(self) -> list[str]:
        return [f"the difference is in {self.out}"] if self.out else []

    def _page_lines(self, path: str) -> list[str]:
        return [
            f"diff: {path} ({human_bytes(self.html_bytes)}); open it in a "
            "browser",
            *partial_lines(self.partial, "the page says what is missing"),
        ]

    def _verdict_lines(self) -> list[str]:
        """How much it has grown, and the suspects; or who has grown most."""
        growth = self.growth("bytes")
        lines = [styled(self._heap(), "warn" if growth > 0 else "good")]
        lines += self._leaked_lines()
        if self.found.suspects and not self.by:
            return [*lines, *self._suspects()]
        grown = self.tables()[0].grown()
        if grown:
            size = human_bytes(grown[0].bytes)
            lines.append(f"grew most: {grown[0].key}, by {size}")
        return lines

    def _side(self, number: int) -> str:
        totals = (self.old, self.new)[number]
        return (
            f"{self.names[number]} of {totals['exe']}, {totals['go_version']}"
        )

    def _programs(self) -> list[str]:
        if self.is_one_program():
            return [
                "     one process"
                if self.is_one_process
                else "     one program"
            ]
        if self.old["build_id"] and self.new["build_id"]:
            return [
                "     two programs (the build ids differ), compared by names"
            ]
        return ["     perhaps two programs (no build id), compared by names"]

    def _partial_lines(self, side: str) -> list[str]:
        reasons = [r for r in self.partial if r.startswith(side)]
        # One line has the side once.
        rest = [r.removeprefix(side) for r in reasons[1:]]
        return partial_lines(
            [*reasons[:1], *rest], "growth may be too small or too large"
        )

    def _heap(self) -> str:
        old, new = (_whole(side, "bytes") for side in (self.old, self.new))
        parts = ""
        if self.has_c():
            growth = self.growth("bytes")
            parts = f"; {in_parts(growth, self.growth_in_c('bytes'))}"
        objects = (_whole(side, "objects") for side in (self.old, self.new))
        return (
            f"reached: {_sizes_and_growth(old, new, parts)}; "
            f"{_numbers_and_growth(*objects, 'object')}"
        )

    def _leaked_lines(self) -> list[str]:
        """Blocks of C that nothing holds are no part of what is reached."""
        growth = self.growth_of_leaked("bytes")
        if not growth:
            return []
        is_partial = any(side.get("missing_c_bytes") for side in self.totals)
        seen = "in what could be read, " if is_partial else ""
        bytes_ = (side["leaked_c_bytes"] for side in self.totals)
        blocks = (side["leaked_c_objects"] for side in self.totals)
        line = (
            f"{seen}C blocks that nothing holds: "
            f"{_sizes_and_growth(*bytes_)}; "
            f"{_numbers_and_growth(*blocks, 'block')}"
        )
        return [styled(line, "warn" if growth > 0 else "good")]

    def _goroutines(self) -> str:
        old, new = self.old["goroutines"], self.new["goroutines"]
        return f"goroutines: {old:,} -> {new:,} ({signed(new - old)})"

    def _large(self, one: Table) -> tuple[Table, str]:
        """The table without small changes of waste, unless an option asks for
        them, and a note for its title."""
        if one.by != "waste" or self.by or self.top is not None:
            return one, ""
        whole = max(side["bytes"] for side in self.totals)
        rows = [r for r in one.rows if 100 * abs(r.bytes) >= whole]
        left_out = len(one.rows) - len(rows)
        if not left_out:
            return one, ""
        words = f"; {left_out:,} below 1 % of the heap left out"
        return one._replace(rows=tuple(rows)), words

    def _rows(self, one: Table) -> tuple[list[Row], list[Row]]:
        """Those that are printed: grown ones first, then shrunk ones."""
        limit = self.top
        if limit is None:
            limit = _TOP_OF_ONE if self.by else _TOP
        grown, shrunk = one.grown(), one.shrunk()
        if not limit:
            return grown, shrunk
        # Rows that shrank have a third of the room, and more if there is some.
        left = min(len(shrunk), max(limit // 3, limit - len(grown)))
        return grown[: limit - left], shrunk[:left]

    def _table(self, one: Table) -> list[str]:
        name = _NAMES[one.by]
        grown, shrunk = one.grown(), one.shrunk()
        if one.by == "path":
            # Nobody could tell rows apart that differ in what is cut.
            one = one._replace(rows=tuple(alike(one.rows, shortened)))
        note = self.note(one.by)
        note = f" ({note})" if note else ""
        if not self.knows(one.by):
            return ["", f"By {name}: not known{note}"]
        if not one.rows:
            return ["", f"By {name}: no difference{note}"]
        one, small = self._large(one)
        rows = [row for part in self._rows(one) for row in part]
        counts = f"{len(grown):,} grew, {len(shrunk):,} shrank{small}"
        lines = ["", title(f"By {name}: {counts}{note}")]
        if not rows:
            return lines
        cells = [self._head(one, name), *(self._cells(one, r) for r in rows)]
        return [*lines, *table(cells, left=[len(cells[0]) - 1], has_head=True)]

    def knows(self, by: str) -> bool:
        """False: the rows of a table are not known."""
        return knows(by, *self.totals)

    def note(self, by: str) -> str | None:
        """The note that a table needs; None: none."""
        if by == "site":
            notes = [self.old["site_note"], self.new["site_note"]]
            notes += ["Go alone"] * (self.has_c() and self.knows(by))
            return "; ".join(dict.fromkeys(notes))
        if by == "waste":
            left_out = checks_left_out(self.old, self.new)
            notes = [side.get("no_waste") for side in self.totals]
            if left_out:
                notes.append(f"without {', '.join(left_out)}: no values")
            return "; ".join(dict.fromkeys(filter(None, notes))) or None
        cut = max(self.old["folded_bytes"], self.new["folded_bytes"])
        notes = ["Go alone"] if by == "path" and self.has_c() else []
        if by == "path" and cut:
            notes.append(
                f"there are too many: up to {human_bytes(cut)} are counted on "
                "the paths above"
            )
        return "; ".join(notes) or None

    def _head(self, one: Table, name: str) -> list[str]:
        in_c = ["in C"] if self._has_parts(one) else []
        head = ["growth", *in_c, "objects", "old", "new"]
        if one.is_exact:
            head += ["retained", *in_c]
        if one.by == "goroutine":
            head += ["number", "stacks"]
        return [*head, name]

    def _has_parts(self, one: Table) -> bool:
        """Do the rows of a table have parts in Go and in C?"""
        return self.has_c() and one.by not in (*_GO_ALONE, "holder")

    def _cells(self, one: Table, row: Row) -> list[str]:
        has_parts = self._has_parts(one)
        cells = [
            styled(signed_bytes(row.bytes), _direction(row.bytes)),
            *([_in_c(row.old.c_bytes, row.new.c_bytes)] * has_parts),
            signed(row.objects),
            human_bytes(row.old.bytes),
            human_bytes(row.new.bytes),
        ]
        if one.is_exact:
            cells.append(_retained(row))
            sides = row.old.retained_c_bytes, row.new.retained_c_bytes
            cells += [_in_c(*sides)] * has_parts
        if one.by == "goroutine":
            cells += [signed(row.goroutines), signed_bytes(row.stack_bytes)]
        return [*cells, _site(row.key) if one.by == "site" else row.key]

    def _suspects(self) -> list[str]:
        changes = self.found.suspects
        return [
            f"{_word(change)} suspect: {change.name} ({_sizes(change)})"
            + (
                f", where: {change.where}"
                if change.where != change.name
                else ""
            )
            for change in changes
        ]

    def _survivors(self) -> list[str]:
        if not self.survivors_wanted:
            return []
        if self.survivors is None:
            return [
                "",
                "no survivors: it is not certain that both are of one process",
            ]
        return self._survivors_of(self.survivors)

    def _survivors_of(self, found: Survivors) -> list[str]:
        both, old, new = (
            c.total() for c in (found.both, found.old, found.new)
        )
        most, least = ("", "") if found.is_exact else ("at most ", "at least ")
        between = "no collection" if found.is_exact else "a collection"
        lines = [
            "",
            f"survivors ({between} has run between): {most}{both:,} of {old:,} "
            f"old objects; {least}{new - both:,} of {new:,} are new",
        ]
        types = sorted(
            {*found.old, *found.new},
            key=lambda t: (found.both[t] - found.new[t], t),
        )
        cells = [
            ["old", f"{most}surviving", f"{least}new", "type"],
        ]
        for type_ in types[: (_TOP if self.top is None else self.top) or None]:
            kept = found.both[type_]
            since = found.new[type_] - kept
            cells.append(
                [f"{found.old[type_]:,}", f"{kept:,}", f"{since:,}", type_]
            )
        return [*lines, *table(cells, left=[3], has_head=True)]

    # ------------------------------------------------------------------ JSON

    def body(self) -> Document:
        return {
            "old": self._document(0),
            "new": self._document(1),
            "one_program": self.is_one_program(),
            "one_process": self.is_one_process,
            "growth_objects": self.new["objects"] - self.old["objects"],
            "growth_bytes": self.new["bytes"] - self.old["bytes"],
            "growth_c_objects": self.growth_in_c("objects"),
            "growth_c_bytes": self.growth_in_c("bytes"),
            "growth_leaked_c_objects": self.growth_of_leaked("objects"),
            "growth_leaked_c_bytes": self.growth_of_leaked("bytes"),
            "by": {one.by: self._table_document(one) for one in self.tables()},
            "suspects": [
                _suspect_document(change) for change in self.found.suspects
            ],
            "survivors": self._survivors_document(),
        }

    def _document(self, number: int) -> Document:
        totals = (self.old, self.new)[number]
        keys = (
            "exe",
            "build_id",
            "go_version",
            "goroutines",
            "objects",
            "bytes",
            "partial",
        )
        in_c = {k: totals.get(k, 0) for k in _IN_C}
        found = {k: totals[k] for k in keys}
        return {"source": self.names[number], **found, **in_c}

    def _table_document(self, one: Table) -> Document:
        return {
            "known": self.knows(one.by),
            "grew": len(one.grown()),
            "shrank": len(one.shrunk()),
            "retained_is_exact": one.is_exact,
            "note": self.note(one.by),
            "rows": [
                row_document(row) for row in one.rows[: self.top or None]
            ],
        }

    def _survivors_document(self) -> Document | None:
        found = self.survivors
        if found is None:
            return None
        return {
            "exact": found.is_exact,
            "objects": found.both.total(),
            "old_objects": found.old.total(),
            "new_objects": found.new.total(),
            "types": [
                {
                    "type": type_,
                    "old_objects": found.old[type_],
                    "new_objects": found.new[type_],
                    "objects": found.both[type_],
                }
                for type_ in sorted({*found.old, *found.new})
            ],
        }


def _sizes_and_growth(old: int, new: int, more: str = "") -> str:
    """`1.0 MiB -> 1.5 MiB (+512.0 KiB, +50.0 %)'. more: behind the share."""
    growth = new - old
    share = ""
    if old:
        sign = "-" if growth < 0 else "+"
        share = f", {sign}{percent(abs(growth), old)}"
    return (
        f"{human_bytes(old)} -> {human_bytes(new)} "
        f"({signed_bytes(growth)}{share}{more})"
    )


def _numbers_and_growth(old: int, new: int, what: str) -> str:
    return f"{old:,} -> {counted(new, what)} ({signed(new - old)})"


def _retained(row: Row) -> str:
    """A cell that is empty if the growth is not known."""
    if None in (row.old.retained_bytes, row.new.retained_bytes):
        return ""
    return signed_bytes(row.retained_bytes)


def _in_c(old: int, new: int) -> str:
    """A cell for the part in C, which is empty if there is none."""
    return signed_bytes(new - old) if old or new else ""


def _amount_document(amount: Amount) -> Document:
    """Sizes are those of Go, and beside them those of C."""
    retained = amount.retained_bytes
    in_c = None if retained is None else amount.retained_c_bytes
    return {
        "objects": amount.objects,
        "bytes": amount.bytes - amount.c_bytes,
        "c_bytes": amount.c_bytes,
        **apart(retained, in_c, "retained"),
        "goroutines": amount.goroutines,
        "stack_bytes": amount.stack_bytes,
    }


def _suspect_document(change: SuspectChange) -> Document:
    return {
        "kind": change.kind,
        "name": change.name,
        "where": change.where,
        **apart(change.old_bytes, change.old_c_bytes, "old"),
        **apart(change.new_bytes, change.new_c_bytes, "new"),
        "change": _word(change).lower(),
    }


def row_document(row: Row) -> Document:
    return {
        "key": row.key,
        "growth_objects": row.objects,
        "growth_bytes": row.bytes - row.c_bytes,
        "growth_c_bytes": row.c_bytes,
        "old": _amount_document(row.old),
        "new": _amount_document(row.new),
    }


def _word(change: SuspectChange) -> str:
    if change.old_bytes is None:
        return "New"
    return "Vanished" if change.new_bytes is None else "Remaining"


def _sizes(change: SuspectChange) -> str:
    old, new = change.old_bytes, change.new_bytes
    sides = change.old_c_bytes or 0, change.new_c_bytes or 0
    if old is None or new is None:
        return both(old or new or 0, sum(sides))
    text = f"{human_bytes(old)} -> {human_bytes(new)}, "
    text += signed_bytes(new - old)
    if any(sides):
        text += f"; {in_parts(new - old, sides[1] - sides[0])}"
    return text

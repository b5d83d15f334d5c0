# SPDX-License-Identifier: Apache-2.0
"""The difference of the totals of two heaps. Pure: never imports gdb."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# Tables in the order in which they are printed.
KEYS = (
    "type",
    "root",
    "path",
    "site",
    "package",
    "goroutine",
    "holder",
    "waste",
)
BETWEEN = " -> "  # the steps of a path
# Whose retained bytes are exact, so that a difference means something.
EXACT = ("root", "goroutine")

# Roots of C that are named by a thread, a goroutine or an address, which two
# processes do not share, and what all of them are called together.
_OF_ONE_PROCESS = re.compile(
    r"(?:(C stack|registers|memory) of thread \d+"
    r"|(frames) of goroutine \d+"
    r"|(C stack|C thread|C memory|unchecked arena) at 0x[0-9a-f]+)"
)
_TOGETHER = {
    "C stack": "C stacks of threads",
    "registers": "registers of threads",
    "C thread": "memory of threads in C",
    "memory": "memory of threads in C",
    "frames": "frames of goroutines",
    "C memory": "C memory outside of allocators",
    "unchecked arena": "unchecked arenas",
}


class Amount(NamedTuple):
    """One side of a row. retained_bytes: None: not known. c_bytes,
    retained_c_bytes: the parts in blocks of C."""

    objects: int = 0
    bytes: int = 0
    retained_bytes: int | None = None
    goroutines: int = 0
    stack_bytes: int = 0
    c_bytes: int = 0
    retained_c_bytes: int = 0


class Row(NamedTuple):
    """A key on both sides."""

    key: str
    old: Amount
    new: Amount

    @property
    def bytes(self) -> int:
        """The growth."""
        return self.new.bytes - self.old.bytes

    @property
    def objects(self) -> int:
        return self.new.objects - self.old.objects

    @property
    def goroutines(self) -> int:
        return self.new.goroutines - self.old.goroutines

    @property
    def stack_bytes(self) -> int:
        return self.new.stack_bytes - self.old.stack_bytes

    @property
    def retained_bytes(self) -> int:
        old, new = self.old.retained_bytes, self.new.retained_bytes
        return 0 if old is None or new is None else new - old

    @property
    def c_bytes(self) -> int:
        """The part of the growth in blocks of C."""
        return self.new.c_bytes - self.old.c_bytes

    @property
    def retained_c_bytes(self) -> int:
        return self.new.retained_c_bytes - self.old.retained_c_bytes

    def reaches(self, min_bytes: int) -> bool:
        """Has it grown or shrunk by so much?"""
        return max(abs(self.bytes), abs(self.retained_bytes)) >= min_bytes


class Table(NamedTuple):
    """The rows that differ, what grew most first."""

    by: str
    rows: tuple[Row, ...]

    @property
    def is_exact(self) -> bool:
        """Are its retained bytes exact?"""
        return self.by in EXACT

    def grown(self) -> list[Row]:
        return [row for row in self.rows if _rank(row) < _NOTHING]

    def shrunk(self) -> list[Row]:
        """Rows that shrank, the largest loss first."""
        return [row for row in reversed(self.rows) if _rank(row) > _NOTHING]


class SuspectChange(NamedTuple):
    """A suspect of either side. Bytes: what it retains, and the part of it in
    blocks of C; None: it is none there."""

    kind: str
    name: str
    where: str
    old_bytes: int | None
    new_bytes: int | None
    old_c_bytes: int | None = None
    new_c_bytes: int | None = None


class Difference(NamedTuple):
    """The difference between two documents of totals."""

    tables: Mapping[str, Table]
    suspects: tuple[SuspectChange, ...]
    """Those with the greatest growth first."""


_NOTHING = (0, 0, 0, 0)


def _rank(row: Row) -> tuple[int, int, int, int]:
    """The key to sort by: the row that grew most comes first."""
    return (
        -row.bytes,
        -row.objects,
        -row.retained_bytes,
        -row.goroutines,
    )


def merged(
    rows: Sequence[Row], name: Callable[[str], str]
) -> list[tuple[Row, list[Row]]]:
    """One row for those whose keys have the same name, which is its key: their
    sum, and what they are. What grew most comes first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(name(row.key), []).append(row)
    sums = [
        (
            Row(
                key,
                _sum(row.old for row in group),
                _sum(row.new for row in group),
            ),
            group,
        )
        for key, group in groups.items()
    ]
    return sorted(sums, key=lambda found: _rank(found[0]))


def alike(rows: Sequence[Row], name: Callable[[str], str]) -> list[Row]:
    """The rows with one for those whose keys have the same name, whose key
    says how many they are."""
    return [
        row
        if len(group) == 1
        else row._replace(key=f"{row.key}  ({len(group):,} paths)")
        for row, group in merged(rows, name)
    ]


def _sum(amounts: Iterable[Amount]) -> Amount:
    every = list(amounts)
    return Amount(
        objects=sum(amount.objects for amount in every),
        bytes=sum(amount.bytes for amount in every),
        c_bytes=sum(amount.c_bytes for amount in every),
    )


def _amount(row: Mapping[str, Any]) -> Amount:
    return Amount(
        row["objects"],
        row["bytes"],
        row.get("retained_bytes"),
        row.get("goroutines", 0),
        row.get("stack_bytes", 0),
        row.get("c_bytes", 0),
        row.get("retained_c_bytes") or 0,
    )


def table(
    by: str,
    old: Mapping[str, Amount],
    new: Mapping[str, Amount],
    min_bytes: int = 0,
) -> Table:
    """Compare the amounts of all keys."""
    unknown = by in ("path", "site", "holder", "waste")
    nothing = Amount(retained_bytes=None if unknown else 0)
    rows = (
        Row(key, old.get(key, nothing), new.get(key, nothing))
        for key in {**old, **new}
    )
    changed = [
        row for row in rows if _differs(by, row) and row.reaches(min_bytes)
    ]
    return Table(by, tuple(sorted(changed, key=lambda r: (_rank(r), r.key))))


def _differs(by: str, row: Row) -> bool:
    if row.bytes or row.objects or row.goroutines or row.stack_bytes:
        return True
    if row.c_bytes:
        return True
    return by in EXACT and bool(row.retained_bytes)


def amounts(
    rows: Iterable[Mapping[str, Any]], is_one_process: bool = True
) -> dict[str, Amount]:
    """The amounts by key. Roots that only one process has by that name count
    together, unless both sides are of one process. The sum of what each of
    them retains is not what they retain together."""
    groups: dict[str, list[Amount]] = {}
    for row in rows:
        key = row["key"] if is_one_process else _general(row["key"])
        groups.setdefault(key, []).append(_amount(row))
    return {
        key: group[0] if len(group) == 1 else _sum(group)
        for key, group in groups.items()
    }


def _general(key: str) -> str:
    found = _OF_ONE_PROCESS.fullmatch(key)
    return _TOGETHER[found[found.lastindex or 0]] if found else key


def _suspects(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> tuple[SuspectChange, ...]:
    def sizes(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
        return {
            (r["kind"], r["name"], r["where"]): (
                r["retained_bytes"],
                r.get("retained_c_bytes", 0),
            )
            for r in rows
        }

    before, after = sizes(old), sizes(new)
    none = (None, None)
    found = []
    for key in {**before, **after}:
        whole, in_c = zip(before.get(key, none), after.get(key, none))
        found.append(SuspectChange(*key, *whole, *in_c))
    return tuple(
        sorted(
            found,
            key=lambda s: (
                (s.old_bytes or 0) - (s.new_bytes or 0),
                s.name,
                s.where,
                s.kind,
            ),
        )
    )


def knows_sites(*totals: Mapping[str, Any]) -> bool:
    """Has the runtime of all of them sampled allocations?"""
    return all(side.get("knows_sites", True) for side in totals)


def knows(by: str, *totals: Mapping[str, Any]) -> bool:
    """Are the rows of a table known on all sides?"""
    if by == "waste":
        return not any(side.get("no_waste") for side in totals)
    return by != "site" or knows_sites(*totals)


def checks_left_out(*totals: Mapping[str, Any]) -> list[str]:
    """The checks of waste that at least one side could not make, because it
    has no values."""
    every = (check for side in totals for check in side.get("unmade", ()))
    return list(dict.fromkeys(every))


def compare(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    paths: tuple[Mapping[str, Amount], Mapping[str, Amount]],
    min_bytes: int = 0,
    is_one_process: bool = False,
) -> Difference:
    """Compare two documents of totals, and the paths of both trees."""
    tables = {}
    for by in KEYS:
        if by == "path":
            before, after = paths
        elif not knows(by, old, new):
            before, after = {}, {}
        else:
            left_out = checks_left_out(old, new) if by == "waste" else ()
            before, after = (
                amounts(
                    (
                        row
                        for row in side["tables"].get(by, ())
                        if row["key"] not in left_out
                    ),
                    is_one_process,
                )
                for side in (old, new)
            )
        tables[by] = table(by, before, after, min_bytes)
    return Difference(tables, _suspects(old["suspects"], new["suspects"]))

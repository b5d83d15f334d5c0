# SPDX-License-Identifier: Apache-2.0
"""goref scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .dominators import kept_lines
from .ledger import (
    gaps_document,
    ledger_lines,
    phases_document,
    reached_document,
    timing_line,
    total_document,
)
from .report import BOTH, LOWER_BOUNDS, Report, fields_of, partial_lines
from .sites import sites_note
from .style import styled
from .table import of_how_many, table
from .target import headline, target_document
from .units import BYTES, Unit, counted, human_bytes, percent, unit_of

if TYPE_CHECKING:
    from .._goref import (
        Dominators,
        Info,
        Ledger,
        ProfileStats,
        RootTotal,
        Sampling,
        TypeTotal,
    )
    from .report import Document

TOP = 10


class ScanReport(Report):
    """The roots and the types that hold most of the heap.

    top: rows of each table, 0: all; not given: TOP of text, all of JSON.
    places: what a person typed: only what these hold.
    out: the file of a profile that was written; profile: what is in it;
    sampling: the samples that it is made of, None: it has all objects.
    retained: what each of roots alone keeps alive; none: not known.
    with_retained: a person asked for these.
    kept: what keeps most alive; None: not known.
    weight: the unit of all sizes.
    elapsed_us: the time of the command so far.
    graph_us: what the object graph took, if there is one."""

    info: Info
    ledger: Ledger
    roots: Sequence[RootTotal]
    types: Sequence[TypeTotal]
    top: int | None = None
    places: Sequence[str] = ()
    attribution: str = "nearest"
    out: str | None = None
    profile: ProfileStats | None = None
    sampling: Sampling | None = None
    format: str = "pprof"
    warnings: Sequence[str] = ()
    retained: Sequence[int | None] = ()
    with_retained: bool = False
    kept: Dominators | None = None
    weight: str = "bytes"
    elapsed_us: int = 0
    graph_us: int = 0

    def __post_init__(self) -> None:
        self.unit = unit_of(self.weight)
        unknown = [None] * (len(self.roots) - len(self.retained))
        self.retained = [*self.retained, *unknown]

    def lines(self) -> list[str]:
        known = any(size is not None for size in self.retained)
        lines = [
            *headline(self.info),
            *partial_lines(self.partial, BOTH if known else LOWER_BOUNDS),
        ]
        if self.places:
            # Each once, as it was asked for first.
            lines.append("held by: " + ", ".join(dict.fromkeys(self.places)))
        if self.attribution != "nearest":
            lines.append(f"billed to the {self.attribution} root")
        lines += ["", *ledger_lines(self.ledger, self.unit)]
        lines += kept_lines(self.kept, self.unit) if self.kept else []
        roots = merged_roots(self.roots, self.retained)
        lines += self._rankings("roots", roots, "billed")
        lines += self._shared_lines()
        lines += self._rankings(
            "types", [Ranked(t.type, *t.total) for t in self.types]
        )
        lines.append("")
        if self.out is not None and self.profile is not None:
            lines.append(
                _profile_line(self.out, self.profile, self.format, self.unit)
            )
            lines += self._sampling_lines(self.profile)
        phases, peak = self.ledger.phases_us, self.ledger.peak_private_bytes
        return [
            *lines,
            timing_line(self.elapsed_us, phases, self.graph_us, peak),
        ]

    def _sampling_lines(self, profile: ProfileStats) -> list[str]:
        """The objects that samples stand for, or why there are none."""
        if self.sampling is None:
            return []
        about = "about " if self.sampling.rate > 1 else ""
        return [
            f"  it has {counted(self.sampling.objects, 'sampled object')}, "
            f"which stand for {about}{profile.total.objects:,}, {about}"
            f"{human_bytes(profile.total.bytes)}",
            f"  {sites_note(self.sampling)}",
        ]

    def _count(self, rows: Sequence[Ranked]) -> int:
        """Rows of a table."""
        return (TOP if self.top is None else self.top) or len(rows)

    def _shared_lines(self) -> list[str]:
        """How much of what is billed to the top roots others hold, too."""
        rows = merged_roots(self.roots, self.retained)
        rows = [row for row in rows if row.objects]
        known = [
            row
            for row in rows[: self._count(rows)]
            if row.retained is not None
        ]
        if not known and self.with_retained:
            return ["  no retained sizes: the walk is not complete"]
        if not known:
            return ["  what each root alone keeps alive: scan --retained"]
        billed = sum(row.bytes for row in known)
        alone = sum(row.retained or 0 for row in known)
        return [
            f"  of {self.unit.text(billed)} billed to these, "
            f"{self.unit.text(max(billed - alone, 0))} are held by others, too"
        ]

    def _rankings(
        self, what: str, rows: Sequence[Ranked], size: str | None = None
    ) -> list[str]:
        """Two tables. size: what sizes are, if they are no plain sizes."""
        unit = self.unit
        heads = unit.head if size is None else unit.column(size)
        whole = self.ledger.reached.bytes
        rows = [row for row in rows if row.objects]
        shown = self._count(rows)
        by_bytes = rows[:shown]
        by_objects = sorted(rows, key=_by_objects)[:shown]
        more = of_how_many(len(by_bytes), len(rows))
        if by_bytes == by_objects:
            title = f"Top {what} by {unit.name} and by objects{more}"
            return ranking(title, by_bytes, whole, heads, unit)
        title = f"Top {what} by {unit.name}{more}"
        return [
            *ranking(title, by_bytes, whole, heads, unit),
            *ranking(
                f"Top {what} by objects{more}", by_objects, whole, heads, unit
            ),
        ]

    def _sites(self) -> Document | None:
        """The samples of the profile, with the keys of a histogram by
        site."""
        if self.sampling is None or self.profile is None:
            return None
        return {
            **total_document(self.profile.total),
            "estimated": self.sampling.rate != 1,
            "sample_rate_bytes": self.sampling.rate,
            "sampled_objects": self.sampling.objects,
            "notes": [sites_note(self.sampling)],
        }

    def body(self) -> Document:
        allocated = self.ledger.allocated
        return {
            **target_document(self.info),
            "attribution": self.attribution,
            "weight": self.weight,
            "unit": self.unit.name,
            "heap": {
                "allocated_objects": allocated.objects,
                "allocated_bytes": allocated.bytes,
            },
            "reached": reached_document(self.ledger),
            "unreached": total_document(self.ledger.unreached),
            "folded": total_document(self.ledger.folded),
            "gaps": gaps_document(self.ledger.gaps),
            "roots": [
                root_document(root, retained if self.with_retained else None)
                for root, retained in zip(
                    self.roots[: self.top or None], self.retained
                )
            ],
            "types": [
                {"type": type_, **total_document(total)}
                for type_, total in self.types[: self.top or None]
            ],
            "phases_ms": phases_document(self.ledger.phases_us),
            "peak_private_bytes": self.ledger.peak_private_bytes,
            "out": self.out,
            "sites": self._sites(),
            "warnings": list(self.warnings),
        }


class Ranked(NamedTuple):
    """A row of a ranking."""

    name: str
    objects: int
    bytes: int
    retained: int | None = None


def _by_bytes(row: Ranked) -> tuple[int, int, str]:
    return (-row.bytes, -row.objects, row.name)


def _by_objects(row: Ranked) -> tuple[int, int, str]:
    return (-row.objects, -row.bytes, row.name)


def ranking(
    title: str,
    rows: Sequence[Ranked],
    whole: int,
    size: str = "size",
    unit: Unit = BYTES,
) -> list[str]:
    """A table. size: the head of the sizes; retained ones have a column if any
    is known."""
    heads = [size, "share", "objects", ""]
    cells = [
        [
            unit.cell(row.bytes),
            percent(row.bytes, whole),
            f"{row.objects:,}",
            row.name,
        ]
        for row in rows
    ]
    if any(row.retained is not None for row in rows):
        heads.insert(2, unit.column("retained"))
        for line, row in zip(cells, rows):
            known = row.retained is not None
            line.insert(2, unit.cell(row.retained or 0) if known else "")
    return [
        "",
        styled(title, "title"),
        *table([heads, *cells], left=[len(heads) - 1], has_head=True),
    ]


def merged_roots(
    roots: Sequence[RootTotal], retained: Sequence[int | None] = ()
) -> list[Ranked]:
    """Roots of one name are one row: a local of a thousand goroutines.
    retained: of each root, as far as it is known."""
    same: dict[tuple[str, ...], list[int]] = {}
    for i, root in enumerate(roots):
        words: list[str] = [root.kind]
        if root.goroutine_id is not None:
            words.append(f"goroutine {root.goroutine_id}")
        if root.goroutine_state:
            words.append(root.goroutine_state)
        same.setdefault((root.name, *words), []).append(i)
    rows = []
    for (name, *words), group in same.items():
        first = roots[group[0]]
        if len(group) > 1:
            words.append(f"{len(group):,} times")
        elif first.type:
            words.append(first.type)
        alone = [retained[i] for i in group if i < len(retained)]
        known = [size for size in alone if size is not None]
        rows.append(
            Ranked(
                f"{name}  ({', '.join(words)})",
                sum(roots[i].total.objects for i in group),
                sum(roots[i].total.bytes for i in group),
                sum(known) if len(known) == len(group) else None,
            )
        )
    return sorted(rows, key=_by_bytes)


_OPENED_WITH = {
    "pprof": "go tool pprof {0}",
    "folded": "flamegraph.pl --countname {1} {0} > graph.svg",
    "dot": "dot -Tsvg -O {0}",
}


def _profile_line(
    out: str, profile: ProfileStats, format_: str, unit: Unit
) -> str:
    note = f", {profile.folded:,} small ones folded" if profile.folded else ""
    line = f"profile: {out} ({counted(profile.samples, 'path')}{note})"
    how = _OPENED_WITH.get(format_)
    if how:
        line += f"; open it with: {how.format(out, unit.name)}"
    return line


def root_document(root: RootTotal, retained: int | None = None) -> Document:
    """retained: what it alone keeps alive, if that is known."""
    document: Document = {
        **fields_of(root, "name kind type"),
        **total_document(root.total),
    }
    if retained is not None:
        document["retained_bytes"] = retained
    if root.goroutine_state:
        document["goroutine_state"] = root.goroutine_state
    if root.goroutine_id is not None:
        document["goroutine_id"] = root.goroutine_id
    return document

# SPDX-License-Identifier: Apache-2.0
"""goref suspects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .command import command, operand
from .report import UNCERTAIN, TopReport, fields_of, partial_lines
from .sizes import apart, both, c_part, parts, sizes_of
from .style import joined, styled, title
from .table import table
from .units import BYTES, Unit, counted, human_bytes, percent, unit_of

if TYPE_CHECKING:
    from .._goref import (
        Suspect,
        SuspectContent,
        SuspectHop,
        Suspects,
        Vertex,
    )
    from .report import Document

TOP = 3  # suspects as text, so that they fit on one screen
_CONTENTS = 4  # types of what accumulates, as text
_HOPS = 8  # of a path, as text
_TOUCHED = 90  # percent; that less is resident is worth a word in one line


class SuspectsReport(TopReport["Suspects"]):
    """The few holders that keep most of the heap alive.

    weight: the unit of all sizes."""

    weight: str = "bytes"

    def __post_init__(self) -> None:
        self.unit = unit_of(self.weight)

    def over(self, limit: int | None) -> str:
        """Who retains more, suspect or not; without a limit: nobody."""
        found = self.found
        if not limit or found.largest_bytes <= limit:
            return ""
        return "a suspect" if found.suspects else found.largest_name or ""

    def lines(self) -> list[str]:
        found = self.found
        top = TOP if self.top is None else self.top
        shown = found.suspects[: top or None]
        lines = [
            styled(
                suspects_line(found, bool(self.partial), self.unit),
                "warn" if found.suspects else "title",
            ),
            *partial_lines(self.partial, UNCERTAIN),
        ]
        for number, suspect in enumerate(shown, 1):
            name = _title(suspect, found.reached_bytes, self.unit)
            lines += ["", title(f"{number}. {name}")]
            lines += _details(suspect, found.residency, self.how, self.unit)
        left = len(found.suspects) - len(shown)
        if left:
            lines += ["", f"and {left:,} more (--top 0 shows all)"]
        return lines

    def body(self) -> Document:
        found = self.found
        return {
            "weight": self.weight,
            "unit": self.unit.name,
            **sizes_of(found, "reached"),
            "min_bytes": found.min_bytes,
            **sizes_of(found, "runtime"),
            "residency": found.residency,
            "largest": {
                "name": found.largest_name,
                **apart(
                    found.largest_bytes, found.largest_c_bytes, "retained"
                ),
            },
            "suspects": [
                _document(suspect, self.how, self.unit)
                for suspect in found.suspects[: self.top or None]
            ],
        }


def suspects_line(
    found: Suspects, is_partial: bool = False, unit: Unit = BYTES
) -> str:
    """How many there are, or why there is none: one line."""
    if not found.reached_bytes:
        return "suspects are not known: no object of the heap was reached"
    if found.suspects:
        held = sum(suspect.retained_bytes for suspect in found.suspects)
        in_c = sum(suspect.retained_c_bytes for suspect in found.suspects)
        share = percent(held, found.reached_bytes)
        verb = "holds" if len(found.suspects) == 1 else "hold"
        return (
            f"{counted(len(found.suspects), 'suspect')} {verb} "
            f"{both(held, in_c, unit)}, {share} of what is reached"
        )
    share = percent(found.min_bytes, found.reached_bytes)
    where = " in what could be read" if is_partial else ""
    size = unit.text(found.min_bytes)
    line = f"no suspect{where}: nothing holds {size} or more"
    if found.min_bytes <= found.reached_bytes:
        line += f" ({share} of what is reached)"
    if found.largest_name:
        size = both(found.largest_bytes, found.largest_c_bytes, unit)
        line += f"; {found.largest_name} holds most: {size}"
    return line


def overview_line(found: Suspects, is_partial: bool = False) -> str:
    """The first suspect, and how many more there are."""
    if not found.suspects:
        return suspects_line(found, is_partial)
    first = found.suspects[0]
    line = f"suspect: {_title(first, found.reached_bytes)}"
    sizes = first.resident_bytes, first.retained_bytes
    line += untouched_text(*sizes, found.residency)
    if first.kind != "goroutines" and first.accumulation_point != first.name:
        line += f", where: {first.accumulation_point}"
    left = len(found.suspects) - 1
    return f"{line}; and {left:,} more" if left else line


def _subject(suspect: Suspect) -> str:
    if suspect.kind == "goroutines":
        return f"{suspect.objects:,} goroutines of {suspect.name} hold"
    if suspect.objects > 1:
        return f"{suspect.objects:,} {suspect.name} together hold"
    return f"{suspect.name} holds"


def _title(suspect: Suspect, reached_bytes: int, unit: Unit = BYTES) -> str:
    sizes = suspect.retained_bytes, suspect.retained_c_bytes
    share = percent(sizes[0], reached_bytes)
    if suspect.retained_c_bytes:
        share += f"; {parts(*sizes)}"
    return f"{_subject(suspect)} {unit.text(sizes[0])} ({share})"


def resident_text(
    resident_bytes: int | None, retained_bytes: int, residency: str
) -> str:
    """How much of what a suspect retains is resident, if that is known. The
    pages of a core may be a few more than were resident."""
    if resident_bytes is None:
        return ""
    most = "at most " if residency == "anonymous" else ""
    share = percent(resident_bytes, retained_bytes)
    return f"{most}{human_bytes(resident_bytes)} of it resident ({share})"


def untouched_text(
    resident_bytes: int | None, retained_bytes: int, residency: str
) -> str:
    """The same for a line that has other things to say: if it is less than
    nearly all."""
    if (resident_bytes or 0) * 100 >= retained_bytes * _TOUCHED:
        return ""
    text = resident_text(resident_bytes, retained_bytes, residency)
    return f", {text}" if text else ""


def _details(
    suspect: Suspect, residency: str, how: str, unit: Unit
) -> list[str]:
    sizes = suspect.resident_bytes, suspect.retained_bytes
    memory = resident_text(*sizes, residency)
    closer = commands(suspect, how, unit)
    sections = [
        ("where", [_where(suspect)]),
        ("memory", [memory] if memory else []),
        ("what", _contents(suspect, unit)),
        ("path", _path(suspect)),
        ("closer", [styled(c, "command") for c in closer]),
    ]
    lines = []
    for name, texts in sections:
        for i, text in enumerate(texts):
            begin = f"   {'' if i else name:8}"
            lines.append(joined([begin, text]))
    return lines


def _where(suspect: Suspect) -> str:
    text = suspect.accumulation_point
    if suspect.is_chain:
        text = f"a list that begins with {text}"
    if suspect.kind == "goroutines":
        return f"{text}, created by {suspect.created_by or 'the runtime'}"
    return text + _at(suspect.at)


def _at(vertex: Vertex) -> str:
    return "" if vertex.addr is None else f" at {vertex.addr:#x}"


def _contents(suspect: Suspect, unit: Unit) -> list[str]:
    """The types of what accumulates, and the rest: they add up to what the
    suspect retains."""
    shown = suspect.contents[:_CONTENTS]
    rows = [
        [f"{c.objects:,}", c.type, unit.text(c.bytes), _parts_of(c)]
        for c in shown
    ]
    rest, rest_in_c = rest_sizes(suspect, _CONTENTS)
    if rows and rest > 0:
        left = len(suspect.contents) - len(shown)
        more = f" ({counted(left, 'more type')})" if left else ""
        rows.append(
            [
                "",
                f"the rest{more}",
                unit.text(rest),
                c_part(rest, rest_in_c).lstrip(),
            ]
        )
    if not any(row[-1] for row in rows):
        rows = [row[:-1] for row in rows]
    return [line.removeprefix("  ") for line in table(rows, left=[1, 3])]


def _parts_of(content: SuspectContent) -> str:
    return c_part(content.bytes, content.c_bytes).lstrip()


def rest_sizes(suspect: Suspect, top: int | None = None) -> tuple[int, int]:
    """The bytes that a suspect retains beside its first contents: further
    types, itself, and what leads to them; and the part of them in C."""
    shown = suspect.contents[:top]
    return (
        suspect.retained_bytes - sum(c.bytes for c in shown),
        suspect.retained_c_bytes - sum(c.c_bytes for c in shown),
    )


def _path(suspect: Suspect) -> list[str]:
    hops = suspect.hops
    lines = [_hop_text(hop) for hop in hops]
    left = suspect.hops_left_out
    if len(hops) > _HOPS:
        left += len(hops) - _HOPS
        lines[_HOPS // 2 : -_HOPS // 2] = []
    if left:
        lines.insert(len(lines) // 2, f"... {left:,} more ...")
    return [f"{'-> ' if i else ''}{line}" for i, line in enumerate(lines)]


def _hop_text(hop: SuspectHop) -> str:
    vertex = hop.vertex
    if vertex.kind == "object":
        step = f"{hop.step}: " if hop.step else ""
        size = "" if vertex.type else f" ({vertex.bytes:,} bytes)"
        return f"{step}{vertex.name}{size}{_at(vertex)}"
    if vertex.kind == "goroutine":
        return vertex.name
    kind = vertex.kind
    if vertex.goroutine_id is not None:
        kind += f", goroutine {vertex.goroutine_id}"
    return f"{vertex.name} ({kind})"


def commands(
    suspect: Suspect, how: str, unit: Unit = BYTES
) -> list[str]:
    """Commands that show more of it."""
    weight = [] if unit == BYTES else ["--weight", "pointers"]
    if suspect.kind == "goroutines":
        return _goroutine_commands(suspect, how)
    lines = []
    if suspect.kind == "objects" and suspect.holder.type:
        lines.append(command(how, "why", "--type", suspect.name))
    place, target = suspect.at, operand(suspect.at)
    if target is None:
        place, target = suspect.holder, operand(suspect.holder)
    if target is None:
        return lines or [command(how, "dominators", *weight)]
    paths = ["--paths", "3"] if place.kind == "object" else []
    return [
        *lines,
        command(how, "dominators", target, *weight),
        command(how, "why", target, *paths),
    ]


def _goroutine_commands(suspect: Suspect, how: str) -> list[str]:
    """Where they are, and what one of them has."""
    made = suspect.created_by
    which = ["--with", "goloc", made] if made else []
    commands = [command(how, "goroutines", *which, "--group", "userloc")]
    if suspect.holder.goroutine_id is not None:
        number = str(suspect.holder.goroutine_id)
        commands.append(command(how, "goroutine", number, "locals"))
    return commands


def _hop_document(hop: SuspectHop) -> Document:
    vertex = hop.vertex
    return {
        "name": hop.step.removeprefix(".") if hop.step else vertex.name,
        "kind": vertex.kind,
        "type": vertex.type,
        "address": _address(vertex),
        "bytes": vertex.bytes,
        **sizes_of(vertex, "retained"),
    }


def _address(vertex: Vertex) -> str | None:
    return None if vertex.addr is None else f"{vertex.addr:#x}"


def _document(suspect: Suspect, how: str, unit: Unit) -> Document:
    return {
        **fields_of(suspect, "name kind objects"),
        **sizes_of(suspect, "retained"),
        **fields_of(suspect, "resident_bytes accumulation_point"),
        "address": _address(suspect.at),
        "is_list": suspect.is_chain,
        "created_by": suspect.created_by,
        "path": [_hop_document(hop) for hop in suspect.hops],
        "path_left_out": suspect.hops_left_out,
        "accumulated": [
            {
                **fields_of(c, "type objects"),
                "bytes": c.bytes - c.c_bytes,
                "retained_c_bytes": c.c_bytes,
            }
            for c in suspect.contents
        ],
        **apart(*rest_sizes(suspect), "rest"),
        "next": commands(suspect, how, unit),
    }

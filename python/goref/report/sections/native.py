# SPDX-License-Identifier: Apache-2.0
"""The memory of C: arenas, blocks by holder and type, and blocks that nothing
holds; and Go objects that are kept for C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...render import kept_by_c
from ...render.native import GIVES_BACK, UNCACHED, place
from ...render.native_leaks import beside, content, text_of_words
from ...render.units import counted, human_bytes
from ..markup import code, el, empty, note, prose, section
from ..tables import Cell, Column, bytes_, name, number, share, table, text
from .parts import command, missing
from .stacked import Part, stacked

if TYPE_CHECKING:
    from ..markup import Element

_TITLE = "C memory"
_LEAD = (
    "The memory of C's allocators. A block is held if a path leads to it "
    "from live objects of Go, from their roots, or from data, stacks and "
    "threads of C; a block that nothing holds is leaked."
)


def is_shown(document: Mapping[str, Any]) -> bool:
    """Has the program C memory, or is that not known?"""
    if "native" in document["missing"]:
        return True
    return document.get("native") is not None


def native(document: Mapping[str, Any]) -> Element:
    found = document.get("native")
    if found is None:
        reason = missing(document, "native", "the memory of C")
        return section("native", _TITLE, _LEAD, reason)
    if not found["allocators"]:
        line = found["nothing"]
        text_ = f"{line[:1].upper()}{line[1:]}."
        return section("native", _TITLE, _LEAD, empty(text_), _kept(found))
    return section(
        "native",
        _TITLE,
        _LEAD,
        [_allocator(document, i) for i in range(len(found["allocators"]))],
        command(f"{document['command']} native"),
        el("h3", {"id": "native-leaks"}, "Blocks that nothing holds"),
        _leaks(document),
        el("h3", None, "Blocks by holder"),
        note(
            "The field or variable that leads to them, or to a block that "
            "does: the nearest."
        ),
        _blocks(found, "holder", "holders"),
        el("h3", None, "Blocks by type"),
        note("Only those that something holds."),
        _blocks(found, "type", "types"),
        _kept(found),
    )


def _allocator(document: Mapping[str, Any], index: int) -> list[Element]:
    heap = document["native"]["allocators"][index]
    leaks = document.get("native_leaks")
    title = f"{heap['name']} {heap['version'] or ''}".strip()
    if heap["refusal"]:
        line = f"{title} {heap['refusal']}; its blocks are not listed."
        return [el("h3", None, title), note(line)]
    # The answer on leaks is about all allocators together.
    is_only = len(document["native"]["allocators"]) == 1
    leaked = leaks["leaked_bytes"] if leaks and is_only else 0
    key = f"native-{index}"
    return [
        el("h3", None, f"Arenas of {title}"),
        stacked(key, _parts(heap, leaked), heap["mapped_bytes"]),
        *_unchecked(heap),
        _arenas(heap, key),
    ]


def _parts(heap: Mapping[str, Any], leaked: int) -> list[Part]:
    in_use, free = heap["in_use_bytes"], heap["free_bytes"]
    blocks = counted(heap["in_use_blocks"], "block")
    hints = []
    if heap["name"] in GIVES_BACK:
        trim = human_bytes(heap["trimmable_bytes"])
        hints.append(f"{GIVES_BACK[heap['name']]} {trim}")
    if heap["name"] not in UNCACHED:
        cached = human_bytes(heap["cached_bytes"])
        hints.append(f"{cached} are in caches of threads")
    parts = [
        Part("In use", in_use - leaked, blocks),
        Part(
            "Free",
            free,
            "; ".join(hints),
        ),
        Part(
            "Other",
            heap["mapped_bytes"] - in_use - free,
            "structures of the allocator, and memory of others in its range",
        ),
    ]
    if leaked:
        parts[0] = Part("In use, and held", in_use - leaked)
        parts.insert(1, Part("In use, and held by nothing", leaked))
    return parts


def _unchecked(heap: Mapping[str, Any]) -> list[Element]:
    """Arenas of which the allocator itself says something else."""
    return [
        note(f"The {place(row)} is not checked: {row['reason']}.")
        for row in heap["arena_list"]
        if not row["checked"]
    ]


def _arenas(heap: Mapping[str, Any], key: str) -> Element:
    is_known = any(row["resident_bytes"] is not None
                   for row in heap["arena_list"])  # fmt: skip
    columns = [
        Column("In use", True),
        Column("Blocks", True, True),
        Column("Free", True),
        Column("Free share", True, True, "of what is mapped"),
        Column("Trimmable", True, True, "resident pages that the allocator could give back"),
        Column("Mapped", True),
        *([Column("Resident", True, True)] if is_known else []),
        Column("Arena", is_name=True),
    ]
    cells = [
        (
            bytes_(row["in_use_bytes"]),
            number(row["in_use_blocks"]),
            bytes_(row["free_bytes"]),
            share(row["free_bytes"], row["mapped_bytes"]),
            bytes_(row["trimmable_bytes"]),
            bytes_(row["mapped_bytes"]),
            *([bytes_(row["resident_bytes"])] if is_known else []),
            Cell(place(row), prose(place(row))),
        )
        for row in heap["arena_list"]
    ]
    total = heap["arenas"] + any(
        row["kind"] == "mmap" for row in heap["arena_list"]
    )
    return table(f"{key}-arenas", "Arenas", columns, cells, total, 5)


def _blocks(found: Mapping[str, Any], what: str, rows: str) -> Element:
    whole = sum(row["bytes"] for row in found[rows])
    columns = [
        Column("In use", True),
        Column("Share", True, True),
        Column("Blocks", True),
        Column(what.capitalize(), is_name=True),
    ]
    cells = [
        (
            bytes_(row["bytes"]),
            share(row["bytes"], whole),
            number(row["blocks"]),
            name(row[what]),
        )
        for row in found[rows]
    ]
    title = f"Blocks by {what}"
    return table(f"native-{rows}", title, columns, cells, found[f"n{rows}"])


def _kept(found: Mapping[str, Any]) -> Sequence[Element]:
    """Go objects that C keeps alive, and what only they retain."""
    total = found["kept_by_c_total"]
    unknown = [] if total["known"] else [note(f"{kept_by_c.UNKNOWN}.")]
    if not total["references"]:
        return unknown
    columns = [
        Column("Retained", True, hint="only these references hold it"),
        Column("Of it in C", True, True),
        Column("Own bytes", True, True),
        Column("Objects", True),
        Column("References", True, True, "handles, or pins"),
        Column("Kept by"),
        Column("Type", is_name=True),
    ]
    cells = [
        (
            bytes_(row["retained_bytes"] + row["retained_c_bytes"]),
            bytes_(row["retained_c_bytes"]),
            bytes_(row["bytes"]),
            number(row["objects"]),
            number(row["references"]),
            text(row["by"]),
            name(row["type"]),
        )
        for row in found["kept_by_c"]
    ]
    return [
        el("h3", {"id": "kept-by-c"}, "Go objects kept for C"),
        note(f"{kept_by_c.headline(found)}."),
        *unknown,
        table("native-kept", "Go objects kept for C", columns, cells,
              total["types"]),
    ]  # fmt: skip


def _leaks(document: Mapping[str, Any]) -> Sequence[Element]:
    found = document.get("native_leaks")
    if found is None:
        return [missing(document, "native_leaks", "what nothing holds")]
    if not found["leaked_blocks"]:
        held = counted(found["in_use_blocks"], "block")
        return [empty(f"No leak found: all {held} in use are held.")]
    with_words = any(row["words"] for row in found["groups"])
    columns = [
        Column("Leaked", True),
        Column("Blocks", True),
        Column("Of size", True, True),
        Column("Heads", True, True, "no other leaked block leads to them"),
        Column("Example"),
        Column("Beside blocks of", is_name=True),
        Column("Content", is_name=True),
        *([Column("First bytes", is_minor=True)] if with_words else []),
    ]
    cells = [
        (
            bytes_(row["bytes"]),
            number(row["blocks"]),
            bytes_(row["size"]),
            number(row["heads"]),
            Cell(row["example"], _address(row["example"])),
            name(
                beside(row["beside"], row["beside_blocks"], row["blocks"])
            ),
            _content(row),
            *([text(text_of_words(row["words"]))] if with_words else []),
        )
        for row in found["groups"]
    ]
    return [
        table("native-leaks-table", "Leaked blocks", columns, cells,
              found["ngroups"]),
        command(f"{document['command']} native leaks"),
    ]  # fmt: skip


def _address(text_: str) -> Element:
    """On one line, also on a phone."""
    return el("code", {"class": "address"}, text_)


def _content(row: Mapping[str, Any]) -> Cell:
    """The type of the blocks, or the variable or library that a word of them
    leads to."""
    way, target = content(row["type"], row["symbol"], row["library"])
    if not target:
        return Cell("", "not known")
    return Cell(target, [*([f"{way} "] if way else []), code(target)])

# SPDX-License-Identifier: Apache-2.0
"""The ledger of the heap; roots; types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...render.units import human_bytes
from ..live import c_bytes, whole
from ..markup import el, note, section, share_text
from ..origins import Origins
from ..tables import Column, bytes_, name, number, share, table, text
from .parts import missing
from .stacked import Part, stacked

if TYPE_CHECKING:
    from ..markup import Element

# How objects were reached: keys of the document, titles, meanings.
_WAYS = (
    ("typed", "By type", "debug information gives the type of the pointer"),
    ("runtime_type", "By runtime type",
     "the type word of an interface gives it"),
    ("header", "By header", "the object's malloc header gives its own type"),
    ("masked", "By pointer mask only",
     "the collector's pointer map marks the word, and the type is not known"),
)  # fmt: skip


def ledger(document: Mapping[str, Any]) -> Element:
    heap = document["heap"]
    allocated = heap["heap"]["allocated_bytes"]
    unreached = heap["unreached"]
    parts = [
        Part(
            title,
            heap["reached"][f"{key}_bytes"],
            meaning,
            heap["reached"][f"{key}_objects"],
        )
        for key, title, meaning in _WAYS
    ]
    parts.append(
        Part(
            "Not reached",
            unreached["bytes"],
            "garbage that is not yet swept, or that died since the last "
            "collection",
            unreached["objects"],
        )
    )
    return section(
        "heap",
        "The heap",
        f"{heap['heap']['allocated_objects']:,} objects of "
        f"{human_bytes(allocated)} are allocated. goref follows every "
        "reference as the collector does, and accounts for each object: "
        "reached, and how its type is known, or not reached.",
        stacked("ledger", parts, allocated, "object"),
        _folded(heap),
        _gaps(heap),
        _warnings(heap),
    )


def _folded(heap: Mapping[str, Any]) -> Element | None:
    folded = heap["folded"]
    if not folded["objects"]:
        return None
    share = share_text(folded["bytes"], heap["reached"]["bytes"])
    return note(
        f"{folded['objects']:,} objects, {human_bytes(folded['bytes'])} "
        f"({share}), are counted on the nearest node above in the tree of "
        "references, which has no room for more."
    )


def _gaps(heap: Mapping[str, Any]) -> Element | None:
    """The counts of what could not be read or made no sense."""
    gaps = [
        f"{cause.replace('_', ' ')}: {count:,}"
        for cause, count in heap["gaps"].items()
        if count
    ]
    if not gaps:
        return None
    return note("Gaps, which the walk went around: ", ", ".join(gaps), ".")


def _warnings(heap: Mapping[str, Any]) -> Element | None:
    if not heap["warnings"]:
        return None
    return el(
        "ul",
        {"class": "note"},
        [el("li", None, f"Warning: {line}") for line in heap["warnings"]],
    )


def roots(document: Mapping[str, Any]) -> Element:
    heap = document["heap"]
    whole = heap["reached"]["bytes"]
    rows = [root for root in heap["roots"] if root["objects"]]
    origins = Origins(document)
    has_retained = any("retained_bytes" in root for root in rows)
    columns = [
        Column("Billed", True, hint="to the nearest root"),
        Column("Share", True, True, "of the live heap"),
        Column("Retained", True, not has_retained,
               "what would be freed without this root alone"),
        Column("Objects", True, True),
        Column("Root", is_name=True),
        Column("Kind", is_minor=True),
    ]  # fmt: skip
    cells = [
        (
            bytes_(root["bytes"]),
            share(root["bytes"], whole),
            bytes_(root.get("retained_bytes")),
            number(root["objects"]),
            name(root["name"], root["type"], origins.mark(root["name"])),
            text(_kind(root)),
        )
        for root in rows
    ]
    return section(
        "roots",
        "Roots",
        "Where references begin: package variables, goroutine stacks and the "
        "runtime. An object that several roots reach is billed to the nearest "
        "one. Retained is what this root alone keeps alive.",
        table("roots-table", "Roots", columns, cells, heap["nroots"]),
    )


def _kind(root: Mapping[str, Any]) -> str:
    words = [root["kind"]]
    if root.get("goroutine_id") is not None:
        words.append(f"goroutine {root['goroutine_id']}")
    if root.get("goroutine_state"):
        words.append(root["goroutine_state"])
    return ", ".join(words)


def _is_c(row: Mapping[str, Any]) -> bool:
    return 0 < row.get("c_bytes", 0) == row["bytes"]


def types(document: Mapping[str, Any]) -> Element:
    lead = (
        "The objects of the heap by type: []main.T is the array behind a "
        "slice, string the bytes of strings, map[K]V all pieces of maps. "
        "Retained is at least what objects of the type keep alive together."
    )
    found = document.get("types")
    if found is None:
        return section(
            "types", "Types", lead, missing(document, "types", "the types")
        )
    columns = [
        Column("Retained", True, hint="at least; with all that hangs below"),
        Column("Size", True, hint="of the objects themselves"),
        Column("Share of size", True, True),
        Column("Objects", True),
        Column("Type", is_name=True),
    ]
    live, origins = found["bytes"], Origins(document)
    if c_bytes(document):
        lead += " Blocks of C that something holds are counted, too."
    cells = [
        (
            bytes_(whole(row)),
            bytes_(row["bytes"]),
            share(row["bytes"], live),
            number(row["objects"]),
            name(row["key"], mark=origins.mark(row["key"], _is_c(row))),
        )
        for row in found["rows"]
    ]
    return section(
        "types",
        "Types",
        lead,
        table("types-table", "Types", columns, cells, found["nrows"]),
    )

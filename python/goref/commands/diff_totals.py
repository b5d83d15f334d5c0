# SPDX-License-Identifier: Apache-2.0
"""Collects the facts that goref diff needs about each side, in one pass."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from .. import native, params, partial
from ..render.report import fields_of
from ..render.sites import sites_note, stack_text
from ..render.suspects import commands
from ..session import current
from .base import CUT_SAMPLES, nodes

if TYPE_CHECKING:
    from .._goref import Histogram, Scan, Suspects
    from ..render.report import Document

_KEYS = ("type", "root", "package")
_MAX_NODES = 1 << 18  # Python reads the trees of both sides
_GOROUTINE = re.compile(r"goroutine (\d+)\b")


def totals(
    scan: Scan,
    memory_limit: int | None,
    tree: str,
    addresses: str | None,
    how: str,
) -> tuple[Document, list[str]]:
    """The document, and the reasons why it is partial.

    how: the command up to the verb that asks this side alone.
    tree, addresses: paths of files to write: the tree of references as JSON
    lines, and the addresses of all objects."""
    wanted = min(params.max_nodes(), _MAX_NODES)
    result = current.walk(
        params.max_depth(),
        nodes(scan, wanted, memory_limit),
        (),
        "nearest",
        False,
    )
    ledger = result.ledger()
    lost = partial.reasons(scan.info(), ledger)
    result.write_profile(tree, 0, None, "jsonl")
    if addresses:
        scan.list_objects(addresses, merged_types=True)
    counted = {by: scan.histogram(by, True) for by in _KEYS}
    in_c = counted["type"]
    tables = {by: _rows(found) for by, found in counted.items()}
    leaked = _leaked(scan)
    if in_c.c_objects or leaked["leaked_c_objects"]:
        tables["holder"] = _rows(scan.histogram("holder"))
    tables["goroutine"] = _goroutines(scan)
    tables["site"], sites = _sites(scan)
    tables["waste"], waste = _waste(scan)
    is_cut = sites.pop("is_cut")
    lost += [CUT_SAMPLES] * is_cut
    info = scan.info()
    document: Document = {
        "tool_version": native.load().VERSION,
        "partial": lost,
        "go_version": info.go_version,
        "exe": info.exe_path,
        **fields_of(info, "build_id gc_phase last_gc_ns identity goroutines"),
        "objects": ledger.reached.objects,
        "bytes": ledger.reached.bytes,
        **fields_of(in_c, "c_objects c_bytes"),
        **leaked,
        "folded_bytes": ledger.folded.bytes,
        "tables": tables,
        **waste,
        **sites,
        "suspects": _suspects(scan.suspects(), how),
    }
    return document, lost


def _rows(found: Histogram) -> list[Document]:
    return [
        fields_of(
            row, "key objects bytes c_bytes retained_bytes retained_c_bytes"
        )
        for row in found.rows
    ]


def _leaked(scan: Scan) -> Document:
    """Blocks of C that nothing holds, which no table but that of holders has.
    Their number is null if it is not known."""
    found = scan.native_leaks()
    keys = ("leaked_c_objects", "leaked_c_bytes", "missing_c_bytes")
    if found.is_known:
        sizes = found.leaked_blocks, found.leaked_bytes, found.missing_bytes
        return dict(zip(keys, sizes))
    c_memory = scan.native()
    has_none = c_memory.is_known and not c_memory.is_expected
    return dict.fromkeys(keys, 0 if has_none else None)


def _goroutines(scan: Scan) -> list[Document]:
    """Goroutines by their first function: goroutine ids do not match between
    programs. The bytes that the goroutines of a function keep alive together
    are not the sum of their retained sizes."""
    listed = scan.goroutines((), True)
    names = {
        g.id: f"goroutines of {g.start.function or '?'}" for g in listed.rows
    }
    objects: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    in_c: Counter[str] = Counter()
    for row in scan.histogram("goroutine").rows:
        match = _GOROUTINE.match(row.key)
        key = names.get(int(match[1]), row.key) if match else row.key
        objects[key] += row.objects
        sizes[key] += row.bytes
        in_c[key] += row.c_bytes
    retained_in_c: Counter[str] = Counter()
    retained: Counter[str] = Counter()
    grouped = scan.goroutines((), True, "startloc", 1, with_bytes=True)
    for group in grouped.groups:
        function = group.key.partition(" in ")[2] or "?"
        key = f"goroutines of {function}"
        retained[key] += group.exclusive_bytes
        retained_in_c[key] += group.exclusive_c_bytes
    number = Counter(names.values())
    stacks: Counter[str] = Counter()
    for goroutine in listed.rows:
        stacks[names[goroutine.id]] += goroutine.stack_size
    return [
        {
            "key": key,
            "objects": objects[key],
            "bytes": sizes[key],
            "c_bytes": in_c[key],
            "retained_bytes": retained[key] if key in number else None,
            "retained_c_bytes": retained_in_c[key],
            "goroutines": number[key],
            "stack_bytes": stacks[key],
        }
        for key in sorted({*objects, *number})
    ]


def _sites(scan: Scan) -> tuple[list[Document], Document]:
    """The sites that the runtime has sampled; whether it has sampled any, a
    note about the samples, and whether some are missing."""
    try:
        found = scan.sites()
    except native.load().NotFoundError as problem:
        note = {"knows_sites": False, "site_note": str(problem)}
        return [], {**note, "is_cut": False}
    objects: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for site in found.rows:
        key = stack_text(site.stack, len(site.stack))
        objects[key] += site.total.objects
        sizes[key] += site.total.bytes
    rows: list[Document] = [
        {"key": key, "objects": objects[key], "bytes": sizes[key]}
        for key in objects
    ]
    return rows, {
        "knows_sites": bool(found.rate) and not found.is_disabled,
        "site_note": sites_note(found),
        "is_cut": found.is_cut,
    }


def _waste(scan: Scan) -> tuple[list[Document], Document]:
    """The bytes that each check would save; the checks that were not made, as a
    process and some files lack values; and why nothing is known, if so."""
    goref = native.load()
    try:
        found = scan.waste()
    except (goref.LayoutError, goref.NotFoundError) as problem:
        return [], {"unmade": [], "no_waste": str(problem)}
    count: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for row in found.rows:
        count[row.check] += row.count
        sizes[row.check] += row.bytes
    rows: list[Document] = [
        {"key": check, "objects": count[check], "bytes": sizes[check]}
        for check in sizes
        if sizes[check]
    ]
    unmade = [asked.check for asked in found.asked if asked.why_not]
    return rows, {"unmade": unmade, "no_waste": None}


def _suspects(found: Suspects, how: str) -> list[Document]:
    return [
        {
            "kind": suspect.kind,
            "name": suspect.name,
            "where": suspect.accumulation_point,
            "objects": suspect.objects,
            **fields_of(suspect, "retained_bytes retained_c_bytes"),
            "next": commands(suspect, how),
        }
        for suspect in found.suspects
    ]

# SPDX-License-Identifier: Apache-2.0
"""Rows to text and to JSON. Pure: never imports gdb."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

Rows = Sequence[Sequence[str]]

_MAX_CLASSES = 10


def human_bytes(count: int) -> str:
    """As pprof writes it: 1 MB is 1024 * 1024 bytes."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1023.95:
            break
        value /= 1024
    else:
        unit = "TB"
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def percent(part: int, whole: int) -> str:
    if not whole:
        return "-"
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.05 or not part else "<0.1 %"


def seconds(us: int) -> str:
    return f"{us / 1e6:.2f} s" if us >= 1e6 else f"{us / 1e3:.0f} ms"


def table(rows: Rows, left: Iterable[int] = ()) -> list[str]:
    """Aligned columns, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i in set(left) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


# -------------------------------------------------------------------- scan


def _place(info: dict[str, Any]) -> str:
    if info["kind"] == "core":
        return f"core {info['core']}"
    if info["kind"] == "native":
        return f"process {info['pid']}"
    if info["kind"] == "snapshot":
        return f"snapshot of process {info['pid']}"
    return "remote target"


def headline(info: dict[str, Any]) -> list[str]:
    lines = [
        f"{_place(info)} of {info['exe']}",
        f"{info['go_version']}, garbage collector: {info['gc_phase']}, "
        f"{info['goroutines']:,} goroutines",
    ]
    return lines


def partial_lines(reasons: Sequence[str]) -> list[str]:
    if not reasons:
        return []
    return [f"PARTIAL: {', '.join(reasons)}: sizes are lower bounds"]


def _share(ledger: dict[str, Any], key: str) -> str:
    return percent(ledger[key]["bytes"], ledger["reached"]["bytes"])


def ledger_lines(ledger: dict[str, Any]) -> list[str]:
    allocated = ledger["allocated"]
    rows = [["heap", "objects", "size", "share"]]
    for title, key in (
        ("allocated", "allocated"),
        ("reached", "reached"),
        ("not reached", "unreached"),
    ):
        total = ledger[key]
        rows.append(
            [
                title,
                f"{total['objects']:,}",
                human_bytes(total["bytes"]),
                percent(total["bytes"], allocated["bytes"]),
            ]
        )
    lines = table(rows, left=[0])
    lines.append(
        f"  reached by type {_share(ledger, 'typed')}, "
        f"by runtime type {_share(ledger, 'runtime_type')}, "
        f"by header {_share(ledger, 'header')}, "
        f"by pointer mask only {_share(ledger, 'masked')} (of bytes)"
    )
    return lines + _gap_lines(ledger["gaps"])


def _gap_lines(gaps: dict[str, int]) -> list[str]:
    text = ", ".join(f"{k} {v:,}" for k, v in gaps.items() if v)
    return [f"  gaps: {text}"] if text else []


def _ranking(
    title: str, rows: list[tuple[str, int, int]], ledger: dict[str, Any]
) -> list[str]:
    """rows: (name, objects, bytes)"""
    whole = ledger["reached"]["bytes"]
    cells = [["size", "share", "objects", ""]] + [
        [human_bytes(size), percent(size, whole), f"{objects:,}", name]
        for name, objects, size in rows
    ]
    return ["", title, *table(cells, left=[3])]


def _by_objects(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda r: (-r[1], -r[2], r[0]))


def _root_rows(roots: list[Any]) -> list[tuple[str, int, int]]:
    """Roots of one name are one row: a local of a thousand goroutines."""
    merged: dict[tuple[str, str, str | None, int], list[int]] = {}
    for name, kind, state, _file, _line, objects, size, goroutine in roots:
        entry = merged.setdefault((name, kind, state, goroutine), [0, 0, 0])
        entry[0] += objects
        entry[1] += size
        entry[2] += 1
    rows = []
    for (name, kind, state, goroutine), numbers in merged.items():
        objects, size, times = numbers
        words = [kind] + ([f"goroutine {goroutine}"] if goroutine else [])
        words += [state] if state else []
        if times > 1:
            words.append(f"{times:,} times")
        rows.append((f"{name}  ({', '.join(words)})", objects, size))
    return sorted(rows, key=lambda r: (-r[2], -r[1], r[0]))


def _rankings(
    what: str, rows: list[Any], top: int, ledger: dict[str, Any]
) -> list[str]:
    rows = [r for r in rows if r[1]]
    shown = top or len(rows)
    by_bytes, by_objects = rows[:shown], _by_objects(rows)[:shown]
    left = len(rows) - len(by_bytes)
    more = f" (of {len(rows):,})" if left else ""
    if by_bytes == by_objects:
        return _ranking(
            f"Top {what} by bytes and by objects{more}", by_bytes, ledger
        )
    return _ranking(f"Top {what} by bytes{more}", by_bytes, ledger) + _ranking(
        f"Top {what} by objects{more}", by_objects, ledger
    )


def timing(phases_us: dict[str, int], peak_bytes: int) -> str:
    parts = ", ".join(
        f"{name} {seconds(us)}" for name, us in phases_us.items() if us >= 500
    )
    total = seconds(sum(phases_us.values()))
    detail = f" ({parts})" if parts else ""
    return f"took {total}{detail}, {human_bytes(peak_bytes)} of memory"


def scan_text(report: dict[str, Any]) -> str:
    """report: info, ledger, partial, roots, types, top, places, attribution,
    out, profile."""
    ledger = report["ledger"]
    lines = headline(report["info"])
    lines += partial_lines(report["partial"])
    if report["places"]:
        # Each once, as it was asked for first.
        lines.append("held by: " + ", ".join(dict.fromkeys(report["places"])))
    if report["attribution"] != "nearest":
        lines.append(f"billed to the {report['attribution']} root")
    lines += ["", *ledger_lines(ledger)]
    lines += _rankings(
        "roots", _root_rows(report["roots"]), report["top"], ledger
    )
    lines += _rankings("types", report["types"], report["top"], ledger)
    lines.append("")
    if report["out"]:
        profile = report["profile"]
        folded = profile["folded"]
        note = f", {folded:,} small ones folded" if folded else ""
        lines.append(
            f"profile: {report['out']} ({_counted(profile['samples'], 'path')}{note}); "
            f"open it with: go tool pprof {report['out']}"
        )
    lines.append(timing(ledger["phases_us"], ledger["peak_private_bytes"]))
    return "\n".join(lines) + "\n"


def _flat(ledger: dict[str, Any]) -> dict[str, int]:
    flat = dict(ledger["reached"])
    for key in ("typed", "runtime_type", "header", "masked"):
        flat[f"{key}_objects"] = ledger[key]["objects"]
        flat[f"{key}_bytes"] = ledger[key]["bytes"]
    return flat


def _json_root(root: Any) -> dict[str, Any]:
    name, kind, _state, _file, _line, objects, size, goroutine = root
    document = {"name": name, "kind": kind, "objects": objects, "bytes": size}
    if goroutine:
        document["goroutine_id"] = goroutine
    return document


def _json_target(info: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": info["kind"],
        "exe": info["exe"],
        "core": info["core"],
        "pid": info["pid"] or None,
    }


def scan_json(report: dict[str, Any]) -> str:
    info, ledger = report["info"], report["ledger"]
    top = report["json_top"]
    roots = report["roots"][: top or None]
    types = report["types"][: top or None]
    document = {
        "tool_version": report["tool_version"],
        "go_version": info["go_version"],
        "gc_phase": info["gc_phase"],
        "target": _json_target(info),
        "attribution": report["attribution"],
        "complete": not report["partial"],
        "partial": report["partial"],
        "heap": {
            "allocated_objects": ledger["allocated"]["objects"],
            "allocated_bytes": ledger["allocated"]["bytes"],
        },
        "reached": _flat(ledger),
        "unreached": ledger["unreached"],
        "gaps": ledger["gaps"],
        "roots": [_json_root(r) for r in roots],
        "types": [
            {"type": t[0], "objects": t[1], "bytes": t[2]} for t in types
        ],
        "phases_ms": {
            name: round(us / 1000, 3)
            for name, us in ledger["phases_us"].items()
        },
        "peak_private_bytes": ledger["peak_private_bytes"],
        "out": report["out"],
        "warnings": report["warnings"],
    }
    return json.dumps(document, indent=1) + "\n"


# --------------------------------------------------------------------- why


def _object_line(why: dict[str, Any]) -> str:
    thing = why["object"]
    kind = thing["type"] or "object of unknown type"
    where = f" + {thing['offset']}" if thing["offset"] else ""
    at = f"{thing['base']:#x}{where}"
    return f"{why['address']:#x}: {kind}, {thing['bytes']:,} bytes at {at}"


def _root_line(root: dict[str, Any]) -> str:
    words = [root["kind"]]
    if root["goroutine_id"]:
        words.append(f"goroutine {root['goroutine_id']}")
    return f"held by {root['name']} ({', '.join(words)}):"


# Where spans may have been lost, that is not certain.
_NOWHERE = ("memory outside the Go heap", "free memory of the Go heap")
_NOT_KNOWN = "not known: in no part of the heap that could be read"


def why_text(
    why: dict[str, Any], asked: str | None = None, lost: Sequence[str] = ()
) -> str:
    """asked: what a person typed, if an address was read from there.
    lost: why the heap is not known whole."""
    text = _why_text(why, asked, bool(lost))
    if lost:
        text += f"PARTIAL: {', '.join(lost)}: what holds it may be, too\n"
    return text


def _why_text(why: dict[str, Any], asked: str | None, is_partial: bool) -> str:
    lines = [f"{asked} refers to {why['address']:#x}"] if asked else []
    if not why["object"]:
        what = why["description"] or "no object of the heap"
        if is_partial and what in _NOWHERE:
            what = _NOT_KNOWN
        lines.append(f"{why['address']:#x}: {what}")
        return "\n".join(lines) + "\n"
    lines.append(_object_line(why))
    if not why["reachable"]:
        lines.append(
            "not reached from what could be read"
            if is_partial
            else "not reachable: garbage, or not yet swept"
        )
        return "\n".join(lines) + "\n"
    lines.append(_root_line(why["root"]))
    rows = [
        [
            f"{'->' if i else '  '} {hop['name']}",
            f"{hop['address']:#x}" if hop["address"] else "",
            hop["type"] or "",
        ]
        for i, hop in enumerate(why["path"])
    ]
    if rows:
        lines += table(rows, left=[0, 1, 2])
    return "\n".join(lines) + "\n"


def why_json(whys: Sequence[tuple[dict[str, Any], Sequence[str]]]) -> str:
    """Answers, each with why it is partial. An object; of several an array."""
    documents = [_why_document(why, lost) for why, lost in whys]
    whole = documents if len(documents) > 1 else documents[0]
    return json.dumps(whole, indent=1) + "\n"


def _why_document(why: dict[str, Any], lost: Sequence[str]) -> dict[str, Any]:
    def address(value: int | None) -> str | None:
        return None if value is None else f"{value:#x}"

    thing = why["object"]
    document = dict(why, address=address(why["address"]))
    del document["gaps"]
    if thing:
        document["object"] = dict(thing, base=address(thing["base"]))
    if lost and why["description"] in _NOWHERE:
        document["description"] = _NOT_KNOWN
    document["path"] = [
        dict(hop, address=address(hop["address"])) for hop in why["path"]
    ]
    return dict(document, complete=not lost, partial=list(lost))


# ------------------------------------------------------------------ verify


def unexplained(count: int) -> str:
    what = "difference" if count == 1 else "differences"
    return f"{count:,} {what} without an explanation"


def _less(whole: dict[str, int], part: dict[str, int]) -> dict[str, int]:
    return {key: whole[key] - part[key] for key in whole}


def _verify_totals(verdict: dict[str, Any]) -> list[str]:
    allocated, reached = verdict["allocated"], verdict["reached"]
    lost = _less(allocated, reached)
    survivors = _less(verdict["kept"], verdict["kept_reached"])
    totals = [
        ("allocated", allocated),
        ("reached", reached),
        ("not reached", lost),
    ]
    if lost["objects"]:
        totals.append(("that the last collection kept", survivors))
    rows = [["heap", "objects", "bytes"]]
    for title, total in totals:
        rows.append([title, f"{total['objects']:,}", f"{total['bytes']:,}"])
    return table(rows, left=[0])


def _verify_figures(verdict: dict[str, Any]) -> list[str]:
    stats, rebuilt = verdict["stats"], verdict["rebuilt"]
    rows = [["figure", "the runtime's", "rebuilt", ""]]
    for title, key, exactly in (
        ("HeapAlloc", "bytes", "equal to the byte"),
        ("HeapObjects", "objects", "equal"),
    ):
        mine = rebuilt[key]
        if stats is None:
            rows.append([title, "not known", f"{mine:,}", ""])
            continue
        more = mine - stats[key]
        note = f"differs by {more:+,}" if more else exactly
        rows.append([title, f"{stats[key]:,}", f"{mine:,}", note])
    return table(rows, left=[0, 3])


def _missing(row: Any) -> int:
    """Bytes of a span class that are allocated and not reached."""
    return int(row[2]["bytes"] - row[3]["bytes"])


def _verify_classes(verdict: dict[str, Any]) -> list[str]:
    classes = sorted(verdict["classes"], key=_missing, reverse=True)
    if not classes:
        return []
    shown = classes[:_MAX_CLASSES]
    more = f" (of {len(classes):,})" if len(shown) < len(classes) else ""
    rows = [["slot size", "", "allocated", "reached", "not reached"]]
    for number, slot, allocated, reached in shown:
        rows.append(
            [
                f"{slot:,} B" if slot else "large",
                "no pointers" if number & 1 else "pointers",
                f"{allocated['objects']:,}",
                f"{reached['objects']:,}",
                f"{allocated['objects'] - reached['objects']:,}",
            ]
        )
    title = f"Span classes that differ, by bytes{more}"
    return ["", title, *table(rows, left=[1])]


def _verify_differences(verdict: dict[str, Any]) -> list[str]:
    found = verdict["differences"]
    if not found:
        return []
    whole = verdict["allocated"]["objects"] - verdict["reached"]["objects"]
    more = f" (of {whole:,})" if len(found) < whole else ""
    rows = [
        [
            f"{address:#x}",
            f"{size:,} B",
            type_ or "type not known",
            reason or "NO EXPLANATION",
        ]
        for address, size, type_, reason in found
    ]
    return [
        "",
        f"Objects not reached, by address{more}",
        *table(rows, left=[0, 2, 3]),
    ]


def _verify_free_slots(verdict: dict[str, Any]) -> list[str]:
    return [
        f"    {address:#x}, held by "
        + (f"the object at {holder:#x}" if holder else "a root")
        for address, holder in verdict["free_slots"]
    ]


_MOST_LOST = (
    "Most of what the last collection kept is not reached: the program has\n"
    "let go of it since, or something that holds it is not seen."
)


def _verify_end(verdict: dict[str, Any], is_torn: bool) -> str:
    allocated = verdict["allocated"]["objects"]
    missing = allocated - verdict["reached"]["objects"]
    if is_torn and (verdict["unexplained"] or missing or not allocated):
        return "not verified: what is missing may explain the differences"
    if verdict["unexplained"]:
        return f"NOT verified: {unexplained(verdict['unexplained'])}"
    if is_torn:
        return (
            f"not verified: all {allocated:,} objects that are seen are "
            "reached, but a part is missing"
        )
    if not missing:
        return f"verified: all {allocated:,} objects are reached"
    return (
        f"verified: of {allocated:,} objects, {missing:,} are not reached, "
        "each for a reason"
    )


def verify_text(
    info: dict[str, Any], verdict: dict[str, Any], lost: Sequence[str]
) -> str:
    lines = [*headline(info), *partial_lines(lost), ""]
    lines += [*_verify_totals(verdict), ""]
    lines += _verify_figures(verdict)
    lines += [
        "",
        f"  pointers to free slots: {verdict['free_slot_pointers']:,}",
        *_verify_free_slots(verdict),
        "  pointers to objects that were not reached: "
        f"{verdict['missed_pointers']:,}",
        *_gap_lines(verdict["gaps"]),
    ]
    if verdict["is_most_lost"]:
        lines += ["", _MOST_LOST]
    lines += _verify_classes(verdict) + _verify_differences(verdict)
    lines += ["", _verify_end(verdict, bool(lost))]
    return "\n".join(lines) + "\n"


def verify_json(
    version: str,
    info: dict[str, Any],
    verdict: dict[str, Any],
    lost: Sequence[str],
) -> str:
    stats, rebuilt = verdict["stats"], verdict["rebuilt"]
    document = {
        "tool_version": version,
        "complete": not lost,
        "partial": list(lost),
        "go_version": info["go_version"],
        "gc_phase": info["gc_phase"],
        "target": _json_target(info),
        "allocated_objects": verdict["allocated"]["objects"],
        "allocated_bytes": verdict["allocated"]["bytes"],
        "reached_objects": verdict["reached"]["objects"],
        "reached_bytes": verdict["reached"]["bytes"],
        "kept": verdict["kept"],
        "kept_reached": verdict["kept_reached"],
        "is_most_lost": verdict["is_most_lost"],
        "free_slot_pointers": verdict["free_slot_pointers"],
        "free_slots": [
            {
                "address": f"{address:#x}",
                "held_by": f"{holder:#x}" if holder else None,
            }
            for address, holder in verdict["free_slots"]
        ],
        "missed_pointers": verdict["missed_pointers"],
        "heap_alloc": {
            "read": stats and stats["bytes"],
            "rebuilt": rebuilt["bytes"],
        },
        "heap_objects": {
            "read": stats and stats["objects"],
            "rebuilt": rebuilt["objects"],
        },
        "classes": [
            {
                "span_class": number,
                "slot_bytes": slot or None,
                "noscan": bool(number & 1),
                "allocated_objects": allocated["objects"],
                "allocated_bytes": allocated["bytes"],
                "reached_objects": reached["objects"],
                "reached_bytes": reached["bytes"],
            }
            for number, slot, allocated, reached in verdict["classes"]
        ],
        "differences": [
            {
                "address": f"{address:#x}",
                "bytes": size,
                "type": type_,
                "reason": reason,
            }
            for address, size, type_, reason in verdict["differences"]
        ],
        "gaps": verdict["gaps"],
        "unexplained": verdict["unexplained"],
        "warnings": info["warnings"],
    }
    return json.dumps(document, indent=1) + "\n"


def objects_text(total: dict[str, int], path: str) -> str:
    return (
        f"{path}: {total['objects']:,} objects, "
        f"{human_bytes(total['bytes'])}\n"
    )


# -------------------------------------------------------------------- info


def info_text(
    version: str,
    info: dict[str, Any] | None,
    ledger: dict[str, Any] | None,
    notes: Sequence[str] = (),
) -> str:
    lines = [f"goref-gdb {version}"]
    if info is None:
        lines.append("no scan is kept: `goref scan` makes one")
        return "\n".join(lines) + "\n"
    lines += headline(info)
    lines.append(
        f"pointers by {info['pointer_scheme']}, {info['types']:,} types, "
        f"build id {info['build_id'] or 'none'}"
    )
    lines += [f"warning: {w}" for w in [*notes, *info["warnings"]]]
    if ledger:
        lines += ["", *ledger_lines(ledger)]
    return "\n".join(lines) + "\n"

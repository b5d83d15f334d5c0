# SPDX-License-Identifier: Apache-2.0
"""The target, in text and in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._goref import Info
    from .report import Document


def target_name(info: Info) -> str:
    if info.kind == "core":
        return f"core {info.core_path}"
    if info.kind == "native":
        return f"process {info.pid}"
    if info.kind == "snapshot":
        return f"snapshot of process {info.pid}"
    if info.kind == "saved":
        return f"{info.saved_path} ({info.origin})"
    return "remote target"


_COLLECTOR = {
    "off": "no collection running",
    "mark": "a collection is marking",
    "mark termination": "a collection is in mark termination",
}


def collector_text(phase: str) -> str:
    """The phase of the garbage collector. The runtime calls its phase "off"
    when it waits for the next collection, which reads like GOGC=off."""
    return _COLLECTOR.get(phase, "not known whether a collection runs")


def headline(info: Info) -> list[str]:
    return [
        f"{target_name(info)} of {info.exe_path}",
        f"{info.go_version}, {collector_text(info.gc_phase)}, "
        f"{info.goroutines:,} goroutines",
    ]


def target_document(info: Info) -> Document:
    """Keys that every document about a target has."""
    return {
        "go_version": info.go_version,
        "gc_phase": info.gc_phase,
        "target": {
            "kind": info.kind,
            "exe": info.exe_path,
            "core": info.core_path,
            "pid": info.pid,
            "file": info.saved_path,
            "origin": info.origin,
        },
    }

# SPDX-License-Identifier: Apache-2.0
"""goref export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import UNCERTAIN, as_text, partial_lines
from .units import human_bytes

if TYPE_CHECKING:
    from .._goref import Exported, ProfileStats

_CONSEQUENCE = f"objects may be missing, {UNCERTAIN}"


def export_text(found: Exported, path: str, reasons: Sequence[str]) -> str:
    """The text about a file of objects."""
    parts = [
        f"{found.total.objects:,} objects, {human_bytes(found.total.bytes)}"
    ]
    parts.append(f"{found.references:,} references")
    if found.threads:
        parts.append(f"{found.classes:,} types, {found.threads:,} goroutines")
    lines = [
        f"{path}: {', '.join(parts)}; {human_bytes(found.file_bytes)} written"
    ]
    if found.merged:
        lines.append(
            f"more than a million nodes: merged into {found.merged:,} by type"
        )
    if found.cut:
        lines.append(
            "objects that were cut, because they are longer than the format "
            f"allows: {found.cut:,}"
        )
    if reasons:
        lines += partial_lines(reasons, _CONSEQUENCE)
    return as_text(lines)


def profile_text(
    written: ProfileStats, path: str, reasons: Sequence[str]
) -> str:
    """The text about a file of paths."""
    total = written.total
    lines = [
        f"{path}: {written.samples:,} paths, {total.objects:,} objects, "
        f"{human_bytes(total.bytes)}"
    ]
    if reasons:
        lines += partial_lines(reasons, _CONSEQUENCE)
    return as_text(lines)

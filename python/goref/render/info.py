# SPDX-License-Identifier: Apache-2.0
"""info goref."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .ledger import ledger_lines
from .report import as_text
from .target import headline

if TYPE_CHECKING:
    from .._goref import Info, Ledger


def info_text(
    version: str,
    info: Info | None,
    ledger: Ledger | None,
    notes: Sequence[str] = (),
) -> str:
    """ledger: of the last whole walk. notes: warnings beside the scan's."""
    lines = [f"goref-gdb {version}"]
    if info is None:
        lines.append("no scan is kept: `goref scan` makes one")
        return as_text(lines)
    lines += headline(info)
    lines.append(
        f"pointers by {info.pointer_scheme}, {info.types:,} types, "
        f"build id {info.build_id or 'none'}"
    )
    lines += [f"warning: {w}" for w in [*notes, *info.warnings]]
    if ledger is not None:
        lines += ["", *ledger_lines(ledger)]
    return as_text(lines)

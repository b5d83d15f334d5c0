# SPDX-License-Identifier: Apache-2.0
"""goref objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import UNCERTAIN, as_text, partial_lines
from .units import human_bytes

if TYPE_CHECKING:
    from .._goref import Total


def left_text(left: int) -> str:
    """Behind a list that was cut."""
    return as_text([f"and {left:,} more (--limit 0 lists all)"])


def nothing_text(type_: str | None, min_bytes: int | None) -> str:
    """Beside an empty list: what was asked for."""
    line = "no reached object"
    if type_ is not None:
        line += f" has a type that matches {type_}"
    if min_bytes:
        line += f"{' and' if type_ is not None else ' has'} "
        line += f"{human_bytes(min_bytes)} or more"
    if type_ is not None:
        line += " (`goref histogram' has the types)"
    return as_text([line])


def partial_text(reasons: Sequence[str], has_retained: bool) -> str:
    """Beside a list that is not whole."""
    consequence = "objects may be missing"
    if has_retained:
        consequence += f", {UNCERTAIN}"
    return as_text(partial_lines(reasons, consequence))


def objects_text(total: Total, path: str) -> str:
    """One line about a file of objects that was written."""
    return as_text(
        [f"{path}: {total.objects:,} objects, {human_bytes(total.bytes)}"]
    )

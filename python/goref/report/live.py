# SPDX-License-Identifier: Apache-2.0
"""The whole of which the page prints shares: all that is reached, in Go and in
blocks of C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..render.sizes import both


def c_bytes(document: Mapping[str, Any]) -> int:
    """The bytes of the blocks of C that something holds."""
    types = document.get("types") or {}
    return int(types.get("c_bytes", 0))


def whole(row: Mapping[str, Any], name: str = "retained") -> int:
    """The sum of a size of Go and of that of C, which stand side by side in
    the documents of verbs."""
    return int(row[f"{name}_bytes"]) + in_c(row, name)


def in_c(row: Mapping[str, Any], name: str = "retained") -> int:
    """The part in C; 0 if it is not known. The cards of the page leave it out
    if there is none."""
    return int(row.get(f"{name}_c_bytes") or 0)


def size_text(row: Mapping[str, Any]) -> str:
    """The size that a row retains, as a person reads it."""
    return both(whole(row), in_c(row))


def whole_name(document: Mapping[str, Any]) -> str:
    """The name of the whole in a sentence."""
    return "live memory" if c_bytes(document) else "live heap"

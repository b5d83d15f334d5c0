# SPDX-License-Identifier: Apache-2.0
"""The whole of which the page prints shares: all that is reached, in Go and in
blocks of C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def c_bytes(document: Mapping[str, Any]) -> int:
    """The bytes of the blocks of C that something holds."""
    types = document.get("types") or {}
    return int(types.get("c_bytes", 0))


def whole_name(document: Mapping[str, Any]) -> str:
    """The name of the whole in a sentence."""
    return "live memory" if c_bytes(document) else "live heap"

# SPDX-License-Identifier: Apache-2.0
"""Which calls of a stack are the program's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_LIBRARY = ("runtime.", "sync.", "internal/", "runtime/", "sync/")


def is_library(frame: Mapping[str, Any]) -> bool:
    return (frame["function"] or "").startswith(_LIBRARY)


def own_call(
    frames: Sequence[Mapping[str, Any]],
) -> Mapping[str, Any] | None:
    """The innermost call that is not the library's."""
    return next((f for f in frames if not is_library(f)), None)

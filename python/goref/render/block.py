# SPDX-License-Identifier: Apache-2.0
"""A block of C in the answers on one address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._goref import ObjectInfo

NAME = "C block"  # if its type is not known


def lost_words(block: ObjectInfo, partial: Sequence[str]) -> str:
    """The words for a block to which no path leads."""
    if partial:
        return "not reached from what could be read"
    if block.has_leaked_referrers:
        return "only leaked blocks lead to it: leaked"
    return "nothing holds it: leaked"


def is_leaked(info: ObjectInfo, partial: Sequence[str]) -> bool | None:
    """None: a holder may lie in memory that is missing."""
    if info.is_reachable or not info.is_c:
        return False
    return None if partial else True

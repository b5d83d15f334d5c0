# SPDX-License-Identifier: Apache-2.0
"""Calls of allocators as rows for a person, for --each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..render.called import Called
from ..render.traced_stack import TracedFrame

if TYPE_CHECKING:
    from .blocks import Record
    from .stacks import Stacks

_NS = 1e9


def called(record: Record, stacks: Stacks, begin_ns: int) -> Called:
    """begin_ns: when the probes were set, by CLOCK_MONOTONIC."""
    stack = stacks[record.stack]
    return Called(
        max(record.time_ns - begin_ns, 0) / _NS,
        record.kind_name or ("sample" if record.weight else "?"),
        record.bytes,
        record.addr,
        record.thread_id,
        record.goroutine_id,
        [TracedFrame(*frame) for frame in stack.frames],
    )

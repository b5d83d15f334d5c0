# SPDX-License-Identifier: Apache-2.0
"""A call of an allocator, as it happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .traced_stack import TracedFrame
from .units import human_bytes, printable

if TYPE_CHECKING:
    from .report import Document

_CALLS = 4  # in a line
_FREES = ("free", "munmap")  # seen without their stacks


class Called(NamedTuple):
    """time_s: since the start; of a free, when it was read. kind: by the
    signature of the function. goroutine: 0: none. frames: a free has none."""

    time_s: float
    kind: str
    bytes: int
    address: int
    thread: int
    goroutine: int
    frames: Sequence[TracedFrame]


def call_line(call: Called) -> str:
    """A line of text; the innermost call comes first."""
    size = "" if call.kind == "free" else human_bytes(call.bytes)
    who = f"thread {call.thread}"
    if call.goroutine:
        who += f" goroutine {call.goroutine}"
    calls = [printable(frame.function) for frame in call.frames[:_CALLS]]
    more = ["..."] if len(call.frames) > _CALLS else []
    none = "" if call.kind in _FREES else "no stack"
    stack = " < ".join([*calls, *more]) or none
    text = (
        f"{call.time_s:10.6f} s {call.kind:>14} {size:>11} "
        f"{call.address:#014x}  {who}  {stack}"
    )
    return text.rstrip()


def call_document(call: Called) -> Document:
    """The JSON document of a call."""
    return {
        "time_s": round(call.time_s, 6),
        "kind": call.kind,
        "bytes": call.bytes,
        "address": f"{call.address:#x}",
        "thread": call.thread,
        "goroutine": call.goroutine or None,
        "frames": [frame._asdict() for frame in call.frames],
    }

# SPDX-License-Identifier: Apache-2.0
"""A stack of goref trace: its calls, and the memory that they let grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .units import counted

if TYPE_CHECKING:
    from .report import Document

_CALLS = 6  # of a stack as text
_UNSEEN = "no stack was seen"


class TracedFrame(NamedTuple):
    """A call. file is "" and line 0 where they are not known."""

    function: str
    file: str
    line: int


class TracedStack(NamedTuple):
    """Memory that one stack let grow.

    blocks: pages, objects or allocations; None: not counted. class_name,
    class_text: of `rss'. holder: what holds the memory; None: not known.
    is_finished: the start of the stack was reached. goroutines: ids of those
    that allocated, and labels: their pprof labels. oldest_s: the age of the
    oldest block; None: not known."""

    frames: Sequence[TracedFrame]
    bytes: int
    blocks: int | None = None
    class_name: str | None = None
    class_text: str = ""
    type: str | None = None
    site: str | None = None
    holder: str | None = None
    is_finished: bool = True
    goroutines: Sequence[int] = ()
    labels: Sequence[tuple[str, str]] = ()
    oldest_s: float | None = None


def stack_document(stack: TracedStack) -> Document:
    return {
        "frames": [frame._asdict() for frame in stack.frames],
        "bytes": stack.bytes,
        "blocks": stack.blocks,
        "class": stack.class_name,
        "type": stack.type,
        "site": stack.site,
        "holder": stack.holder,
        "finished": stack.is_finished,
        "goroutines": list(stack.goroutines),
        "labels": dict(stack.labels),
        "oldest_s": None
        if stack.oldest_s is None
        else round(stack.oldest_s, 3),
    }


_LIBRARIES = ("libc.so", "libc-", "ld-linux", "ld-musl", "libpthread")


def caller(frames: Sequence[TracedFrame]) -> TracedFrame | None:
    """The innermost call that is neither of libc nor of Go's runtime; without
    one, the innermost of all."""
    for frame in frames:
        file = frame.file.rpartition("/")[2]
        if not (
            file.startswith(_LIBRARIES) or frame.function.startswith("runtime.")
        ):
            return frame
    return frames[0] if frames else None


def frame_text(frame: TracedFrame) -> str:
    """`main.f at main.go:12', or the function and its library."""
    name = frame.file.rpartition("/")[2]
    if not name:
        return frame.function
    if frame.line:
        return f"{frame.function} at {name}:{frame.line}"
    return f"{frame.function} in {name}"


def age_words(stack: TracedStack) -> list[str]:
    """How many blocks there are and how old, if their age is known."""
    if stack.oldest_s is None or not stack.blocks:
        return []
    which = "the oldest" if stack.blocks > 1 else "it is"
    return [
        counted(stack.blocks, "block"),
        f"{which} {stack.oldest_s:.1f} s old",
    ]


def call_lines(stack: TracedStack) -> list[str]:
    if not stack.frames:
        return [f"      {_UNSEEN}"]
    lines = _frame_lines(stack.frames)
    if not stack.is_finished:
        lines.append("      (the rest of the stack could not be read)")
    if stack.labels:
        said = ", ".join(f"{key}={value}" for key, value in stack.labels)
        lines.append(f"      labels {said}")
    return lines


def _frame_lines(frames: Sequence[TracedFrame]) -> list[str]:
    """The first calls, and the program's own first one of Go, however far out
    it is."""
    first = _first_shown(frames)
    at = next((i for i, f in enumerate(frames) if _is_own(f)), first)
    end = first + _CALLS
    lines = [f"      {frame_text(f)}" for f in frames[first:end]]
    if at >= end:
        between = at - end
        if between:
            lines.append(f"      {counted(between, 'call')} of C and cgo")
        lines.append(f"      {frame_text(frames[at])}")
        end = at + 1
    if end < len(frames):
        lines.append(f"      and {counted(len(frames) - end, 'more call')}")
    return lines


def _is_own(frame: TracedFrame) -> bool:
    """Is it Go's, but neither the runtime's nor cgo's?"""
    name = frame.function
    return bool(
        frame.line and not name.startswith("runtime.") and "._C" not in name
    )


def _first_shown(frames: Sequence[TracedFrame]) -> int:
    """Calls of the runtime, which every allocation has, are left out, unless C
    has called."""
    at = next((i for i, f in enumerate(frames) if _is_own(f)), 0)
    return 0 if any(not frame.line for frame in frames[:at]) else at

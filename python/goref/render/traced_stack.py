# SPDX-License-Identifier: Apache-2.0
"""A stack of goref trace: its calls, and the memory that they let grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import outstanding
from .outstanding import Outstanding
from .recursion import MergedStack, Repeated, merged
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

    blocks: pages, objects or allocations; None: not counted. class_name: as of
    the classes of the report. class_text: in words, as rss_class, if there is
    one: of `rss', by a look at the memory. holder: what holds the memory, or
    the variable that it is; None: not known. is_finished: the start of the
    stack was reached. goroutines: ids of those that allocated, and labels:
    their pprof labels; None: they are not known. oldest_s: the age of the
    oldest block; None: not known. native: of the mode native."""

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
    labels: Sequence[tuple[str, str]] | None = ()
    oldest_s: float | None = None
    rss_class: str | None = None
    native: Outstanding | None = None


def stack_document(stack: TracedStack) -> Document:
    return {
        "frames": [frame._asdict() for frame in stack.frames],
        "bytes": stack.bytes,
        "blocks": stack.blocks,
        "class": stack.class_name,
        "rss_class": stack.rss_class,
        "type": stack.type,
        "site": stack.site,
        "holder": stack.holder,
        "finished": stack.is_finished,
        "goroutines": list(stack.goroutines),
        "labels": None if stack.labels is None else dict(stack.labels),
        "oldest_s": None
        if stack.oldest_s is None
        else round(stack.oldest_s, 3),
        **outstanding.document(stack.native),
    }


def holding(stack: TracedStack) -> str:
    """`held by', or `in' for the memory of variables."""
    return "in" if stack.class_name == "modules" else "held by"


def holder_words(stack: TracedStack) -> list[str]:
    """`held by main.cache', or `in table'."""
    return [f"{holding(stack)} {stack.holder}"] if stack.holder else []


_LIBRARIES = ("libc.so", "libc-", "ld-linux", "ld-musl", "libpthread")


# Functions with which the kernel's allocators begin a stack.
_ALLOCATORS = (
    "alloc_frozen_pages",
    "alloc_pages",
    "alloc_percpu",
    "folio_alloc",
    "get_free_page",
    "get_zeroed_page",
    "kmalloc",
    "kmem_cache_alloc",
    "kmemdup",
    "krealloc",
    "kvmalloc",
    "pcpu_alloc",
    "vmalloc",
)


def _wants_memory(frame: TracedFrame) -> bool:
    """Is it none of those that only pass on what others want?"""
    name = frame.function
    if not frame.file and name.lstrip("_").startswith(_ALLOCATORS):
        return False
    file = frame.file.rpartition("/")[2]
    return not (file.startswith(_LIBRARIES) or name.startswith("runtime."))


def caller(frames: Sequence[TracedFrame]) -> TracedFrame | None:
    """The innermost call that is neither of libc nor of Go's runtime nor of an
    allocator of the kernel; without one, the innermost of all."""
    for frame in frames:
        if _wants_memory(frame):
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


def block_words(stack: TracedStack) -> list[str]:
    """Who holds the memory, how many blocks there are, and how old."""
    if stack.native is None:
        return [*holder_words(stack), *age_words(stack)]
    return [
        *outstanding.amount_words(stack.native, stack.blocks or 0),
        *outstanding.owner_words(stack.native, stack.holder),
        *outstanding.state_words(stack.native, stack.bytes, stack.oldest_s),
    ]


def age_words(stack: TracedStack) -> list[str]:
    """How many blocks there are and how old, if their age is known."""
    if stack.oldest_s is None or not stack.blocks:
        return []
    which = "the oldest" if stack.blocks > 1 else "it is"
    return [
        counted(stack.blocks, "block"),
        f"{which} {stack.oldest_s:.1f} s old",
    ]


def text_rows(stacks: Iterable[TracedStack]) -> list[MergedStack]:
    """The rows of the text, the largest first. Stacks that differ only in
    calls which are not printed, or in the depth of recursion, are one row."""
    return merged(stacks, _shown)


def call_lines(row: MergedStack) -> list[str]:
    """The calls of a row, those that repeat only once, and what is known of
    the stack beside them."""
    stack = row.stack
    more = outstanding.more_lines(stack.native) if stack.native else []
    if not row.calls:
        return [f"      {_UNSEEN}", *more]
    lines = _frame_lines(row.calls)
    if not stack.is_finished:
        lines.append("      (the rest of the stack could not be read)")
    if stack.labels:
        said = ", ".join(f"{key}={value}" for key, value in stack.labels)
        lines.append(f"      labels {said}")
    elif stack.labels is None:
        lines.append("      labels not known")
    return [*lines, *more]


def _frame_lines(calls: Sequence[Repeated]) -> list[str]:
    """The first calls, and the program's own first one of Go, however far out
    it is."""
    at = next((i for i, call in enumerate(calls) if _is_own(call)), 0)
    end = _CALLS
    lines = [text for call in calls[:end] for text in _texts(call)]
    if at >= end:
        between = _count(calls[end:at])
        if between:
            lines.append(f"      {between} of C and cgo")
        lines += _texts(calls[at])
        end = at + 1
    left = _count(calls[end:], "more call")
    return [*lines, *([f"      and {left}"] if left else [])]


def _texts(call: Repeated) -> list[str]:
    """A line for each call of a cycle."""
    lines = [f"      {frame_text(frame)}" for frame in call.frames]
    if len(lines) > 1:
        return [*lines, f"      (these {len(lines)} calls {call.times})"]
    return [f"{lines[0]} {call.times}".rstrip()]


def _count(calls: Sequence[Repeated], what: str = "call") -> str:
    """How many calls these are, each as often as it occurs; "" for none."""
    least = sum(len(call.frames) * call.least for call in calls)
    most = sum(len(call.frames) * call.most for call in calls)
    if not most:
        return ""
    return ("" if least == most else f"{least:,} to ") + counted(most, what)


def _is_own(call: Repeated) -> bool:
    """Is it Go's, but neither the runtime's nor cgo's?"""
    return any(
        frame.line
        and not frame.function.startswith("runtime.")
        and "._C" not in frame.function
        for frame in call.frames
    )


def _shown(calls: tuple[Repeated, ...]) -> tuple[Repeated, ...]:
    """Calls of the runtime, which every allocation has, are left out, unless C
    has called."""
    at = next((i for i, call in enumerate(calls) if _is_own(call)), 0)
    is_of_c = any(not f.line for call in calls[:at] for f in call.frames)
    return calls if is_of_c else calls[at:]

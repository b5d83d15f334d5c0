# SPDX-License-Identifier: Apache-2.0
"""The memory that C allocated during a trace: the windows in which that was
seen, the grounds of the answer, and the order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .style import styled
from .units import counted, human_bytes

if TYPE_CHECKING:
    from .report import Document
    from .trace import TraceReport
    from .traced_stack import TracedStack

_OBJECTS = 4  # in a sentence


class TracedAllocator(NamedTuple):
    """An object whose functions are probed. is_walked: it is glibc, whose frees
    have no probe, as the look at the end tells which blocks are free."""

    object: str
    is_walked: bool
    functions: Sequence[str]


class TracedWindow(NamedTuple):
    """A time in which the probes were on. start_s: since the start. calls:
    allocations; lost: those of them that could not be recorded."""

    start_s: float
    seconds: float
    calls: int
    lost: int


class NativeMemory(NamedTuple):
    """The grounds of the stacks.

    open_s: the sum of the windows, in whole_s. periods: those of the whole
    time, without_window of which had no window. is_whole: each call was seen.
    is_sampled: a library has taken samples. sample: one of so many
    allocations was seen. older_s: the least age of the blocks; 0: any.
    is_used: of all rows; None: of some."""

    windows: Sequence[TracedWindow]
    open_s: float
    whole_s: float
    periods: int
    without_window: int
    is_whole: bool
    is_full: bool
    is_sampled: bool
    followed_frees: bool
    allocators: Sequence[TracedAllocator]
    sample: int = 1
    older_s: float = 0.0
    min_bytes: int = 0
    max_bytes: int = 0
    is_used: bool | None = None
    sort: str = "nobody"

    @property
    def is_estimated(self) -> bool:
        return self.is_sampled or not self.is_whole


def heading(memory: NativeMemory, has_look: bool) -> str:
    """The memory that the stacks have."""
    if not memory.windows and not memory.is_sampled:
        return (
            "C memory that was allocated in a window, of which there was none"
        )
    if not has_look or memory.is_used is False:
        there = "was not seen freed"
    elif memory.is_used:
        there = "is still in use"
    else:
        there = "is still in use, or was not seen freed"
    return (
        f"C memory that was allocated during the trace and {there}"
        f"{_how(memory)}, by stack"
    )


def _how(memory: NativeMemory) -> str:
    if memory.is_sampled:
        return " (estimated from samples)"
    if memory.is_whole or not memory.windows:
        return ""
    return f" (estimated from {_windows(memory)})"


def _windows(memory: NativeMemory) -> str:
    """6 windows, 1.9 s of 60.0 s."""
    opened = f"{memory.open_s:.1f} s"
    if memory.open_s < 0.95:
        opened = f"{memory.open_s * 1e3:.0f} ms"
    return (
        f"{counted(len(memory.windows), 'window')}, {opened} of "
        f"{memory.whole_s:.1f} s"
    )


def _recorded(memory: NativeMemory, calls: int, lost: int) -> str:
    """How many allocations of the windows were recorded."""
    if memory.sample > 1:
        text = f"one in {memory.sample:,} was chosen at random"
        return f"{text}, and {lost:,} of these were lost" if lost else text
    return f"{calls - lost:,} were recorded" if lost else "all were recorded"


# ----------------------------------------------------------------------- order


def _bytes_of_nobody(stack: TracedStack) -> tuple[float, ...]:
    it = stack.native
    return (it.nobody_bytes if it else 0, stack.bytes)


_ORDER: dict[str, Callable[[TracedStack], tuple[float, ...]]] = {
    "nobody": _bytes_of_nobody,
    "bytes": lambda stack: (stack.bytes,),
    "blocks": lambda stack: (stack.blocks or 0, stack.bytes),
    "age": lambda stack: (stack.oldest_s or 0.0, stack.bytes),
}


def order(sort: str) -> Callable[[TracedStack], tuple[float, ...]]:
    """The key of a row; the largest comes first."""
    return _ORDER[sort]


# --------------------------------------------------------------------- grounds


def grounds(memory: NativeMemory, report: TraceReport) -> list[str]:
    """How the numbers came about, a line each."""
    return [
        *_seen_lines(memory),
        *_filter_lines(memory),
        *_estimate_lines(memory, report),
        *_free_lines(memory, report),
    ]


def _seen_lines(memory: NativeMemory) -> list[str]:
    if memory.is_sampled:
        return ["the samples are those of a library of the process"]
    calls = sum(window.calls for window in memory.windows)
    lost = sum(window.lost for window in memory.windows)
    if not memory.windows:
        text = (
            "the probes were never on, so no allocation was seen: a longer "
            "trace or a higher --max-overhead may permit windows, and --full "
            "needs none"
        )
        return [styled(text, "warn")]
    lines = [
        f"{counted(calls, 'allocation')} in {_windows(memory)}: "
        f"{_recorded(memory, calls, lost)}"
    ]
    if memory.without_window:
        text = (
            f"no window was open in {memory.without_window:,} of "
            f"{counted(memory.periods, 'period')}: goref assumes that these "
            "are like the others"
        )
        lines.append(styled(text, "warn"))
    return lines


def _filter_lines(memory: NativeMemory) -> list[str]:
    """The blocks that are left out on request."""
    said = []
    if memory.min_bytes or memory.max_bytes:
        least = f"from {human_bytes(memory.min_bytes)}"
        most = f" to {human_bytes(memory.max_bytes)}"
        said.append(
            f"only blocks {least}{most if memory.max_bytes else ' on'} count"
        )
    if memory.older_s:
        said.append(
            f"only blocks that are at least {memory.older_s:g} s old count"
        )
    return said


def _estimate_lines(memory: NativeMemory, report: TraceReport) -> list[str]:
    if not memory.is_estimated or not report.stacks:
        return []
    what = "the samples" if memory.is_sampled else "the windows"
    lines = [
        f"numbers are scaled from {what} to the whole time; each range of "
        "bytes and blocks has three standard deviations on each side"
    ]
    if not memory.is_sampled and not memory.is_whole:
        lines.append(
            "a block counts only if it has survived the last quarter of its "
            "window"
        )
    return lines


def _free_lines(memory: NativeMemory, report: TraceReport) -> list[str]:
    """The blocks that may be counted though they were freed."""
    if memory.is_sampled:
        return []
    walked = [a for a in memory.allocators if a.is_walked]
    others = [a for a in memory.allocators if not a.is_walked]
    lines = []
    if walked and not memory.is_full:
        lines += _walked_lines(memory, report, walked)
    if others and memory.is_whole:
        lines.append(
            f"the blocks of {_names(others)} are those that were not seen "
            "freed"
        )
    elif others:
        lines.append(
            f"frees of {_names(others)} were only seen in the windows: blocks "
            "that are not known to be in use may have been freed outside of "
            "them"
        )
    return lines


def _walked_lines(
    memory: NativeMemory,
    report: TraceReport,
    walked: Sequence[TracedAllocator],
) -> list[str]:
    """Frees are not seen there, as the look at the end tells what was freed."""
    if report.look:
        return [
            f"frees of {_names(walked)} were not seen: blocks that were freed "
            "count, too"
        ]
    if memory.is_whole:
        return []
    return [
        "the walk of the heap at the end tells what was freed; if a block was "
        "freed and its address was allocated again outside of the windows, the "
        "later block counts for the first stack"
    ]


def _names(allocators: Sequence[TracedAllocator]) -> str:
    names = [a.object.rpartition("/")[2] for a in allocators]
    shown = ", ".join(names[:_OBJECTS])
    left = len(names) - _OBJECTS
    return f"{shown} and {left} more" if left > 0 else shown


# ------------------------------------------------------------------------ JSON


def document(memory: NativeMemory | None) -> Document:
    """The keys of a report; null: not the mode native."""
    if memory is None:
        return {"windows": None, "followed_frees": None, "allocators": None}
    return {
        "windows": [
            {
                "start": round(window.start_s, 6),
                "seconds": round(window.seconds, 6),
                "calls": window.calls,
                "lost": window.lost,
            }
            for window in memory.windows
        ],
        "followed_frees": memory.followed_frees,
        "allocators": [
            {
                "object": row.object,
                "walked": row.is_walked,
                "functions": list(row.functions),
            }
            for row in memory.allocators
        ],
    }

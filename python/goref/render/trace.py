# SPDX-License-Identifier: Apache-2.0
"""goref trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import (
    idle as idle_memory,
    kernel_memory,
    native_memory,
    trace_coverage,
)
from .report import Report, partial_lines
from .style import title
from .table import table, wrapped
from .trace_coverage import LOST as LOST, Coverage, Losses as Losses
from .traced_stack import (
    TracedStack,
    block_words,
    call_lines,
    stack_document,
    text_rows,
)
from .units import counted, human_bytes, percent

if TYPE_CHECKING:
    from .recursion import MergedStack
    from .report import Document

_TOP = 10  # stacks as text
_LARGEST = 3  # changes in the line of an interval
CONSEQUENCE = "the answer has gaps"
_TOP_UNTOUCHED = 5
_WORTH = 100  # untouched memory is printed from this part of the Rss on

# Classes of address space that Go's runtime and threads take in advance.
_TAKEN_AHEAD = {"go_heap_idle", "go_heap_scavenged", "thread_stacks"}


class ClassGrowth(NamedTuple):
    """A class of resident memory, and its change."""

    name: str
    text: str
    growth_bytes: int


class TracedInterval(NamedTuple):
    """An interval, in seconds since the start. unattributed_bytes: of new
    pages; None: not known, as the mode does not see page faults.
    overhead_percent: the processor time of the probes, of one processor; None:
    not known. off_s: for how long the probes were taken away,
    because the limit was reached."""

    begin_s: float
    end_s: float
    rss_bytes: int
    growth_bytes: int
    classes: Sequence[ClassGrowth]
    unattributed_bytes: int | None
    events: int
    dropped: int
    overhead_percent: float | None
    off_s: float = 0.0


class OutsideGrowth(NamedTuple):
    """Memory beside the resident pages, at the end, and its change. scope:
    process, or cgroup, whose other processes count, too."""

    name: str
    text: str
    scope: str
    bytes: int
    growth_bytes: int


def signed(count: int) -> str:
    """Bytes with a sign: +1.0 MiB."""
    sign = "-" if count < 0 else "+" if count else ""
    return f"{sign}{human_bytes(abs(count))}"


def interval_line(interval: TracedInterval) -> str:
    """A line for an interval, as it ends."""
    changes = sorted(
        (c for c in interval.classes if c.growth_bytes),
        key=lambda c: -abs(c.growth_bytes),
    )
    largest = ", ".join(
        f"{c.text} {signed(c.growth_bytes)}" for c in changes[:_LARGEST]
    )
    return (
        f"{interval.end_s:7.1f} s {human_bytes(interval.rss_bytes):>11}"
        f" {signed(interval.growth_bytes):>12}  {largest}"
    )


INTERVAL_HEAD = f"{'time':>9} {'resident':>11} {'change':>12}  largest changes"


def interval_document(interval: TracedInterval) -> Document:
    """The JSON document of an interval."""
    return {
        "begin_s": round(interval.begin_s, 3),
        "end_s": round(interval.end_s, 3),
        "rss_bytes": interval.rss_bytes,
        "growth_bytes": interval.growth_bytes,
        "classes": [_class_document(c) for c in interval.classes],
        "unattributed_bytes": interval.unattributed_bytes,
        "events": interval.events,
        "dropped": interval.dropped,
        "overhead_percent": _rounded(interval.overhead_percent),
        "off_seconds": round(interval.off_s, 3),
    }


def _class_document(row: ClassGrowth) -> Document:
    return {"name": row.name, "growth_bytes": row.growth_bytes}


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


class TraceReport(Report):
    """The end of a trace.

    mode: rss, go, kernel or native. exe: the path of the executable, or "".
    ended: why it ended before its time, or "". look: why there was no look at
    the end, or "". new_bytes: pages that came
    since the start and were there at the last tick. gone_before_look_bytes:
    those of them that were gone at the look, which `stacks' does not have.
    stacks_left_out_bytes: of new pages, in rows beyond the most.
    unattributed_bytes: of the pages of `stacks'; None: not known, as the mode
    does not see page faults.
    unfinished_stacks: those of `stacks' and of `untouched' whose start was not
    reached. untouched: the stacks that mapped memory which nobody has touched since,
    without small ranges if there are too many; not in the mode go.
    go_untouched_bytes: at least so much of Go objects is in pages that were
    never touched; None: not known. samples_without_labels: samples of `stacks'
    whose labels are not known; None: neither the mode go nor native."""

    mode: str
    pid: int
    exe: str
    seconds: float
    ended: str
    look: str
    rss_before_bytes: int
    rss_after_bytes: int
    classes: Sequence[ClassGrowth]
    stacks: Sequence[TracedStack]
    new_bytes: int
    gone_bytes: int
    unattributed_bytes: int | None
    unfinished_stacks: int
    events: int
    events_without_stack: int
    losses: Sequence[Losses]
    overhead_percent: float | None
    helper_percent: float | None
    max_overhead_percent: float | None
    coverage: Coverage = Coverage()
    outside: Sequence[OutsideGrowth] = ()
    cgroup: str | None = None
    cgroup_processes: int | None = None
    untouched: Sequence[TracedStack] = ()
    untouched_bytes: int | None = None
    untouched_left_out_bytes: int = 0
    gone_before_look_bytes: int = 0
    stacks_left_out_bytes: int = 0
    go_untouched_bytes: int | None = None
    idle: idle_memory.IdleMemory | None = None
    sample_rate_bytes: int | None = None
    samples_without_labels: int | None = None
    kernel: kernel_memory.KernelMemory | None = None
    native: native_memory.NativeMemory | None = None
    top: int | None = None
    out: str | None = None
    html: str | None = None

    @property
    def is_rate_unknown(self) -> bool:
        """Stripped programs do not tell how much a sample stands for."""
        return self.mode == "go" and not self.sample_rate_bytes

    def forget(self, path: str) -> None:
        """A file could not be written."""
        self.out = None if self.out == path else self.out
        self.html = None if self.html == path else self.html

    @property
    def dropped(self) -> int:
        return sum(lost.count for lost in self.losses)

    # ------------------------------------------------------------------- text

    def lines(self) -> list[str]:
        growth = self.rss_after_bytes - self.rss_before_bytes
        how_long = f"{self.seconds:.1f} s"
        name = self.exe.rpartition("/")[2] or "?"
        return [
            title(
                f"process {self.pid} ({name}): "
                f"{human_bytes(self.rss_before_bytes)} resident, "
                f"{signed(growth)} in {how_long}"
            ),
            *([f"ended early: {self.ended}"] if self.ended else []),
            *partial_lines(self.partial, CONSEQUENCE),
            *self._class_lines(),
            *(kernel_memory.sum_lines(self.kernel) if self.kernel else []),
            *self._stack_lines(),
            *self._untouched_lines(),
            *self._outside_lines(),
            *idle_memory.lines(self.idle, self.top),
            "",
            *(piece for line in self.grounds() for piece in wrapped(line)),
            *([f"profile: {self.out}"] if self.out else []),
            *([f"page: {self.html}"] if self.html else []),
        ]

    def _class_lines(self) -> list[str]:
        changed = [c for c in self.classes if c.growth_bytes]
        if not changed:
            return ["", "no class of resident memory has changed"]
        changed.sort(key=lambda c: -c.growth_bytes)
        rows = [(signed(c.growth_bytes), c.text) for c in changed]
        return ["", *table(rows, left=(1,))]

    def heading(self) -> str:
        """The memory that the stacks have."""
        if self.mode == "go":
            there = "" if self.look else " and still there"
            how = " (estimated)" if (self.sample_rate_bytes or 0) > 1 else ""
            if self.is_rate_unknown:
                how = " (samples only)"
            return f"allocated during the trace{there}{how}, by stack"
        if self.mode == "kernel":
            return (
                "kernel memory that was allocated during the trace and is "
                "still there, by stack"
            )
        if self.native is not None:
            return native_memory.heading(self.native, not self.look)
        when = "are still there"
        if self.ended and self.ended != "Ctrl-C":
            when = "were there when they were last read"
        return f"new pages that {when}, by the stack that touched them"

    def _stack_lines(self) -> list[str]:
        rows = text_rows(self.stacks)
        if self.native is not None:
            key = native_memory.order(self.native.sort)
            rows.sort(key=lambda row: key(row.stack), reverse=True)
        shown = rows[: _TOP if self.top is None else self.top or None]
        if not shown:
            return ["", f"{self.heading()}: none"]
        whole = sum(stack.bytes for stack in self.stacks)
        lines = ["", *map(title, wrapped(f"{self.heading()}:"))]
        for row in shown:
            lines += self._one(row, whole)
        left = len(rows) - len(shown)
        if left > 0:
            rest = sum(row.stack.bytes for row in rows[len(shown) :])
            lines.append(
                f"  and {counted(left, 'more row')} with {human_bytes(rest)} "
                "(--top)"
            )
        return lines

    def _one(self, row: MergedStack, whole: int) -> list[str]:
        stack = row.stack
        what = [stack.class_text or stack.class_name or ""]
        what += [stack.type] if stack.type else []
        what += [f"allocated by {stack.site}"] if stack.site else []
        what += block_words(stack)
        head = (
            f"  {human_bytes(stack.bytes):>10} "
            f"{percent(stack.bytes, whole):>7}  {', '.join(filter(None, what))}"
        )
        return [*wrapped(head), *call_lines(row)]

    def _untouched_lines(self) -> list[str]:
        """Memory that costs nothing yet, if there is much of it."""
        worth = self.rss_after_bytes / _WORTH
        rows = self.wasted()
        whole = sum(row.bytes for row in rows)
        lines: list[str] = []
        if rows and whole >= worth:
            head = (
                "mapped during the trace and not touched, by the stack that "
                f"mapped it: {human_bytes(whole)}"
            )
            lines += ["", title(head)]
            shown = text_rows(rows)[:_TOP_UNTOUCHED]
            for row in shown:
                lines += self._one(row, whole)
            rest = whole - sum(row.stack.bytes for row in shown)
            rest += self.untouched_left_out_bytes
            lines += [f"  and {human_bytes(rest)} more"] if rest else []
        said = self.untouched_objects()
        return [*lines, *(["", said] if said else [])]

    def untouched_objects(self) -> str:
        """The sentence on objects that cost nothing yet; "": not worth it."""
        found = self.go_untouched_bytes or 0
        if found <= self.rss_after_bytes / _WORTH:
            return ""
        return (
            f"at least {human_bytes(found)} of objects of the Go heap are in "
            "pages that nobody has touched"
        )

    def wasted(self) -> list[TracedStack]:
        """Untouched memory that the program's own code has asked for."""
        return [
            row
            for row in self.untouched
            if row.class_name not in _TAKEN_AHEAD
            and not (row.class_name or "").startswith("go_runtime")
        ]

    def outside_changes(self) -> list[OutsideGrowth]:
        """The memory beside the resident pages that has changed."""
        return sorted(
            (row for row in self.outside if row.growth_bytes),
            key=lambda row: (row.scope != "process", -row.growth_bytes),
        )

    def _outside_lines(self) -> list[str]:
        grown = self.outside_changes()
        if not grown:
            return []
        rows = [
            (signed(row.growth_bytes), human_bytes(row.bytes),
             "process" if row.scope == "process" else "group", row.text)
            for row in grown
        ]  # fmt: skip
        head = ("growth", "now", "scope", "memory beside the resident pages")
        lines = ["", *table([head, *rows], left=(2, 3), has_head=True)]
        group = self.group_words()
        return [*lines, *([f"  {group}"] if group else [])]

    def grounds(self) -> list[str]:
        """The grounds of this answer, and its gaps, as sentences."""
        return trace_coverage.grounds(self)

    def group_words(self) -> str:
        """Which group counts the memory; "": none."""
        if self.cgroup is None or self.cgroup_processes is None:
            return ""
        ending = "" if self.cgroup_processes == 1 else "es"
        return (
            f"the group is {self.cgroup}, with "
            f"{self.cgroup_processes:,} process{ending}"
        )

    # ------------------------------------------------------------------- JSON

    def body(self) -> Document:
        shown = self.stacks[: self.top or None]
        return {
            "mode": self.mode,
            "pid": self.pid,
            "exe": self.exe or None,
            "seconds": round(self.seconds, 3),
            "ended": self.ended or None,
            "look": self.look or None,
            "rss_before_bytes": self.rss_before_bytes,
            "rss_after_bytes": self.rss_after_bytes,
            "classes": [_class_document(c) for c in self.classes],
            "new_bytes": self.new_bytes,
            "gone_before_look_bytes": self.gone_before_look_bytes,
            "gone_bytes": self.gone_bytes,
            "unattributed_bytes": self.unattributed_bytes,
            "sample_rate_bytes": self.sample_rate_bytes,
            "samples_without_labels": self.samples_without_labels,
            "kernel": kernel_memory.document(self.kernel),
            **native_memory.document(self.native),
            "stacks": [stack_document(stack) for stack in shown],
            "stacks_left_out_bytes": self.stacks_left_out_bytes,
            "unfinished_stacks": self.unfinished_stacks,
            "untouched_bytes": self.untouched_bytes,
            "untouched_left_out_bytes": self.untouched_left_out_bytes,
            "untouched": [
                _untouched_document(row)
                for row in self.untouched[: self.top or None]
            ],
            "go_untouched_bytes": self.go_untouched_bytes,
            "outside": [_outside_document(row) for row in self.outside],
            "cgroup": self.cgroup,
            "cgroup_processes": self.cgroup_processes,
            **idle_memory.document(self.idle, self.top),
            "events": self.events,
            "events_without_stack": self.events_without_stack,
            "dropped": self.dropped,
            **trace_coverage.document(self.coverage),
            "losses": [lost._asdict() for lost in self.losses],
            "overhead_percent": _rounded(self.overhead_percent),
            "helper_percent": _rounded(self.helper_percent),
            "max_overhead_percent": self.max_overhead_percent,
            "out": self.out,
            "html": self.html,
        }


def _outside_document(row: OutsideGrowth) -> Document:
    return {
        "name": row.name,
        "scope": row.scope,
        "bytes": row.bytes,
        "growth_bytes": row.growth_bytes,
    }


def _untouched_document(stack: TracedStack) -> Document:
    return {
        "frames": [frame._asdict() for frame in stack.frames],
        "bytes": stack.bytes,
        "class": stack.class_name,
        "finished": stack.is_finished,
    }

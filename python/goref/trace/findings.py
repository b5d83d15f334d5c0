# SPDX-License-Identifier: Apache-2.0
"""The outcome of a trace as rows for a person."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..live import duration
from ..render.kernel_memory import KernelKind, KernelMemory
from ..render.trace import ClassGrowth, TracedInterval
from ..render.trace_coverage import Coverage, Losses
from ..render.traced_stack import TracedFrame, TracedStack
from ..render.units import counted, human_bytes
from . import allocators, watch
from .kernel import BENEATH, KINDS

if TYPE_CHECKING:
    from .._goref import GrowthTick
    from .gathered import Sample
    from .labels import Labels
    from .session import Outcome
    from .stacks import Stack, Stacks
    from .watch import Interval

_PAGE = 4096
_MOVED = "moved"
NO_STACK = "no_stack"
_MISSED = "missed"
_FULL = "table_full"
_MOST_ROWS = 1 << 20
_MOST_IDS = 20  # goroutines of a row


def _levels(tick: GrowthTick) -> dict[str, tuple[str, int]]:
    """The text and the bytes of each class. They add up to the Rss of smaps,
    which the kernel tells a moment before the pages."""
    found = {row.name: (row.text, row.bytes) for row in tick.classes}
    rest = tick.rss_bytes - tick.total_bytes
    if rest:
        found[_MOVED] = "changed while it was read", rest
    return found


def class_growth(before: GrowthTick, after: GrowthTick) -> list[ClassGrowth]:
    """The change of each class between two ticks."""
    was, now = _levels(before), _levels(after)
    none = "", 0
    return [
        ClassGrowth(
            name,
            (now.get(name) or was[name])[0],
            now.get(name, none)[1] - was.get(name, none)[1],
        )
        for name in dict.fromkeys([*was, *now])
    ]


def interval(it: Interval, mode: str) -> TracedInterval:
    """An interval of a trace. Only the mode rss sees who touches pages."""
    return TracedInterval(
        it.begin_s,
        it.end_s,
        it.tick.rss_bytes,
        it.growth_bytes,
        class_growth(it.before, it.tick),
        it.tick.unattributed_bytes if mode == "rss" else None,
        it.events,
        sum(n for reason, n in it.lost.items() if reason != NO_STACK)
        + it.tick.lost_events
        - it.before.lost_events,
        it.overhead,
        it.off_s,
    )


def partial(outcome: Outcome, left_out_bytes: int = 0) -> list[str]:
    """Why the answer is not about all of the growth. left_out_bytes: as of
    left_out()."""
    found = losses(outcome)
    lost = sum(row.count for row in found)
    # The kernel does not tell which process these are of.
    most = "up to " if any(row.reason == _MISSED for row in found) else ""
    reasons = [f"{most}{counted(lost, 'event')} not seen"] if lost else []
    off_s = outcome.gathered.all_off_ms / 1e3
    if off_s:
        reasons.append(f"the probes were off for {off_s:.1f} s")
    early_s = outcome.gathered.early_off_ms / 1e3
    if early_s:
        reasons.append(
            f"the probes were off for {duration(early_s)} before the first "
            "interval began"
        )
    reasons += _full_tables(outcome)
    if left_out_bytes:
        reasons.append(
            f"{human_bytes(left_out_bytes)} of the new pages are in the "
            "smallest rows, which are left out, being too many"
        )
    if outcome.plan.mode == "native":
        reasons += _partial_of_native(outcome)
    if outcome.ended == watch.SILENT:
        # The pages were read, but the events of the last interval are lost.
        # In the mode native, all stacks come last.
        since = outcome.intervals[-1].begin_s
        after = f" after {since:.1f} s"
        if outcome.plan.mode == "native":
            after = ""
        reasons.append(f"{outcome.ended}, so the stacks{after} are not known")
    elif outcome.ended and outcome.ended != watch.INTERRUPTED:
        # The pages of the last interval were gone at its end.
        since = outcome.intervals[-1].begin_s
        reasons.append(
            f"{outcome.ended}, so its growth after {since:.1f} s is not known"
        )
    elif outcome.look.problem and outcome.plan.look != "none":
        reasons.append(f"no look at the end: {outcome.look.problem}")
    if outcome.plan.idle and outcome.idle is None:
        reasons.append("it is not known which memory was not accessed")
    return reasons


def _partial_of_native(outcome: Outcome) -> list[str]:
    """Allocations that could not be seen."""
    found = outcome.allocators
    assert found is not None
    reasons = allocators.partial(found)
    if not found.samplers and not outcome.gathered.blocks.windows:
        reasons.append("the probes were never on")
    return reasons


def _full_tables(outcome: Outcome) -> list[str]:
    """Tables of the scanner in which there was no room for all."""
    after, found = outcome.after, outcome.look.found
    reasons = []
    if after.has_left_out_stacks:
        reasons.append(
            "there are too many threads: some of their stacks count as other "
            "memory"
        )
    if outcome.plan.mode != "rss" or found is None:
        return reasons
    if after.mapped_left_out_bytes:
        reasons.append(
            "there are too many mappings: the holders of the smallest ones, "
            f"with {human_bytes(after.mapped_left_out_bytes)}, were not "
            "looked for"
        )
    if found.coarse_bytes:
        reasons.append(
            f"{human_bytes(found.coarse_bytes)} of the new pages have neither "
            "type nor holder, as there are too many rows"
        )
    return reasons


def losses(outcome: Outcome) -> list[Losses]:
    """The events that were not seen. Those without a stack were: their pages
    count as not attributed."""
    lost = outcome.gathered.all_lost + Counter(
        {_FULL: outcome.after.lost_events}
    )
    return [
        Losses(reason, count)
        for reason, count in sorted(lost.items())
        if count and reason != NO_STACK
    ]


def without_stack(outcome: Outcome) -> list[Losses]:
    """The events that were seen and have no stack, but should have one, by
    reason. A table of the helper that is full takes the stack, too: this is
    among the losses."""
    gathered = outcome.gathered
    if outcome.plan.mode == "kernel":
        # The helper tells no events there, but counts what lacks a stack.
        found = {"unreadable": gathered.all_lost[NO_STACK]}
    elif outcome.plan.mode == "native":
        found = {"unreadable": gathered.blocks.count_without_stack()}
    else:
        stacked = gathered.stacked
        unreadable = stacked.unreadable - gathered.all_lost[_FULL]
        found = {
            "over_budget": stacked.brief - stacked.filling,
            "ring_filling": stacked.filling,
            "unreadable": max(unreadable, 0),
        }
    return [Losses(reason, n) for reason, n in found.items() if n]


def coverage(outcome: Outcome) -> Coverage:
    """The grounds of the answer, beside numbers of events and losses."""
    stacked, look = outcome.gathered.stacked, outcome.look
    return Coverage(
        None
        if outcome.plan.mode in ("kernel", "native")
        else stacked.with_stack,
        stacked.given_back,
        without_stack(outcome),
        outcome.gathered.all_off_ms / 1e3,
        look.pause_s,
        look.slowed_s,
    )


def count_unfinished(*lists: Iterable[TracedStack]) -> int:
    """The stacks of some lists of rows whose start was not reached. One stack
    may be in several rows."""
    return len({
        tuple(row.frames)
        for rows in lists
        for row in rows
        if not row.is_finished
    })  # fmt: skip


def _frames(stack: Stack) -> list[TracedFrame]:
    return [TracedFrame(*frame) for frame in stack.frames]


def _stack_of(stacks: Stacks, number: int) -> tuple[list[TracedFrame], bool]:
    """The calls of a stack, and whether its start was reached. Without a stack,
    nothing was cut off."""
    stack = stacks[number]
    return _frames(stack), stack.is_finished or not stack.frames


# ----------------------------------------------------------------------- pages


def page_stacks(outcome: Outcome) -> list[TracedStack]:
    """The stacks that touched the new pages, the largest first: split by what
    the pages hold, if the look has found it."""
    stacks, found = outcome.gathered.stacks, outcome.look.found
    if found is None:
        found_rows: Iterable[Any] = outcome.growth.stacks(_MOST_ROWS)
    else:
        found_rows = found.groups
    rows = [_page_row(stacks, row) for row in found_rows]
    return _merged(rows)


def gone_before_look(outcome: Outcome) -> int:
    """The new pages of the last tick that the look at the end, which comes
    later, has not found any more: in bytes."""
    found = outcome.look.found
    if outcome.plan.mode != "rss" or found is None:
        return 0
    return int(found.gone_bytes)


def left_out(outcome: Outcome, stacks: Iterable[TracedStack]) -> int:
    """The bytes of rows that are not among the stacks, being too many."""
    found = outcome.look.found
    if outcome.plan.mode != "rss":
        return 0
    if found is not None:
        return int(found.rest_bytes)
    return outcome.after.tracked_bytes - sum(row.bytes for row in stacks)


def _merged(rows: Iterable[TracedStack]) -> list[TracedStack]:
    """One row for those that read alike, the largest first. Code addresses of
    one line are different stacks."""
    sums: dict[TracedStack, list[int]] = {}
    for row in rows:
        key = row._replace(frames=tuple(row.frames), bytes=0, blocks=0)
        sizes = sums.setdefault(key, [0, 0])
        sizes[0] += row.bytes
        sizes[1] += row.blocks or 0
    found = [
        key._replace(bytes=size, blocks=blocks)
        for key, (size, blocks) in sums.items()
    ]
    return sorted(found, key=lambda row: -row.bytes)


def untouched(outcome: Outcome) -> list[TracedStack]:
    """The stacks that mapped memory which nobody has touched since, the
    largest first."""
    return [
        _page_row(outcome.gathered.stacks, row)
        for row in outcome.growth.untouched(_MOST_ROWS)
    ]


def _page_row(stacks: Stacks, row: Any) -> TracedStack:
    """row: of Growth.stacks(), or of Scan.growth_pages()."""
    frames, is_finished = _stack_of(stacks, row.stack)
    return TracedStack(
        frames,
        row.bytes,
        -(-row.bytes // _PAGE),
        row.class_name,
        row.class_text,
        getattr(row, "type", None),
        getattr(row, "site", None),
        getattr(row, "holder", None),
        is_finished,
        rss_class=getattr(row, "rss_class", None),
    )


# --------------------------------------------------------------------- samples


class _Group(NamedTuple):
    stack: int
    rss_class: str | None
    class_text: str
    type: str | None
    holder: str | None
    labels: Labels | None


_HEAP = "go_heap"  # the class of objects at a tick
# Classes of rss, of objects that are reached and of others.
_LIVE = "go_heap_live", "Go heap: reached objects"
_GARBAGE = "go_heap_garbage", "Go heap: garbage"


class _Sum:
    """Estimated totals of a group of samples."""

    def __init__(self) -> None:
        self.bytes = self.objects = 0.0
        self.goroutines: dict[int, None] = {}


def weight(size: int, rate: int) -> float:
    """How many allocations of a size stand for one that was sampled, with one
    sample for about `rate` bytes (runtime/pprof/protomem.go:
    scaleHeapSample)."""
    if rate <= 1 or size <= 0:
        return 1.0
    return 1 / -math.expm1(-size / rate)


def sample_stacks(outcome: Outcome) -> list[TracedStack]:
    """The stacks that allocated what survived, the largest first; without a
    look, all that was allocated."""
    rate = outcome.facts.profile_rate or 0
    sums: dict[_Group, _Sum] = defaultdict(_Sum)
    for sample, *what in _survivors(outcome):
        it = sums[_Group(sample.stack, *what, sample.labels)]
        share = weight(sample.bytes, rate)
        it.bytes += sample.bytes * share
        it.objects += share
        if sample.goroutine_id and len(it.goroutines) < _MOST_IDS:
            it.goroutines[sample.goroutine_id] = None
    rows = [
        _sample_row(outcome.gathered.stacks, group, it)
        for group, it in sums.items()
    ]
    return sorted(rows, key=lambda row: -row.bytes)


def count_unlabelled(outcome: Outcome) -> int:
    """The samples behind sample_stacks() whose labels are not known."""
    return sum(sample.labels is None for sample, *_ in _survivors(outcome))


def _survivors(
    outcome: Outcome,
) -> Iterable[tuple[Sample, str | None, str, str | None, str | None]]:
    """Each sample that is still there, with its class, its type and its
    holder; each sample without them, if that is not known."""
    samples = outcome.gathered.samples
    found = outcome.look.found
    if found is None:
        for sample in samples.values():
            yield sample, None, "", None, None
        return
    for row in found.rows:
        of_class = _LIVE if row.is_reached else _GARBAGE
        yield samples[row.address], *of_class, row.type, row.holder


def _sample_row(stacks: Stacks, group: _Group, it: _Sum) -> TracedStack:
    frames, is_finished = _stack_of(stacks, group.stack)
    return TracedStack(
        frames,
        round(it.bytes),
        round(it.objects),
        _HEAP if group.rss_class else None,
        group.class_text,
        group.type,
        None,
        group.holder,
        is_finished,
        sorted(it.goroutines),
        group.labels,
        rss_class=group.rss_class,
    )


# ---------------------------------------------------------------------- kernel


def kernel_stacks(outcome: Outcome) -> list[TracedStack]:
    """The stacks that allocated what the kernel still has, the largest
    first."""
    kernel, now_ns = outcome.gathered.kernel, time.monotonic_ns()
    rows = []
    for row in kernel.rows:
        if row.kind not in KINDS:
            continue
        stack = kernel.stack(row.stack)
        rows.append(
            TracedStack(
                _frames(stack),
                row.bytes,
                row.blocks,
                *KINDS[row.kind],
                is_finished=stack.is_finished or not stack.frames,
                oldest_s=max(now_ns - row.oldest_ns, 0) / 1e9,
            )
        )
    return sorted(rows, key=lambda row: -row.bytes)


def kernel_memory(outcome: Outcome) -> KernelMemory:
    """The sums by allocator."""
    kernel = outcome.gathered.kernel
    sizes: dict[int, int] = defaultdict(int)
    blocks: dict[int, int] = defaultdict(int)
    for row in kernel.rows:
        sizes[row.kind] += row.bytes
        blocks[row.kind] += row.blocks
    return KernelMemory(
        [
            KernelKind(name, text, sizes[kind], blocks[kind])
            for kind, (name, text) in KINDS.items()
        ],
        sizes[BENEATH],
        kernel.other_events,
        kernel.other_ns / 1e7 / outcome.seconds,
    )

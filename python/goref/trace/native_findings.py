# SPDX-License-Identifier: Apache-2.0
"""The outcome of the mode native as rows for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..render.native_memory import NativeMemory, TracedWindow, order
from ..render.outstanding import ListedBlock, Outstanding, OwnerWait
from ..render.traced_stack import TracedFrame, TracedStack
from . import allocators
from .estimate import Estimate, Room, Time

if TYPE_CHECKING:
    from .._goref import GrowthBlock
    from .blocks import Record
    from .labels import Labels
    from .session import Outcome
    from .stacks import Stack, Stacks
    from .waiting import Wait

_HEAP = "c_heap"  # the class of blocks at a tick
_IN_USE = ("in_use", "mapped")
_NS = 1e9
_MOST_IDS = 20  # goroutines of a row
_MOST_LISTED = 10_000  # blocks of a row

_TEXTS = {False: "C heap", True: "mapping"}


class _Group(NamedTuple):
    stack: int
    is_mapping: bool
    in_use: bool | None
    is_held: bool | None
    holder: str | None
    type: str | None
    labels: Labels | None


class _Block(NamedTuple):
    """A record that may be outstanding, and what the look says of it; None:
    there was none. room: the blocks of its size; None: not known."""

    record: Record
    row: GrowthBlock | None
    room: Room | None

    @property
    def in_use(self) -> bool | None:
        return True if self.row and self.row.state in _IN_USE else None

    @property
    def is_held(self) -> bool | None:
        return self.row.is_held if self.row else None

    @property
    def holder(self) -> str | None:
        return self.row.holder if self.row else None

    @property
    def resident_bytes(self) -> int | None:
        """Those of the bytes that were asked for; a block may have more."""
        resident = self.row.resident_bytes if self.row else None
        return None if resident is None else min(resident, self.record.bytes)


class _Sum:
    """The blocks of a group."""

    def __init__(self, time: Time) -> None:
        self.estimate = Estimate(time)
        self.nobody = self.resident = 0.0
        self.is_residence_known = True
        self.sizes: list[int] = []  # the smallest and the largest
        self.times: list[int] = []  # the first and the last
        self.allocated: dict[int, None] = {}
        self.holding: dict[int, None] = {}
        self.in_use: set[bool | None] = set()
        self.held: set[bool | None] = set()
        self.mappings: set[bool] = set()
        self.listed: list[ListedBlock] = []

    def add(self, block: _Block) -> None:
        record, row = block.record, block.row
        factor = self.estimate.add(record, block.room)
        if block.is_held is False:
            self.nobody += factor * record.bytes
        if block.resident_bytes is None:
            self.is_residence_known = False
        else:
            self.resident += factor * block.resident_bytes
        self.sizes = _ends([*self.sizes, record.bytes])
        self.times = _ends([*self.times, record.time_ns])
        _note(self.allocated, record.goroutine_id)
        _note(self.holding, row.goroutine_id if row else 0)
        self.in_use.add(block.in_use)
        self.held.add(block.is_held)
        self.mappings.add(record.is_mapping)

    def list(self, block: _Block, end_ns: int) -> None:
        if len(self.listed) < _MOST_LISTED:
            self.listed.append(
                ListedBlock(
                    block.record.addr,
                    block.record.bytes,
                    _age(end_ns, block.record.time_ns),
                    block.in_use,
                    block.resident_bytes,
                    block.is_held,
                    block.holder,
                )
            )


def _ends(values: list[int]) -> list[int]:
    return [min(values), max(values)]


def _note(ids: dict[int, None], goroutine_id: int) -> None:
    if goroutine_id and len(ids) < _MOST_IDS:
        ids[goroutine_id] = None


def _age(end_ns: int, time_ns: int) -> float:
    return max(end_ns - time_ns, 0) / _NS


# ---------------------------------------------------------------------- blocks


def _outstanding(outcome: Outcome, time: Time) -> Iterator[_Block]:
    """Each record that is not proven to be free and is old enough; after the
    look, as it has found it."""
    older_ns = outcome.plan.native.older_s * _NS
    blocks = outcome.gathered.blocks
    found = outcome.look.found
    # The rows are in the order of the records.
    rows = {row.index: row for row in found.rows} if found else {}
    for index, record in enumerate(blocks):
        row = rows.get(index)
        if (found and row is None) or not time.is_settled(record):
            continue
        if _end_ns(outcome) - record.time_ns >= older_ns:
            yield _Block(record, row, found.room(row) if found else None)


def _end_ns(outcome: Outcome) -> int:
    return outcome.gathered.blocks.end_ns or outcome.span_ns[1]


def time_of(outcome: Outcome) -> Time:
    """The time of the trace, and its windows."""
    plan = outcome.plan
    return Time(
        (outcome.span_ns[0], _end_ns(outcome)),
        allocators.period_ms(plan.every_s) * 1_000_000,
        outcome.gathered.blocks.windows,
        plan.native.sample,
    )


def native_stacks(outcome: Outcome) -> list[TracedStack]:
    """The stacks that allocated what is outstanding, in the order of
    --sort."""
    time, numbers = time_of(outcome), _Numbers(outcome.gathered.stacks)
    sums: dict[_Group, _Sum] = {}
    for block in _outstanding(outcome, time):
        group = _group(outcome, block, numbers.first(block.record.stack))
        it = sums.get(group)
        if it is None:
            it = sums[group] = _Sum(time)
        it.add(block)
        if outcome.plan.native.blocks:
            it.list(block, _end_ns(outcome))
    rows = [_row(outcome, group, it) for group, it in sums.items()]
    key = order(outcome.plan.native.sort)
    return sorted(rows, key=key, reverse=True)


class _Numbers:
    """One number for all stacks that read alike: code addresses of one line
    are different stacks."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._first: dict[Stack, int] = {}
        self._known: dict[int, int] = {}

    def first(self, number: int) -> int:
        if number not in self._known:
            stack = self._stacks[number]
            self._known[number] = self._first.setdefault(stack, number)
        return self._known[number]


def _group(outcome: Outcome, block: _Block, stack: int) -> _Group:
    record, row = block.record, block.row
    if outcome.plan.native.totals:
        return _Group(stack, False, None, None, None, None, ())
    return _Group(
        stack,
        record.is_mapping,
        block.in_use,
        block.is_held,
        block.holder,
        row.type if row else None,
        outcome.gathered.labels_of(record),
    )


def _row(outcome: Outcome, group: _Group, it: _Sum) -> TracedStack:
    stack = outcome.gathered.stacks[group.stack]
    frames = [TracedFrame(*frame) for frame in stack.frames]
    is_mapping = _only(it.mappings)
    blocks, bytes_ = it.estimate.blocks, it.estimate.bytes
    first_ns, last_ns = it.times
    part = it.estimate.part
    native = Outstanding(
        bytes_.low,
        bytes_.high,
        blocks.low,
        blocks.high,
        it.estimate.seen_blocks,
        it.estimate.seen_bytes,
        round(it.nobody * part),
        _only(it.held),
        _only(it.in_use),
        round(it.resident * part) if it.is_residence_known else None,
        *it.sizes,
        _age(_end_ns(outcome), last_ns),
        outcome.plan.native.totals,
        _waits(outcome, it),
        sorted(it.listed, key=lambda block: -block.age_s)
        if outcome.plan.native.blocks
        else None,
    )
    return TracedStack(
        frames,
        bytes_.value,
        blocks.value,
        None if is_mapping is None or is_mapping else _HEAP,
        "" if is_mapping is None else _TEXTS[is_mapping],
        group.type,
        None,
        group.holder,
        stack.is_finished or not frames,
        sorted(it.allocated),
        group.labels,
        _age(_end_ns(outcome), first_ns),
        native=native,
    )


def _only(values: set[bool] | set[bool | None]) -> bool | None:
    """The value that all have; None: they differ, or it is not known."""
    return next(iter(values)) if len(values) == 1 else None


def _waits(outcome: Outcome, it: _Sum) -> list[OwnerWait] | None:
    """Whether the goroutines that hold the blocks wait; if none is known to
    hold them, those that allocated them. Some may be gone."""
    found = outcome.look.found
    if found is None or found.waits is None:
        return None
    role = "holds" if it.holding else "allocated"
    return [*_owners(it.holding or it.allocated, role, found.waits)]


def _owners(
    ids: Iterable[int], role: str, waits: Mapping[int, Wait]
) -> Iterator[OwnerWait]:
    for goroutine_id in sorted(ids):
        wait = waits.get(goroutine_id)
        if wait is not None:
            yield OwnerWait(
                goroutine_id,
                role,
                wait.is_waiting,
                wait.reason,
                wait.seconds,
                wait.function,
                wait.place,
                wait.c_function,
                wait.awaits,
                wait.is_woken,
            )


def count_unlabelled(outcome: Outcome) -> int:
    """The blocks of native_stacks() whose labels are not known."""
    return sum(
        outcome.gathered.labels_of(block.record) is None
        for block in _outstanding(outcome, time_of(outcome))
    )


# --------------------------------------------------------------------- grounds


def native_memory(
    outcome: Outcome, stacks: Iterable[TracedStack]
) -> NativeMemory:
    """The windows and the allocators. stacks: as of native_stacks()."""
    time, native = time_of(outcome), outcome.plan.native
    found = outcome.allocators
    assert found is not None
    used = {stack.native.in_use for stack in stacks if stack.native}
    return NativeMemory(
        [
            TracedWindow(
                (window.begin_ns - time.begin_ns) / _NS,
                (window.end_ns - window.begin_ns) / _NS,
                window.calls,
                window.lost,
            )
            for window in outcome.gathered.blocks.windows
        ],
        sum(w.end_ns - w.begin_ns for w in outcome.gathered.blocks.windows)
        / _NS,
        time.whole_ns / _NS,
        time.periods,
        time.without_window,
        time.is_whole,
        native.full,
        bool(found.samplers),
        found.follows_frees,
        allocators.rows(found),
        native.sample,
        native.older_s,
        native.min_bytes,
        native.max_bytes,
        _is_used(used),
        native.sort,
    )


def _is_used(used: set[bool | None]) -> bool | None:
    """True: all rows; False: it is known of none; None: of some."""
    if used <= {True}:
        return True
    return False if used == {None} else None

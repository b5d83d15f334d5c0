# SPDX-License-Identifier: Apache-2.0
"""All that the helper has said so far, joined with what the scanner sees."""

from __future__ import annotations

import struct
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .blocks import LABELS, Blocks, Record, records
from .kernel import Kernel
from .stacks import Stacks

if TYPE_CHECKING:
    from .._goref import Growth, GrowthTick, Scan
    from .helper import Message
    from .labels import Labels, LabelSets

_SAMPLE = struct.Struct("<QQQQQQII")
_MOST_SAMPLES = 1 << 20
# An event is { u64 address; u32 stack, flags; u64 bytes }, little endian.
_EVENT_BYTES, _STACK_WORD, _FLAGS_AT = 24, 2, 12
_SAMPLE_WORDS, _SAMPLE_STACK_WORD = 14, 12
_GIVEN_BACK, _BRIEF, _FILLING = 4, 8, 32  # flags of the helper
_IS_BRIEF = bytes(1 if flags & _BRIEF else 0 for flags in range(256))
_IS_FILLING = bytes(1 if flags & _FILLING else 0 for flags in range(256))
# Losses after which the page of the event is known.
_WITH_PAGE = ("no_stack", "table_full")
_MOST_EARLY = 1 << 12  # messages with records, before the program is open


class Sample(NamedTuple):
    """An allocation that the runtime has sampled. labels: the pprof labels of
    the goroutine; None: they are not known."""

    addr: int
    bytes: int
    goroutine_id: int
    labels: Labels | None
    stack: int


class Cost(NamedTuple):
    """The events since the last look, those that were lost, by reason, the
    processor time of the probes, and the time in which they were taken away,
    because the limit was reached."""

    events: int
    lost: Counter[str]
    bpf_ns: int
    helper_ns: int
    off_ms: int


class Stacked:
    """Events, by whether they came with a stack. given_back: of memory that
    was given back, which have none. brief: without one to save time, or room;
    filling: those of them that save room.
    unreadable: the helper could not follow their stack at all."""

    def __init__(self) -> None:
        self.with_stack = self.given_back = 0
        self.brief = self.filling = self.unreadable = 0

    def add_events(self, records: bytes) -> None:
        """Count records of events. A look at each would cost a busy trace too
        much time."""
        flags = records[_FLAGS_AT::_EVENT_BYTES]
        brief = flags.translate(_IS_BRIEF).count(1)
        given_back = flags.count(_GIVEN_BACK)
        words = array("I", records)
        without = words[_STACK_WORD :: _EVENT_BYTES // 4].count(0)
        self.brief += brief
        self.filling += flags.translate(_IS_FILLING).count(1)
        self.given_back += given_back
        self.unreadable += without - brief - given_back
        self.with_stack += len(flags) - without

    def add_samples(self, records: bytes) -> None:
        stacks = array("I", records)[_SAMPLE_STACK_WORD::_SAMPLE_WORDS]
        without = stacks.count(0)
        self.unreadable += without
        self.with_stack += len(stacks) - without


class Gathered:
    """gone: why the process is not there any more; "" while it is."""

    gone = ""

    def __init__(
        self, show_call: Callable[[Record], None] = lambda _: None
    ) -> None:
        """show_call: called with each call of an allocator as it happens."""
        self._show_call = show_call
        self._scan: Scan | None = None
        self._growth: Growth | None = None
        self._early: list[Message] = []
        self.stacks = Stacks()
        self.kernel = Kernel()
        self.blocks = Blocks()
        # By address: the latest one. To remove the first one of a dict takes
        # as long as all removals before.
        self.samples: OrderedDict[int, Sample] = OrderedDict()
        self._labels: LabelSets | None = None
        self.stacked = Stacked()
        self.all_events = 0
        self._events = self._bpf_ns = self._helper_ns = self._off_ms = 0
        self._lost: Counter[str] = Counter()
        self.all_lost: Counter[str] = Counter()
        self._has_gaps = False  # since the last tick
        self.all_bpf_ns = self.all_helper_ns = self.all_off_ms = 0
        self.early_off_ms = 0  # before the first interval

    def open(
        self, scan: Scan, growth: Growth, labels: LabelSets | None = None
    ) -> None:
        """Use the program, which may begin later than its events. labels:
        those of its goroutines; None: they are not known."""
        self._scan, self._growth, self._labels = scan, growth, labels
        early, self._early = self._early, []
        for message in early:
            self._take_records(message)

    def take(self, message: Message) -> None:
        """Take a message of the helper."""
        name, rest = message.name, message.rest
        if name == "file":
            self.stacks.add_file(rest)
        elif name == "place":
            self.stacks.add_place(rest)
        elif name == "stack":
            self.stacks.add_stack(rest)
        elif name in ("events", "samples"):
            self._take_records(message)
        elif name == "lost":
            reason, _, count = rest.partition(" ")
            self._lose(reason, int(count))
        elif name == "cost":
            self._take_cost(rest)
        elif name == "off":
            self._has_gaps = True
            self._off_ms += int(rest)
            self.all_off_ms += int(rest)
        elif name == "gone":
            self.gone = rest
        elif name == "window":
            self._lose("table_full", self.blocks.add_window(rest))
        elif name == "ended":
            self.blocks.end_ns = int(rest)
        elif name in ("labels", "blocks", "each"):
            self._take_native(name, message.records)
        else:
            self.kernel.take(name, rest, message.records)

    def _lose(self, reason: str, count: int) -> None:
        if not count:
            return
        self._has_gaps |= reason not in _WITH_PAGE
        self._lost[reason] += count
        self.all_lost[reason] += count

    def _take_records(self, message: Message) -> None:
        """Take events or samples, and name their code while it is there."""
        if self._scan is None or self._growth is None:
            if len(self._early) < _MOST_EARLY:
                self._early.append(message)
            else:
                self._lose("too_early", int(message.rest))
            return
        self.stacks.name_new(self._scan.name_frames)
        if message.name == "events":
            self.stacked.add_events(message.records)
            self._growth.add_events(message.records)
        else:
            self.stacked.add_samples(message.records)
            self._take_samples(message.records)

    def _take_samples(self, records: bytes) -> None:
        rows = [*_SAMPLE.iter_unpack(records)]
        sets = self._labels
        if sets:
            sets.learn((row[3], row[5]) for row in rows if row[3])
        for addr, size, goroutine, at, _, sweepgen, stack, _ in rows:
            labels: Labels | None = None if at else ()
            if sets and at:
                labels = sets.at(at, sweepgen)
            sample = Sample(addr, size, goroutine, labels, stack)
            self.samples[addr] = sample
        while len(self.samples) > _MOST_SAMPLES:
            self.samples.popitem(last=False)
            self._lose("table_full", 1)

    def labels_of(self, record: Record) -> Labels | None:
        """The labels of the goroutine that called; None: they are not known."""
        if not record.labels:
            return ()
        sets = self._labels
        return sets.at(record.labels, record.sweepgen) if sets else None

    def _take_native(self, name: str, data: bytes) -> None:
        """Take what allocators were called for."""
        if name == "labels":
            if self._labels:
                self._labels.learn(LABELS.iter_unpack(data))
            return
        if self._scan is not None:
            self.stacks.name_new(self._scan.name_frames)
        if name == "blocks":
            self._lose("table_full", self.blocks.add(data))
            return
        for record in records(data):
            self._show_call(record)

    def _take_cost(self, rest: str) -> None:
        events, bpf_ns, helper_ns = map(int, rest.split())
        self._events += events
        self.all_events += events
        self._bpf_ns += bpf_ns
        self._helper_ns += helper_ns
        self.all_bpf_ns += bpf_ns
        self.all_helper_ns += helper_ns

    def take_cost(self) -> Cost:
        """The cost since the last call."""
        cost = Cost(
            self._events,
            self._lost,
            self._bpf_ns,
            self._helper_ns,
            self._off_ms,
        )
        self._events = self._bpf_ns = self._helper_ns = self._off_ms = 0
        self._lost = Counter()
        return cost

    def forget_events(self) -> None:
        """Events so far are about memory that was there before the trace: they
        do not count, whether they were seen or lost."""
        self.forget_cost()
        self.early_off_ms = self._events = self.all_events = 0
        self.stacked = Stacked()
        self._lost, self.all_lost = Counter(), Counter()

    def forget_cost(self) -> None:
        """The time so far belongs to no interval."""
        self.early_off_ms += self.all_off_ms
        self._bpf_ns = self._helper_ns = self._off_ms = 0
        self.all_bpf_ns = self.all_helper_ns = self.all_off_ms = 0
        self.kernel.other_events = self.kernel.other_ns = 0

    def forget_rest(self) -> None:
        """The time since the last take_cost() belongs to no interval."""
        self.all_bpf_ns -= self._bpf_ns
        self.all_helper_ns -= self._helper_ns
        self.all_off_ms -= self._off_ms

    def tick(self) -> GrowthTick:
        """Read the pages, and join them with the events so far."""
        assert self._scan and self._growth
        self.stacks.name_new(self._scan.name_frames)
        tick = self._growth.tick(self._has_gaps)
        self._has_gaps = False
        return tick

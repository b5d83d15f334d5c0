# SPDX-License-Identifier: Apache-2.0
"""goref trace: what was seen and what was not."""

import struct
import types

import pytest
import rows

from goref.render.traced_stack import TracedFrame, TracedStack
from goref.trace import findings, look, watch
from goref.trace.gathered import Gathered
from goref.trace.helper import Message
from test_trace import Program, Watched


@pytest.mark.parametrize(
    "mode, known", [("rss", 8192), ("go", None), ("kernel", None)]
)
def test_pages_without_a_stack_of_an_interval(mode, known):
    """Without page faults, no page has one: that says nothing."""
    before, after = (
        rows.make("GrowthTick", unattributed_bytes=n) for n in (0, 8192)
    )
    it = watch.Interval(1, 0.0, 1.0, before, after, 9, {}, 0.0, 0.5)
    found = findings.interval(it, mode)
    assert (found.unattributed_bytes, found.off_s) == (known, 0.5)


@pytest.mark.parametrize(
    "mode, found, gone",
    [
        ("rss", rows.make("GrowthPages", gone_bytes=4096), 4096),
        ("rss", None, 0),
        ("go", rows.make("GrowthSamples"), 0),
    ],
)
def test_pages_that_are_gone_at_the_look(mode, found, gone):
    outcome = types.SimpleNamespace(
        plan=types.SimpleNamespace(mode=mode), look=look.Seen(found)
    )
    assert findings.gone_before_look(outcome) == gone


@pytest.mark.parametrize("has_look", [False, True])
def test_rows_beyond_the_most(monkeypatch, has_look):
    """Their bytes are told, and the answer is partial."""
    kept = rows.make("GrowthStack", bytes=8192)
    pages = rows.make("GrowthPages", groups=(), all_groups=9, rest_bytes=12288)
    outcome = Watched({}, 0)
    outcome.ended, outcome.look = "", look.Seen(pages if has_look else None)
    outcome.plan = types.SimpleNamespace(mode="rss", idle=False)
    outcome.after = rows.make("GrowthTick", tracked_bytes=20480)
    outcome.growth = types.SimpleNamespace(stacks=lambda most: (kept,)[:most])
    stacks = findings.page_stacks(outcome)
    left = findings.left_out(outcome, stacks)
    assert left == 12288
    assert findings.partial(outcome, left) == [
        "12.0 KiB of the new pages are in the smallest rows, which are left "
        "out, being too many"
    ]
    outcome.plan.mode = "go"
    assert findings.left_out(outcome, stacks) == 0


def test_tables_of_the_scanner_that_are_full():
    outcome = Watched({}, 0)
    outcome.plan = types.SimpleNamespace(mode="rss", idle=False)
    outcome.look = look.Seen(rows.make("GrowthPages", coarse_bytes=4096))
    outcome.ended = ""
    outcome.after = rows.make(
        "GrowthTick", mapped_left_out_bytes=8192, has_left_out_stacks=True
    )
    stacks, mappings, groups = findings.partial(outcome)
    assert stacks.startswith("there are too many threads: ")
    assert "too many mappings: the holders of the smallest" in mappings
    assert ", with 8.0 KiB, were" in mappings
    assert groups.startswith("4.0 KiB of the new pages have neither type")
    outcome.look = look.Seen(None)
    assert findings.partial(outcome) == [stacks]


EVENTS = (
    # address, stack, flags, bytes
    (0x1000, 7, 0, 4096),
    (0x2000, 7, 1, 4096),
    (0x3000, 9, 2, 8192),
    (0x4000, 0, 4, 4096),  # given back
    (0x5000, 0, 8, 4096),  # brief
    (0x6000, 0, 8 | 2 | 32, 4096),
    (0x7000, 0, 8 | 16, 96),  # a sample without its stack
    (0x8000, 0, 0, 4096),  # could not be read
    (0x9000, 0, 1, 4096),
    (0x300000000, 0x100, 0, 4096),
)


def counted_events(lost=(), mode="rss"):
    gathered, program = Gathered(), Program()
    gathered.open(program, program)
    records = b"".join(struct.pack("<QIIQ", *event) for event in EVENTS)
    gathered.take(Message("events", str(len(EVENTS)), records))
    gathered.all_lost.update(lost)
    return types.SimpleNamespace(
        gathered=gathered,
        plan=types.SimpleNamespace(mode=mode),
        look=look.Seen(None, pause_s=0.25),
    )


def test_events_by_stack():
    outcome = counted_events()
    found = findings.coverage(outcome)
    assert (found.with_stack, found.given_back) == (4, 1)
    assert found.without_stack == [("over_budget", 2), ("ring_filling", 1), ("unreadable", 2)]
    assert sum(n for _, n in found.without_stack) + 5 == len(EVENTS)
    assert (found.off_s, found.pause_s, found.slowed_s) == (0.0, 0.25, None)


def test_samples_without_a_stack():
    outcome = counted_events()
    pack = struct.Struct("<QQQQQQII").pack
    records = pack(16, 1, 0, 0, 1, 0, 5, 4) + pack(32, 1, 0, 0, 1, 0, 0, 4)
    outcome.gathered.take(Message("samples", "2", records))
    found = findings.coverage(outcome)
    assert found.with_stack == 5
    assert found.without_stack == [("over_budget", 2), ("ring_filling", 1), ("unreadable", 3)]


def test_stacks_that_the_table_of_the_helper_has_no_room_for():
    """They are among the losses already."""
    assert findings.without_stack(counted_events({"table_full": 1})) == [
        ("over_budget", 2), ("ring_filling", 1), ("unreadable", 1)]  # fmt: skip
    assert findings.without_stack(counted_events({"table_full": 9})) == [
        ("over_budget", 2), ("ring_filling", 1)]  # fmt: skip


def test_events_without_a_stack_in_the_kernel():
    """The helper counts them there."""
    outcome = counted_events({"no_stack": 6}, "kernel")
    found = findings.coverage(outcome)
    assert found.with_stack is None
    assert found.without_stack == [("unreadable", 6)]


def test_stacks_that_are_not_finished():
    """One stack counts once, whatever it holds and wherever it is listed."""
    call = TracedFrame("f", "m.go", 3), TracedFrame("main.main", "m.go", 9)
    whole = [TracedStack(call, 8192), TracedStack(call[1:], 4096)]
    cut = [row._replace(is_finished=False) for row in whole]
    again = cut[0]._replace(class_name="other", frames=[*cut[0].frames])
    assert findings.count_unfinished([*whole, cut[0], again]) == 1
    assert findings.count_unfinished([cut[0]], [again, cut[1]]) == 2
    assert findings.count_unfinished([], []) == 0


def test_probes_that_were_off_make_it_partial():
    outcome = Watched({}, 0)
    outcome.ended, outcome.look = "", look.Seen(None)
    outcome.plan = types.SimpleNamespace(mode="rss", idle=False)
    assert findings.partial(outcome) == []
    outcome.gathered.all_off_ms = 12340
    assert findings.partial(outcome) == ["the probes were off for 12.3 s"]
    outcome.gathered.early_off_ms = 1537
    assert findings.partial(outcome)[1:] == [
        "the probes were off for 1.54 s before the first interval began"
    ]


def test_an_interval_in_which_the_probes_were_off():
    gathered = Gathered()
    gathered.take(Message("off", "250"))
    it = watch.Watch(7, None, gathered, None, None, from_empty=False)
    ticks = rows.make("GrowthTick"), rows.make("GrowthTick")
    assert it._interval(1, (0.0, 1.0), ticks).off_s == 0.25
    assert it._interval(2, (1.0, 2.0), ticks).off_s == 0.0


class Ticking(Program):
    """Says of each tick whether events may be missing."""

    def tick(self, has_gaps):
        return has_gaps


def test_a_tick_knows_that_events_are_missing():
    """Until it has been told once; an event without a stack has its page."""
    gathered, program = Gathered(), Ticking()
    gathered.open(program, program)

    def tick(*lines):
        for name, _, rest in (line.partition(" ") for line in lines):
            gathered.take(Message(name, rest))
        return gathered.tick()

    assert not tick("lost no_stack 5", "lost table_full 6", "cost 9 9 9")
    for line in ("lost over_budget 1", "lost ring_full 1", "lost missed 1"):
        assert tick(line, "lost no_stack 1")
        assert not tick()
    assert tick("off 0") and not tick()

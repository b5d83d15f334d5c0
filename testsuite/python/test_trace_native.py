# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native: what the helper says, and the rows of it."""

import struct
import sys
from types import SimpleNamespace

import pytest
import rows

from goref.render.called import call_document, call_line
from goref.trace import (
    blocks as blocks_module,
    calls,
    findings,
    forecast,
    native_findings,
    native_look,
    watch,
    written,
)
from goref.trace.blocks import Blocks, records
from goref.trace.gathered import Gathered
from goref.trace.helper import RECORD_BYTES, Helper, Message, Started
from native_traces import (
    FREE,
    JEMALLOC,
    MMAP,
    S,
    Block,
    Sampler,
    Wait,
    gathered,
    outcome,
    packed,
)
from test_trace import Program

# ----------------------------------------------------------------- the helper


def test_sizes_of_records():
    assert RECORD_BYTES["blocks"] == RECORD_BYTES["each"] == len(packed(1))
    assert RECORD_BYTES["labels"] == 16


def test_started(monkeypatch):
    """The messages that came with the answer are not lost."""
    helper = object.__new__(Helper)
    helper._setup = []
    answers = [Message("probe", "malloc"), Message("counted", "500 250000000 1500"),
               Message("ready", ""), Message("stack", "1 0 1 7")]  # fmt: skip
    monkeypatch.setattr(helper, "_say", lambda lines: None)
    with monkeypatch.context() as patched:
        patched.setattr(helper, "read", lambda seconds: answers)
        started = helper.start(lambda: None)
    assert started == Started(["malloc"], None, 2000.0, 1500)
    assert helper.read(0.0) == answers[3:]
    assert Started([]).with_counted("0 0 0") == Started([])


def forecasted(limit=1.0, **more):
    known = {"per_s": 100_000.0, "call_ns": 1500, "period_s": 10.0} | more
    return forecast.text("native", limit, calls=forecast.Calls(**known))


def test_forecast_of_windows():
    """100,000 calls of 1.5 us are 15 % of a processor; 0.8 % is 0.53 s of
    ten."""
    assert forecasted() == (
        "forecast: there are 100,000 allocations a second now, and recording "
        "one costs about 1.5 us, so a window of about 0.533 s in each 10 s "
        "keeps the cost below the limit; the limit is 1 %"
    )
    assert "about 53.3 ms in each" in forecasted(0.1)


def test_forecast_of_short_windows():
    """No window is shorter than 50 ms; the budget of several periods is saved
    for one."""
    said = forecasted(0.09)
    assert "a window of about 50 ms in each 20 s keeps" in said


def test_forecast_of_rare_calls():
    said = forecasted(per_s=1000.0)
    assert "so the probes can stay on the whole time; the limit is 1" in said


def test_forecast_of_full_tracing():
    said = forecasted(is_full=True)
    assert "so about 15.00 % of a processor; --full has no limit" in said


@pytest.mark.parametrize(
    "known, words",
    [
        ({"per_s": None}, "how many allocations there will be is not known"),
        ({"call_ns": None}, "what the probes add to each is not known"),
        ({"is_sampled": True}, "neither how often it will do so nor what"),
    ],
)
def test_forecast_without_a_number(known, words):
    said = forecasted(**known)
    assert words in said and said.count("%") == 1


def test_windows_and_blocks():
    found = gathered(packed(16, stack=0), packed(32, 100),
                     windows=("1 5 9 40 3", "2 20 30 7 0"))  # fmt: skip
    assert found.blocks.windows == [(1, 5, 9, 40, 3), (2, 20, 30, 7, 0)]
    assert len(found.blocks) == 2 and found.blocks.count_without_stack() == 1
    assert struct.unpack("<4Q", found.blocks.places()) == (16, 64, 32, 100)
    assert [r.kind_name for r in found.blocks] == ["malloc", "malloc"]
    assert len(Blocks().places()) == 0


def test_blocks_beyond_the_most(monkeypatch):
    monkeypatch.setattr(blocks_module, "_MOST_BLOCKS", 3)
    monkeypatch.setattr(blocks_module, "_MOST_WINDOWS", 1)
    made = [packed(16 * n) for n in range(1, 6)]
    found = gathered(*made, windows=("1 0 9 5 0", "2 9 18 40 0"))
    assert [record.addr for record in found.blocks] == [16, 32, 48]
    assert len(found.blocks.windows) == 1
    assert found.all_lost == {"table_full": 2 + 40}
    assert gathered(packed(16)).all_lost == {}


def test_an_unknown_kind():
    (record,) = records(packed(16, kind=99))
    assert record.kind_name == "" and not record.is_mapping


def test_labels_are_read_at_once():
    """Before the sweepgen changes."""
    found = gathered(packed(16, labels=0x99), packed(32),
                     packed(48, labels=0x99, sweepgen=8))  # fmt: skip
    labels = [found.labels_of(record) for record in found.blocks]
    assert labels == [(("step", "0x99"),), (), None]
    alone = Gathered()
    (record,) = records(packed(16, labels=0x99))
    assert alone.labels_of(record) is None


def test_each_call():
    """Shown as it comes, with its stack."""
    shown = []
    found = Gathered(lambda record: shown.append(record))
    program = Program()
    found.open(program, program)
    found.take(Message("place", "1 0x20 0x120 0 leak_a"))
    found.take(Message("stack", "1 0 6 1 1 1 1 1 1"))
    data = packed(0x7F0012345670, 4096, 2.5, goid=9, kind=MMAP)
    data += packed(0x40, 0, 2.6, stack=0, kind=FREE)
    found.take(Message("each", "2", data))
    one, other = (calls.called(r, found.stacks, S) for r in shown)
    assert call_line(one) == (
        "  1.500000 s           mmap     4.0 KiB 0x7f0012345670  thread 77 "
        "goroutine 9  leak_a < leak_a < leak_a < leak_a < ..."
    )
    assert call_line(other).split() == [
        "1.600000", "s", "free", "0x000000000040", "thread", "77",
    ]  # fmt: skip
    lost = call_line(other._replace(kind="malloc"))
    assert lost.endswith("thread 77  no stack")
    made = call_document(one)
    assert len(made.pop("frames")) == 6
    assert made == {"kind": "mmap", "time_s": 1.5, "bytes": 4096,
                    "address": "0x7f0012345670", "thread": 77,
                    "goroutine": 9}  # fmt: skip
    assert call_document(other)["goroutine"] is None
    assert calls.called(shown[0], found.stacks, 9 * S).time_s == 0
    sample = shown[0]._replace(kind=0, weight=512)
    assert calls.called(sample, found.stacks, 0).kind == "sample"


# ------------------------------------------------------------------- the rows


def test_rows_of_a_walked_heap():
    """Those that are proven to be free have none. Two stacks that read alike
    are one."""
    made = [packed(16, at_s=10), packed(32, at_s=20, stack=3),
            packed(48), packed(64, 100, stack=2)]  # fmt: skip
    rows = [Block(0), Block(1), Block(3, is_held=True, holder="main.x")]
    first, second = native_findings.native_stacks(outcome(made, rows))
    assert [frame.function for frame in first.frames] == ["leak_a", "main.inner", "main.f"]
    assert (first.bytes, first.blocks, first.holder) == (128, 2, None)
    assert (first.class_name, first.class_text) == ("c_heap", "C heap")
    assert first.oldest_s == 50 and first.native.youngest_s == 40
    it = first.native
    assert (it.low, it.high, it.low_blocks, it.high_blocks) == (128, 128, 2, 2)
    assert (it.held, it.in_use, it.nobody_bytes) == (False, True, 128)
    assert it.resident_bytes == 128  # of those that were asked for
    assert (second.bytes, second.holder) == (100, "main.x")
    assert second.native.held and second.native.nobody_bytes == 0
    assert (second.native.smallest_bytes, second.native.largest_bytes) == (100, 100)


def test_rows_split():
    """By state, holder, type and labels."""
    made = [packed(16 * n, labels=0x99 * (n == 5)) for n in range(1, 7)]
    rows = [
        Block(0),
        Block(1, is_held=True, holder="main.x"),
        Block(2, is_held=True, holder="main.x", type="struct a"),
        Block(3, "unknown", is_held=None),
        Block(4),
        Block(5, "mapped"),
    ]
    found = native_findings.native_stacks(outcome(made, rows))
    assert len(found) == 5
    assert sum(row.bytes for row in found) == 6 * 64
    assert [row.native.in_use for row in found].count(None) == 1
    (total,) = native_findings.native_stacks(
        outcome(made, rows, ["--totals"])
    )
    assert (total.bytes, total.native.nobody_bytes) == (6 * 64, 3 * 64)
    assert total.native.in_use is None and total.native.held is None
    assert total.native.is_total and total.labels == ()


def test_without_a_look():
    """All that was not seen freed, and nothing more is known of it."""
    made = outcome([packed(16), packed(32, 8)], problem="--look none")
    (row,) = native_findings.native_stacks(made)
    it = row.native
    assert (it.in_use, it.held, it.resident_bytes) == (None, None, None)
    assert row.blocks == 2 and it.waits is None and it.nobody_bytes == 0
    memory = native_findings.native_memory(made, [row])
    assert memory.is_used is False


def test_numbers_are_scaled():
    """One window of eight seconds in each of six periods of ten, in whose last
    quarter blocks have to survive."""
    windows = [f"{n + 1} {10 * n * S} {(10 * n + 8) * S} 9 0" for n in range(6)]
    made = [packed(16 * n, window=n) for n in range(1, 7)]
    rows = [Block(n) for n in range(6)]
    it = outcome(made, rows, windows=windows)
    (row,) = native_findings.native_stacks(it)
    assert (row.blocks, row.bytes) == (10, 640)
    assert row.native.low_blocks < 10 < row.native.high_blocks
    assert row.native.low >= 6 * 64 and row.native.seen_bytes == 6 * 64
    assert row.native.nobody_bytes == 640
    assert row.native.resident_bytes == 640
    memory = native_findings.native_memory(it, [row])
    assert (memory.open_s, memory.whole_s) == (48, 60)
    assert not memory.is_whole and memory.is_used
    assert memory.windows[1] == (10.0, 8.0, 9, 0)


def test_only_old_blocks():
    made = [packed(16, at_s=10), packed(32, at_s=56)]
    it = outcome(made, [Block(0), Block(1)], ["--older", "5s"])
    (row,) = native_findings.native_stacks(it)
    assert row.blocks == 1 and row.oldest_s == 50


@pytest.mark.parametrize(
    "sort, first",
    [("nobody", "nobody"), ("bytes", "large"), ("blocks", "many"), ("age", "old")],
)
def test_order(sort, first):
    """By default, what nobody holds comes first."""
    made = {
        "large": ([packed(16, 5000, 50)], "main.large"),
        "many": ([packed(16 * n, 9, 50) for n in range(2, 9)], "main.many"),
        "old": ([packed(160, 9, 2)], "main.old"),
        "nobody": ([packed(176, 100, 50)], None),
    }
    all_records, rows = [], []
    for some, holder in made.values():
        for record in some:
            rows.append(Block(len(rows), is_held=bool(holder), holder=holder))
            all_records.append(record)
    found = native_findings.native_stacks(
        outcome(all_records, rows, ["--sort", sort])
    )
    names = [(row.holder or "main.nobody")[5:] for row in found]
    assert len(names) == 4 and names[0] == first


def test_listed_blocks():
    made = [packed(16, at_s=30), packed(32, 100, 10), packed(48)]
    rows = [Block(0), Block(1, resident_bytes=None)]
    (row,) = native_findings.native_stacks(outcome(made, rows, ["--blocks"]))
    assert row.native.blocks == [
        (32, 100, 50.0, True, None, False, None),
        (16, 64, 30.0, True, 64, False, None),
    ]
    assert row.native.resident_bytes is None
    (row,) = native_findings.native_stacks(outcome(made, rows))
    assert row.native.blocks is None


def test_the_most_listed_blocks(monkeypatch):
    monkeypatch.setattr(native_findings, "_MOST_LISTED", 2)
    made = [packed(16 * n) for n in range(1, 6)]
    rows = [Block(n) for n in range(5)]
    (row,) = native_findings.native_stacks(outcome(made, rows, ["--blocks"]))
    assert len(row.native.blocks) == 2 and row.native.seen_blocks == 5


def test_mappings():
    """They are a row of their own, and no part of the C heap."""
    made = [packed(4096, 8192, kind=MMAP), packed(16)]
    rows = [Block(0, "mapped"), Block(1)]
    found = native_findings.native_stacks(outcome(made, rows, ["--mappings"]))
    assert [(r.class_name, r.class_text) for r in found] == [
        (None, "mapping"), ("c_heap", "C heap"),
    ]  # fmt: skip


def test_samples():
    made = [packed(16, 64, weight=6400, window=0)]
    it = outcome(made, [Block(0)], windows=(), functions=(),
                 samplers=[Sampler("/x/libsam.so", 5)])  # fmt: skip
    (row,) = native_findings.native_stacks(it)
    assert (row.bytes, row.blocks) == (6400, 100)
    memory = native_findings.native_memory(it, [row])
    assert memory.is_sampled and memory.is_estimated and memory.followed_frees


def test_labels_of_rows():
    made = [packed(16, labels=0x99), packed(32, labels=0x55, sweepgen=4)]
    it = outcome(made, [Block(0), Block(1)])
    found = native_findings.native_stacks(it)
    assert {row.labels for row in found} == {(("step", "0x99"),), None}
    assert native_findings.count_unlabelled(it) == 1
    only = outcome(made, [Block(0)])
    assert native_findings.count_unlabelled(only) == 0


def test_goroutines_that_wait():
    """Those that hold the blocks; without one, those that allocated."""
    made = [packed(16, goid=7), packed(32, goid=8, stack=2), packed(48)]
    rows = [Block(0, is_held=True, holder="g", goroutine_id=5), Block(1), Block(2)]
    waits = {
        5: Wait(5, True, "chan receive", 9.5, "main.f", "main.f at f.go:3",
                None, "to receive", True),
        8: Wait(8, None, "syscall", None, "main.g", None, "C.g"),
        7: Wait(7, False, "running"),
    }  # fmt: skip
    found = native_findings.native_stacks(
        outcome(made, rows, ["--holders"], waits)
    )
    said = {row.holder or row.frames[0].function: row.native.waits for row in found}
    assert said == {
        "g": [(5, "holds", True, "chan receive", 9.5, "main.f",
               "main.f at f.go:3", None, "to receive", True)],
        "leak_b": [(8, "allocated", None, "syscall", None, "main.g", None,
                    "C.g", None, False)],
        "leak_a": [],
    }  # fmt: skip
    assert {tuple(row.goroutines) for row in found} == {(7,), (8,), ()}


def test_many_goroutines_of_a_row():
    made = [packed(16 * n, goid=n) for n in range(1, 99)]
    (row,) = native_findings.native_stacks(
        outcome(made, [Block(n) for n in range(98)])
    )
    assert row.goroutines == [*range(1, 21)]


# ------------------------------------------------------------------- the look


class Looked:
    """A scan at the end."""

    def __init__(self, rows, is_known=True):
        self.rows, self.is_known, self.asked = rows, is_known, None

    def growth_blocks(self, blocks, are_walked):
        self.asked = blocks, are_walked
        return SimpleNamespace(rows=self.rows, is_known=self.is_known, gaps=())

    def native(self):
        size = SimpleNamespace(bytes=112, blocks=3)
        return SimpleNamespace(sizes=(size,))


def test_the_question():
    blocks = gathered(packed(16), packed(32, 100)).blocks
    scan = Looked((Block(1),))
    found = native_look.question(scan, blocks, True, False)
    assert found == ((Block(1),), True, None, {112: 3})
    assert found.room(Block(1, bytes=104, block_bytes=112)) == (104, 3)
    assert found.room(Block(1, "unknown", 104, block_bytes=0)) is None
    assert found.room(Block(1, bytes=112, block_bytes=120)) is None
    assert scan.asked == (struct.pack("<4Q", 16, 64, 32, 100), True)
    unknown = Looked((), False)
    assert not native_look.question(unknown, blocks, False, False).is_known


def test_the_question_about_waits(monkeypatch):
    """It is about goroutines that hold or allocated what is left."""
    asked = []

    def waits_of(scan, ids):
        asked.extend(ids)
        return {5: Wait(5, True, "select", 1.0)}

    fake = SimpleNamespace(waits_of=waits_of)
    monkeypatch.setitem(sys.modules, "goref.trace.waiting", fake)
    blocks = gathered(packed(16, goid=7), packed(32, goid=8)).blocks
    scan = Looked((Block(1, goroutine_id=5),))
    found = native_look.question(scan, blocks, False, True)
    assert asked == [5, 8] and found.waits[5].reason == "select"
    monkeypatch.setattr(native_look, "_MOST_IDS", 1)
    native_look.question(scan, blocks, False, True)
    assert asked == [5, 8, 5]


# ------------------------------------------------------------------ the grounds


def test_stacks_that_could_not_be_read():
    it = outcome([packed(16, stack=0), packed(32)], [Block(0), Block(1)])
    it.gathered.take(Message("lost", "no_stack 9"))
    assert findings.without_stack(it) == [("unreadable", 1)]
    it.look = it.look._replace(pause_s=0.5)
    found = findings.coverage(it)
    assert (found.with_stack, found.pause_s) == (None, 0.5)


def test_why_an_answer_is_partial():
    it = outcome([], [], windows=())
    it.after = rows.make("GrowthTick", lost_events=0)
    it.intervals = [watch.Interval(2, 1.0, 1.5, None, None, 0, {}, 0.0)]
    assert findings.partial(it) == ["the probes were never on"]
    it.allocators = it.allocators._replace(samplers=(Sampler("/x.so", 5),))
    assert findings.partial(it) == []
    it.allocators = it.allocators._replace(left_out=2, unreadable=1)
    assert findings.partial(it) == [
        "2 allocator functions beyond a limit of goref had no probe",
        "1 file of the process cannot be read, so functions there have no "
        "probe",
    ]
    it.allocators = it.allocators._replace(left_out=0, unreadable=0)
    it.ended = watch.SILENT
    it.look = it.look._replace(problem=watch.SILENT)
    assert findings.partial(it) == [
        "goref-trace does not answer, so the stacks are not known"
    ]


def test_allocators_that_are_not_walked():
    it = outcome([packed(16)], [Block(0, "unknown", is_held=None)],
                 functions=JEMALLOC)  # fmt: skip
    memory = native_findings.native_memory(
        it, native_findings.native_stacks(it)
    )
    assert memory.followed_frees and memory.is_used is False
    assert [row.is_walked for row in memory.allocators] == [False]


def test_files_of_other_tools():
    made = [packed(16), packed(32, stack=2)]
    rows = [Block(0), Block(1, is_held=True, holder="main.x")]
    stacks = native_findings.native_stacks(outcome(made, rows))
    assert written.folded(stacks).splitlines() == [
        "main.f;main.inner;leak_a;[c_heap] 64",
        "main.f;main.inner;leak_b;[c_heap] 64",
    ]
    tree = written._Tree()
    for stack in stacks:
        tree.add(stack)
    assert [dict(labels)["holder"] for labels in tree.sets] == ["nobody", "main.x"]
    assert [sum(n[at] for n in tree.nodes) for at in (3, 4)] == [2, 128]

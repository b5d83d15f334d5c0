# SPDX-License-Identifier: Apache-2.0
"""goref trace PID kernel: what the helper says, and the sums of it."""

import struct
import time
from types import SimpleNamespace

import pytest

from goref.render import kernel_memory
from goref.render.trace import TraceReport
from goref.trace import findings
from goref.trace.gathered import Gathered
from goref.trace.helper import RECORD_BYTES, Damaged, Decoder
from goref.trace.stacks import UNSEEN, Frame

SECOND_NS = 1_000_000_000
_RECORD = struct.Struct("<IIQQQ")


def records(*rows):
    return b"".join(_RECORD.pack(*row) for row in rows)


def said(*rows, now_ns=None):
    """The output of the helper at a tick."""
    now_ns = time.monotonic_ns() if now_ns is None else now_ns
    old = now_ns - 5 * SECOND_NS
    rows = [(*row, old) for row in rows]
    return (
        b"kplace 18446744071578845184 do_eventfd\n"
        b"kplace 18446744071578845440 nf_hook [nf_tables]\n"
        b"kplace 18446744071578845696 \n"
        b"kstack 1 0 2 18446744071578845184 18446744071578845440\n"
        b"kstack 2 1 1 18446744071578845696\n"
        + f"kernel {len(rows)}\n".encode()
        + records(*rows)
        + b"others 1000 5000000\n"
    )


def gathered(data):
    found = Gathered()
    for message in Decoder().feed(data):
        found.take(message)
    return found


def outcome(*rows):
    return SimpleNamespace(gathered=gathered(said(*rows)), seconds=2.0)


def test_size_of_a_record():
    assert RECORD_BYTES["kernel"] == _RECORD.size == 32


def test_stacks():
    kernel = gathered(said()).kernel
    assert kernel.stack(1).frames == (
        Frame("do_eventfd"),
        Frame("nf_hook [nf_tables]"),
    )
    assert kernel.stack(1).is_finished
    assert kernel.stack(2).frames == (Frame("0xffffffff81000200"),)
    assert not kernel.stack(2).is_finished
    assert kernel.stack(3) == UNSEEN


def test_a_tick_replaces_the_last_one():
    kernel = gathered(said((1, 1, 640, 10)) + said((2, 1, 192, 1))).kernel
    assert [row[:4] for row in kernel.rows] == [(2, 1, 192, 1)]
    assert kernel.other_events == 2000
    assert gathered(said((1, 1, 640, 10)) + said()).kernel.rows == []


def test_a_damaged_number():
    with pytest.raises(Damaged):
        list(Decoder().feed(b"kernel -1\n"))


def test_rows():
    found = findings.kernel_stacks(
        outcome(
            (1, 1, 640, 10), (5, 1, 8192, 1), (2, 0, 1920, 10), (9, 1, 1, 1)
        )
    )
    assert [(s.class_name, s.bytes, s.blocks) for s in found] == [
        ("slab", 1920, 10),
        ("kmalloc", 640, 10),
    ]
    assert found[0].frames == [] and found[0].is_finished
    assert 5 <= found[1].oldest_s < 1000


def test_sums():
    memory = findings.kernel_memory(
        outcome(
            (1, 1, 640, 10), (1, 2, 64, 1), (3, 1, 4096, 1), (5, 1, 8192, 2)
        )
    )
    kinds = {kind.name: (kind.bytes, kind.blocks) for kind in memory.kinds}
    assert kinds == {
        "kmalloc": (704, 11),
        "slab": (0, 0),
        "pages": (4096, 1),
        "percpu": (0, 0),
    }
    assert memory.allocator_bytes == 8192
    assert (memory.other_events, memory.other_percent) == (1000, 0.25)
    assert kernel_memory.document(memory)["bytes"] == 4800


def report(*rows, **more):
    it = outcome(*rows)
    return TraceReport(
        tool_version="1",
        partial=[],
        mode="kernel",
        pid=7,
        exe="",
        seconds=2.0,
        ended="",
        look="",
        rss_before_bytes=0,
        rss_after_bytes=0,
        classes=[],
        stacks=findings.kernel_stacks(it),
        new_bytes=4096,
        gone_bytes=0,
        unattributed_bytes=None,
        unfinished_stacks=0,
        events=3,
        events_without_stack=0,
        losses=[],
        overhead_percent=0.5,
        helper_percent=0.25,
        max_overhead_percent=1,
        kernel=findings.kernel_memory(it),
        **more,
    )


def test_text():
    lines = report((1, 1, 6400, 100), (2, 2, 192, 1)).lines()
    text = "\n".join(lines)
    assert "kernel memory that was allocated during the trace and is" in text
    assert "kmalloc, 100 blocks, the oldest 5.0 s old" in text
    assert "slab objects, 1 block, it is 5.0 s old" in text
    assert any(line.split() == ["6.4", "KiB", "101", "all"] for line in lines)
    assert "(the rest of the stack could not be read)" in text
    assert "1,000 runs of the probes for other memory" in text
    assert "of the new pages have a stack" not in text


def test_text_of_nothing():
    text = "\n".join(report().lines())
    assert "still there, by stack: none" in text


def test_other_modes_have_no_sums():
    assert kernel_memory.document(None) is None

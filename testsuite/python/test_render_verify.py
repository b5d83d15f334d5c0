# SPDX-License-Identifier: Apache-2.0
"""goref verify: rows to text and JSON."""

import json
import re

import pytest

from goref.render.verify import VerifyReport, unexplained
from rows import make as make_row

LOST = ["1 page of memory is missing"]


def report(make, verdict, partial=()):
    return VerifyReport(
        tool_version="1.2.3",
        partial=partial,
        info=make.info(warnings=("torn",)),
        verdict=verdict,
    )


def last_line(make, verdict, partial=()):
    return report(make, verdict, partial).text().splitlines()[-1]


def test_all_reached(make):
    assert (
        report(make, make.verdict((1000, 8192), (1000, 8192))).text()
        == """\
core /tmp/core of /srv/app
go1.24.4, no collection running, 7 goroutines

  heap         objects  bytes
  allocated      1,000  8,192
  reached        1,000  8,192
  not reached        0      0

  figure       the runtime's  rebuilt
  HeapAlloc            8,192    8,192  equal to the byte
  HeapObjects          1,000    1,000  equal

  pointers to free slots: 0
  pointers to objects that were not reached: 0

verified: all 1,000 objects are reached
"""
    )


@pytest.mark.parametrize(
    "reached, wrong, partial, line",
    [
        ((9, 72), 0, (), "verified: of 10 objects, 1 are not reached, each "
         "for a reason"),
        ((9, 72), 1, (), "NOT verified: 1 difference without an explanation"),
        ((8, 64), 2, (), "NOT verified: 2 differences without an "
         "explanation"),
        ((10, 80), 0, LOST, "not verified: all 10 objects that are seen are "
         "reached, but a part is missing"),
        ((9, 72), 1, LOST, "not verified: what is missing may explain the "
         "differences"),
    ],
)  # fmt: skip
def test_last_line(make, reached, wrong, partial, line):
    verdict = make.verdict((10, 80), reached, unexplained=wrong)
    assert last_line(make, verdict, partial) == line


def test_an_empty_heap_is_no_proof(make):
    assert last_line(make, make.verdict()).startswith("verified: all 0")
    assert last_line(make, make.verdict(), LOST).startswith("not verified")


def test_figures(make):
    verdict = make.verdict((10, 80), (10, 80), stats=None)
    lines = report(make, verdict).text().splitlines()
    assert "  HeapAlloc        not known       80" in lines
    verdict = make.verdict((10, 80), (10, 80), stats=make.total(12, 64))
    lines = report(make, verdict).text().splitlines()
    assert "  HeapAlloc               64       80  differs by +16" in lines
    assert "  HeapObjects             12       10  differs by -2" in lines


def test_what_the_collection_kept(make):
    verdict = make.verdict(
        (10, 80),
        (4, 32),
        kept=make.total(8, 64),
        kept_reached=make.total(3, 24),
        is_most_lost=True,
    )
    text = report(make, verdict).text()
    assert "  that the last collection kept        5     40\n" in text
    assert "\nMost of what the last collection kept is not reached: " in text


def test_free_slots(make, goref):
    verdict = make.verdict(
        free_slot_pointers=2,
        free_slots=(goref.FreeSlot(16, None), goref.FreeSlot(32, 64)),
    )
    assert report(make, verdict).text().splitlines()[12:15] == [
        "  pointers to free slots: 2",
        "    0x10, held by a root",
        "    0x20, held by the object at 0x40",
    ]


def differing(make, goref):
    classes = [
        goref.ClassTotal(n, n * 8, make.total(n, n * 8), make.total())
        for n in range(2, 14)
    ]
    classes.append(
        goref.ClassTotal(1, None, make.total(1, 1 << 30), make.total())
    )
    return make.verdict(
        (1234, 1 << 31),
        (1000, 1 << 30),
        classes=tuple(classes),
        differences=(
            goref.Difference(0xC000010000, 1 << 30, None, None),
            goref.Difference(0xC000020000, 8, "a\nb", "garbage"),
        ),
    )


def test_classes_and_differences(make, goref):
    text = report(make, differing(make, goref)).text()
    _, title, rest = text.partition(
        "\nSpan classes that differ, by bytes (of 13)\n"
    )
    assert title
    rows = [line.split() for line in rest.splitlines()[1:11]]
    # The largest part that is not reached comes first.
    assert rows[0] == ["large", "no", "pointers", "1", "0", "1"]
    assert rows[1] == ["104", "B", "no", "pointers", "13", "0", "13"]
    assert rows[2] == ["96", "B", "pointers", "12", "0", "12"]
    _, title, rest = text.partition(
        "\nObjects not reached, by address (of 234)\n"
    )
    assert title
    assert rest.splitlines()[:2] == [
        "  0xc000010000  1,073,741,824 B  type not known  NO EXPLANATION",
        "  0xc000020000              8 B  a\\nb            garbage",
    ]


def test_json(make, goref):
    verdict = differing(make, goref)._replace(
        free_slots=(goref.FreeSlot(16, None), goref.FreeSlot(32, 64)),
        free_slot_pointers=2,
        stats=None,
        unexplained=1,
        kept=make.total(5, 6),
    )
    document = json.loads(report(make, verdict, LOST).json())
    assert document["schema"] == 1
    assert document["tool_version"] == "1.2.3"
    assert document["complete"] is False
    assert document["partial"] == LOST
    assert document["target"]["core"] == "/tmp/core"
    assert document["allocated_objects"] == 1234
    assert document["reached_bytes"] == 1 << 30
    assert document["kept"] == {"objects": 5, "bytes": 6}
    assert document["free_slots"] == [
        {"address": "0x10", "held_by": None},
        {"address": "0x20", "held_by": "0x40"},
    ]
    assert document["heap_alloc"] == {"read": None, "rebuilt": 1 << 31}
    assert document["heap_objects"] == {"read": None, "rebuilt": 1234}
    assert document["classes"][-1] == {
        "span_class": 1,
        "slot_bytes": None,
        "noscan": True,
        "allocated_objects": 1,
        "allocated_bytes": 1 << 30,
        "reached_objects": 0,
        "reached_bytes": 0,
    }
    assert document["differences"][1] == {
        "address": "0xc000020000",
        "bytes": 8,
        "type": "a\nb",
        "reason": "garbage",
    }
    assert document["unexplained"] == 1
    assert document["warnings"] == ["torn"]
    assert len(document["classes"]) == 13


def test_unexplained():
    assert unexplained(1) == "1 difference without an explanation"
    assert unexplained(1234) == "1,234 differences without an explanation"


def native(make, goref, *arenas, **fields):
    """The verdict on an allocator."""
    allocator = goref.AllocatorVerdict(
        "glibc", "2.36", all(a.arena.is_checked for a in arenas), None, arenas
    )
    return make_row("NativeVerdict", fields, allocators=(allocator,))


def arena(goref, kind="main", reached=(0, 0), explanation=None, **fields):
    row = make_row(
        "NativeArena",
        fields,
        kind=kind,
        is_checked=True,
        addr=None if kind == "mmap" else 0x7F0000001C60,
        in_use_blocks=10,
        in_use_bytes=800,
        mapped_bytes=4096,
        found_bytes=4096,
        found_blocks=10,
        counted_bytes=4096,
        counted_blocks=10 if kind == "mmap" else None,
        blocks_counter="n_mmaps" if kind == "mmap" else None,
        bytes_counter="mmapped_mem" if kind == "mmap" else "system_mem",
    )
    return goref.ArenaVerdict(row, *reached, explanation)


def test_c_memory(make, goref):
    found = native(
        make,
        goref,
        arena(goref, reached=(9, 720)),
        arena(goref, "mmap", reached=(10, 800)),
        free_pointers=3,
        free_words=12,
    )
    verdict = make.verdict((10, 80), (10, 80), native=found)
    text = report(make, verdict).text()
    assert (
        text.partition("not reached: 0\n")[2]
        == """
C memory, glibc 2.36: arenas
  figure                                       counted  rebuilt
  system_mem of the main arena 0x7f0000001c60    4,096    4,096  equal to the byte
  n_mmaps                                           10       10  equal
  mmapped_mem                                    4,096    4,096  equal to the byte

  C memory     blocks  bytes
  in use           20  1,600
  reached          19  1,520
  not reached       1     80
  pointers of Go to free memory of C: 3
  words of C variables that look like pointers to free memory of C: 12

verified: all 10 objects are reached
C memory: 20 blocks in use, of which 1 are not reached (`native leaks')
"""
    )


def test_c_memory_that_is_not_known(make):
    verdict = make.verdict((10, 80), (10, 80))
    shown = VerifyReport(
        tool_version="1.2.3",
        partial=(),
        info=make.info(),
        verdict=verdict,
        nothing="no C allocator was found",
    )
    assert shown.text().splitlines()[-2:] == [
        "verified: all 10 objects are reached",
        "no C allocator was found",
    ]


@pytest.mark.parametrize("explanation", [None, "a thread has its lock"])
def test_arena_that_is_not_checked(make, goref, explanation):
    """Its blocks are none of those in use."""
    wrong = arena(
        goref,
        "thread",
        explanation=explanation,
        is_checked=False,
        reason="its chunks are damaged",
        counted_bytes=8192,
    )
    found = native(make, goref, arena(goref, reached=(10, 800)), wrong)
    verdict = make.verdict(
        (10, 80), (10, 80), native=found, unexplained=int(not explanation)
    )
    text = report(make, verdict).text()
    assert "8,192    4,096  differs by -4,096\n" in text
    assert (
        "  thread arena 0x7f0000001c60 is not checked: its chunks are damaged "
        f"({explanation or 'NO EXPLANATION'})\n"
    ) in text
    assert text.endswith(
        "\nC memory: 10 blocks in use; 1 arena not checked\n"
    )
    row = report(make, verdict).document()["allocators"][0]["arenas"][1]
    assert row["explanation"] == explanation
    assert row["reached_blocks"] is None
    assert row["counters"] == [
        {"counter": "system_mem", "read": 8192, "rebuilt": 4096}
    ]


def test_counter_that_is_not_known(make, goref):
    found = native(
        make,
        goref,
        arena(
            goref,
            "mmap",
            explanation="there is nothing to compare it with",
            is_checked=False,
            reason="nothing tells how many blocks it has",
            counted_bytes=None,
            counted_blocks=None,
        ),
    )
    verdict = make.verdict((10, 80), (10, 80), native=found)
    text = report(make, verdict).text()
    assert re.search(r"\n  n_mmaps +not known +10\n", text)
    row = report(make, verdict).document()["allocators"][0]["arenas"][0]
    assert row["counters"][1] == {
        "counter": "mmapped_mem", "read": None, "rebuilt": 4096
    }  # fmt: skip

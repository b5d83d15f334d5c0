# SPDX-License-Identifier: Apache-2.0
"""C memory on the page of `goref report`: the section, the findings, the
facts, and the color of C."""

import pytest

from goref.report import findings, limits, page, tree
from goref.report.sections import first, parts
from test_report import Seen, document, titles

KIB = 1 << 10
SIZES = {
    "in_use_blocks": 9, "in_use_bytes": 200 * KIB, "free_blocks": 1,
    "free_bytes": 50 * KIB, "cached_bytes": 0, "trimmable_bytes": 4 * KIB,
    "largest_free_bytes": 0, "mapped_bytes": 256 * KIB,
    "resident_bytes": None,
}  # fmt: skip


def arena(**fields):
    return {"address": "0x7f00", "kind": "main", "checked": True,
            "reason": None, **SIZES, **fields}  # fmt: skip


def kept(rows=(), known=True):
    """The keys of objects kept for C: (by, type, Go bytes, C bytes) a row."""
    keys = "references", "objects", "bytes"
    counts = dict.fromkeys(keys, 2 * len(rows))
    sizes = {"retained_bytes": sum(row[2] for row in rows),
             "retained_c_bytes": sum(row[3] for row in rows)}  # fmt: skip
    return {
        "kept_by_c": [
            {"by": by, "type": type_, **dict.fromkeys(keys, 2),
             "retained_bytes": go, "retained_c_bytes": c,
             "example": "0xc000"}
            for by, type_, go, c in rows
        ],
        "kept_by_c_total": {"known": known, "types": len(rows),
                            "left_out": 0, **counts, **sizes},
    }  # fmt: skip


def native(*arenas, **fields):
    arenas = list(arenas) or [arena()]
    heap = {"name": "glibc", "version": "2.36", "checked": True,
            "refusal": None,
            "arenas": len(arenas), **SIZES, "arena_list": arenas}  # fmt: skip
    found = {"allocators": [heap], "sizes": [], "types": [],
             "holders": [{"holder": "main.T.c", "blocks": 9,
                          "bytes": 200 * KIB}], **kept(),
             **fields}  # fmt: skip
    return limits.native(found) | {"nothing": None}


def leaks(leaked=100 * KIB, blocks=5, words=None):
    group = {"blocks": blocks, "bytes": leaked, "size": leaked // blocks,
             "heads": 1, "type": None, "symbol": None,
             "library": "libzstd.so.1", "example": "0x7f4f",
             "beside": "main.conn", "beside_blocks": blocks - 1,
             "words": words}  # fmt: skip
    return limits.native_leaks(
        {
            "leaked_blocks": blocks if leaked else 0,
            "leaked_bytes": leaked,
            "in_use_blocks": 9,
            "in_use_bytes": 200 * KIB,
            "groups": [group] if leaked else [],
        }
    )


def text_of(made):
    return " ".join("".join(Seen(page(made)).texts).split())


def names(made):
    return [part.name for part in parts(made)]


def test_without_c_there_is_no_section():
    assert "native" not in names(document())
    assert "native" not in names(document(native=None, native_leaks=None))
    assert "native" in names(document(native=native(), native_leaks=leaks()))


def test_a_missing_answer_is_said():
    made = document()
    made["missing"]["native"] = "the time limit was reached"
    assert "native" in names(made)
    assert "Not known: the memory of C." in text_of(made)


def test_an_allocator_that_is_not_known():
    found = {"allocators": [], "sizes": [], "types": [], "holders": [],
             **kept()}  # fmt: skip
    found = limits.native(found) | {"nothing": "no C allocator was found"}
    text = text_of(document(native=found, native_leaks=None))
    assert "No C allocator was found." in text


def test_section():
    damaged = arena(checked=False, reason="its list is torn", kind="thread")
    made = document(native=native(arena(), damaged), native_leaks=leaks())
    text = text_of(made)
    for words in (
        "Arenas of glibc 2.36",
        "main arena 0x7f00",
        "The thread arena 0x7f00 is not checked: its list is torn.",
        "In use, and held by nothing",
        "0x7f4f",
        "leads into ",
        "malloc_trim would give back 4.0 KiB",
    ):
        assert words in text
    assert "First bytes" not in text  # no values


def test_no_leak():
    made = document(native=native(), native_leaks=leaks(0))
    assert "No leak found: all 9 blocks in use are held." in text_of(made)


def test_first_bytes_are_those_of_the_words():
    found = leaks(words=["0x6f6c6c6568", "0x7f00"])
    text = text_of(document(native=native(), native_leaks=found))
    assert "First bytes" in text and '"hello" 0x7f00' in text


def test_what_lies_beside():
    text = text_of(document(native=native(), native_leaks=leaks(blocks=5)))
    assert "main.conn (4)" in text


def test_long_lists_are_cut():
    many = [arena(mapped_bytes=i) for i in range(limits.ROWS + 7)]
    holders = [{"holder": "h", "blocks": 1, "bytes": 1}] * (limits.ROWS + 1)
    found = native(*many, holders=holders)
    [heap] = found["allocators"]
    assert len(heap["arena_list"]) == limits.ROWS
    assert heap["arena_list"][0]["mapped_bytes"] == limits.ROWS + 6
    assert heap["arenas"] == limits.ROWS + 7
    assert len(found["holders"]) == limits.ROWS
    assert found["nholders"] == limits.ROWS + 1


@pytest.mark.parametrize(
    "leaked, is_said",
    ((100 * KIB, True), (16 * KIB, True), (15 * KIB, False), (0, False)),
)
def test_leaks_are_a_finding(leaked, is_said):
    parts_ = {"native": native(), "native_leaks": leaks(leaked)}
    assert ("Leaked C memory" in titles(**parts_)) == is_said


def test_a_small_share_is_no_finding():
    found = {**leaks(16 * KIB), "in_use_bytes": 1601 * KIB}
    assert "Leaked C memory" not in titles(native_leaks=found)
    found["in_use_bytes"] = 1599 * KIB
    assert "Leaked C memory" in titles(native_leaks=found)


def suspects(min_bytes):
    return {"suspects": [], "min_bytes": min_bytes, "reached_bytes": 0}


def test_much_c_is_a_finding():
    made = document(native=native(), suspects=suspects(100 * KIB))
    made["heap"]["reached"]["bytes"] = 50 * KIB
    found = {f.title: f for f in findings.findings(made)}
    assert "80.0 %" in found["C memory"].text
    assert found["C memory"].link == "native"
    made["heap"]["reached"]["bytes"] = 200 * KIB
    assert "C memory" not in {f.title for f in findings.findings(made)}
    small = document(native=native(), suspects=suspects(201 * KIB))
    assert "C memory" not in {f.title for f in findings.findings(small)}


def test_go_and_c_are_facts():
    types = {"c_bytes": 64 * KIB, "bytes": 96 * KIB, "rows": [], "nrows": 0}
    made = document(types=types, native_leaks=leaks(), native=native())
    made["heap"]["reached"]["bytes"] = 32 * KIB
    assert first._live(made) == (
        "Live memory",
        "96.0 KiB",
        "Go 32.0 KiB, C 64.0 KiB; + 100.0 KiB of C leaked",
    )


@pytest.mark.parametrize(
    "in_c, words", [(0, "would be freed"), (1, "would be held by nothing")]
)
def test_blocks_of_c_are_not_freed(in_c, words):
    types = {"c_bytes": in_c, "bytes": KIB, "rows": [], "nrows": 0}
    text = text_of(document(types=types, suspects=suspects(KIB)))
    for subject in "Retained is", "a row's size is":
        assert f"{subject} what {words} without it" in text


def test_nodes_of_c(make):
    rows = (
        make.dominator("top", 100, 0, kind="top", retained_c_bytes=60),
        make.dominator("all_slots", 30, 1, kind="C data",
                       retained_c_bytes=30),
        make.dominator("main.T", 40, 1, retained_c_bytes=30),
        make.dominator("C block", 30, 2, retained_c_bytes=30),
        make.dominator("main.U", 30, 1),
    )  # fmt: skip
    nodes = tree.of_dominators(make.dominators(100, rows))["nodes"]
    assert [n.get("is_c", False) for n in nodes] == [
        False, True, False, True, False
    ]  # fmt: skip
    assert [n.get("cb", 0) for n in nodes] == [60, 30, 30, 30, 0]


def test_kept_by_c():
    rows = [("cgo.Handle", "*main.T", 7 * KIB, 2 * KIB),
            ("runtime.Pinner", "main.B", 1 * KIB, 0)]  # fmt: skip
    text = text_of(document(native=native(**kept(rows)), native_leaks=leaks()))
    assert "Go objects kept for C: 4, 4 B; Go would free 8.0 KiB, and" in text
    assert "nothing would hold 2.0 KiB of C, without the 4 references" in text
    for word in "*main.T", "main.B", "9.0 KiB", "runtime.Pinner":
        assert word in text
    assert "cannot read the table" not in text


def test_nothing_is_kept_by_c():
    text = text_of(document(native=native(), native_leaks=leaks()))
    assert "kept for C" not in text


def test_handles_that_are_not_known():
    found = native(**kept(known=False))
    text = text_of(document(native=found, native_leaks=leaks()))
    assert "goref cannot read the table of handles." in text

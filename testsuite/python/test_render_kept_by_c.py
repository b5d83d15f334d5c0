# SPDX-License-Identifier: Apache-2.0
"""The lines of goref native on Go objects that are kept for C."""

from goref.render import kept_by_c
from goref.render.native import NativeReport
from rows import make

GROUP = {"by": "runtime.Pinner", "type": "main.T", "references": 3,
         "objects": 2, "bytes": 96, "retained_bytes": 3072,
         "retained_c_bytes": 1024, "example": 0xC000}  # fmt: skip


def found(*groups, **fields):
    return make("KeptByC", is_known=True, groups=groups,
                all_groups=len(groups), **fields)  # fmt: skip


def report(kept, **fields):
    return NativeReport(
        tool_version="1",
        partial=[],
        found=make("Native", is_known=True),
        kept=kept,
        nothing="there is no C memory",
        **fields,
    )


def test_without_an_allocator():
    """A program without C may pin objects, for system calls."""
    group = make("KeptByCGroup", **GROUP)
    keys = GROUP.keys() - {"by", "type", "example"}
    sums = {key: GROUP[key] for key in keys}
    [nothing, blank, head, *rows] = report(found(group, **sums)).lines()
    assert nothing == "there is no C memory" and not blank
    assert head == (
        "Go objects kept for C: 2, 96 B; Go would free 2.0 KiB, and nothing "
        "would hold 1.0 KiB of C, without the 3 references by cgo.Handle and "
        "runtime.Pinner"
    )
    assert rows[-1].split()[-2:] == ["runtime.Pinner", "main.T"]


def test_only_go_is_kept():
    kept = found(references=1, objects=1, bytes=96, retained_bytes=96)
    [*_, head, _] = report(kept).lines()
    assert "; 96 B would be garbage without the 1 reference by" in head


def test_document_has_go_and_c_apart():
    body = report(found(make("KeptByCGroup", **GROUP))).body()
    [row] = body["kept_by_c"]
    assert row == {**GROUP, "retained_bytes": 2048, "example": "0xc000"}


def test_rows_that_are_left_out():
    groups = [make("KeptByCGroup", **GROUP) for _ in range(9)]
    kept = found(*groups, references=27)
    assert "1 more type" in report(kept).lines()[-1]
    assert "7 more types" in report(kept, top=2).lines()[-1]
    assert "more type" not in report(kept, top=0).lines()[-1]
    total = report(kept, top=2).body()["kept_by_c_total"]
    assert (total["types"], total["left_out"]) == (9, 7)


def test_nothing():
    assert report(found()).lines()[1:] == []
    unknown = make("KeptByC", is_known=False)
    assert report(unknown).lines()[-1] == kept_by_c.UNKNOWN

# SPDX-License-Identifier: Apache-2.0
"""Sizes that Go and C have parts of, as text and in documents."""

from goref.render.sizes import (
    apart,
    both,
    c_part,
    loss,
    parts,
    retains,
    sizes_of,
    without,
)


def test_text():
    assert both(3072, 1024) == "3.0 KiB (Go 2.0 KiB, C 1.0 KiB)"
    assert both(1024, 1024) == "1.0 KiB (all in C)"
    assert parts(3072, 1024) == "Go 2.0 KiB, C 1.0 KiB"
    # Without C memory, nothing is said of it.
    assert both(1024, 0) == "1.0 KiB"
    assert c_part(1024, 0) == parts(0, 0) == ""


def test_without_a_holder():
    """The collector frees Go, and leaves blocks of C."""
    assert without(1024, 0) == "1.0 KiB would be freed"
    assert without(1024, 0, gone="garbage") == "1.0 KiB would be garbage"
    assert without(1024, 1024) == "nothing would hold 1.0 KiB of C"
    assert without(3, 1, str) == (
        "Go would free 2, and nothing would hold 1 of C"
    )
    assert (loss(0), loss(1)) == ("freed", "held by nothing")


def test_vertex(make):
    """A block of C needs no parts; an object and a root do."""
    sizes = {"retained_bytes": 3072, "retained_c_bytes": 1024}
    with_parts = "retains 3.0 KiB (Go 2.0 KiB, C 1.0 KiB)"
    assert retains(make.vertex(**sizes)) == with_parts
    assert retains(make.vertex(is_c=True, kind="C data", **sizes)) == with_parts
    sizes["retained_bytes"] = 1024
    assert retains(make.vertex(is_c=True, **sizes)) == "retains 1.0 KiB"


def test_documents(make):
    """The part in Go, and beside it that in C."""
    vertex = make.vertex(retained_bytes=3072, retained_c_bytes=1024)
    assert sizes_of(vertex, "retained") == {
        "retained_bytes": 2048, "retained_c_bytes": 1024
    }  # fmt: skip
    assert sizes_of(vertex, "retained", False)["retained_c_bytes"] is None
    assert apart(None, None, "freed") == {
        "freed_bytes": None, "freed_c_bytes": None
    }  # fmt: skip

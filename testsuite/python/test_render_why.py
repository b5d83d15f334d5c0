# SPDX-License-Identifier: Apache-2.0
"""goref why: rows to text and JSON."""

import json

from goref.render.why import WhyReport, why_json

LOST = ["2 pages of memory are missing"]


def report(why, partial=(), asked=None, variable=None, **fields):
    return WhyReport(
        tool_version="1.2.3",
        partial=partial,
        why=why,
        asked=asked,
        variable=variable,
        **fields,
    )


def test_chain(make):
    assert (
        report(make.held()).text()
        == """\
0xc000012348: main.Node, 64 bytes at 0xc000012340 + 8
billed to main.list (global):
     main.list           0x55aa00      *main.List
  -> head. (*main.Node)  0xc000012340  main.Node
"""
    )


def test_sizes_of_a_chain(make):
    """Each hop has what the object graph knows of it."""
    root = make.variable_vertex("main.list", "*main.List")
    node = make.vertex(addr=0xC000012340, bytes=64, retained_bytes=4096)
    vertices = {0x55AA00: root, 0xC000012340: node}
    asked = report(make.held(), vertices=vertices)
    assert asked.lines()[2:4] == [
        "     main.list           0x55aa00      *main.List        "
        "retains 4.0 KiB",
        "  -> head. (*main.Node)  0xc000012340  main.Node   64 B  "
        "retains 4.0 KiB",
    ]
    hops = asked.document()["path"]
    assert [h["retained_bytes"] for h in hops] == [4096, 4096]
    assert [h["bytes"] for h in hops] == [0, 64]


def test_root_in_a_register(make):
    why = make.held(
        type=None,
        offset=0,
        root_name="main.f.$rax",
        root_kind="register",
        goroutine_id=7,
        hops=(make.hop("main.f.$rax"),),
    )
    assert (
        report(why).text()
        == """\
0xc000012348: object of unknown type, 64 bytes at 0xc000012340
billed to main.f.$rax (register, goroutine 7):
     main.f.$rax
"""
    )


def test_garbage(make):
    why = make.held(
        is_reachable=False, root_name=None, root_kind=None, hops=()
    )
    assert report(why).text().splitlines()[1:] == [
        "not reachable: garbage, or not yet swept"
    ]
    assert report(why, LOST).text().splitlines()[1:] == [
        "not reached from what could be read",
        "PARTIAL: 2 pages of memory are missing: other holders may exist in "
        "the missing part",
    ]


def test_leaked_block(make):
    """Nothing holds it, or only blocks that nothing holds."""
    block = make.object_info(is_c=True, type=None, is_reachable=False)
    for fields, words in (
        ({}, "nothing holds it: leaked"),
        (
            {"has_leaked_referrers": True},
            "only leaked blocks lead to it: leaked (`object' lists them)",
        ),
    ):
        asked = {"block": block._replace(**fields)}
        why = make.why(addr=0xC000012348)
        assert report(why, **asked).lines() == [
            "0xc000012348: C block, 56 bytes at 0xc000012340 + 8",
            words,
        ]
        assert report(why, **asked).document()["object"]["leaked"] is True
        lost = report(why, LOST, **asked)
        assert lost.lines()[1] == "not reached from what could be read"
        assert lost.document()["object"]["leaked"] is None


def test_root_of_c(make):
    """A place that is no variable, by its name."""
    root = make.vertex(
        name="C stack of thread 7", kind="C stack", is_c=True,
        retained_bytes=3072, retained_c_bytes=3072,
    )  # fmt: skip
    why = make.why(addr=0x7F12348, description="memory outside the Go heap")
    assert report(why, root=root).lines()[-2:] == [
        "C stack of thread 7: C stack, from 0x7f12348 on",
        "Without it, nothing would hold 3.0 KiB (3,072 bytes) of C.",
    ]


def test_no_object(make):
    why = make.why(addr=0x10, description="unmapped")
    assert report(why).text() == "0x10: unmapped\n"
    assert report(why, asked="main.p").text() == (
        "main.p refers to 0x10\n0x10: unmapped\n"
    )
    why = make.why(addr=0x10)
    assert report(why).text() == "0x10: no object of the heap\n"


def test_variable(make):
    why = make.why(addr=0x55AA00, description="bss: variable main.v")
    held = [
        ("main.v.Left", "*main.T", 0xC000010000, 0xC000010000, 64),
        ("main.v.Name", "string", 0xC000020010, 0xC000020000, 4096),
    ]
    asked = report(why, variable=make.variable(held))
    assert (
        asked.text()
        == """\
main.v: main.Outer, 1,064 bytes at 0x55aa00 (bss)
It points to:
  main.v.Left  *main.T  0xc000010000  64 bytes
  main.v.Name  string   0xc000020010  4,096 bytes at 0xc000020000 + 16
"""
    )
    told = json.loads(why_json([asked]))["variable"]
    assert told["section"] == "bss" and told["complete"]
    assert told["holds"][1]["base"] == "0xc000020000"
    many = make.variable(held, nothers=1234, is_cut=True)
    assert report(why, variable=many).text().splitlines()[-2:] == [
        "  and 1,234 more",
        "  and what the rest of it points to",
    ]
    freed = report(why, variable=many, freed=(2048, 0))
    assert (
        freed.lines()[1] == "Without it, 2.0 KiB (2,048 bytes) would be freed."
    )
    assert freed.document()["variable"]["retained_bytes"] == 2048
    freed = report(why, variable=many, freed=(2048, 1024))
    assert freed.lines()[1] == (
        "Without it, Go would free 1.0 KiB (1,024 bytes), and nothing would "
        "hold 1.0 KiB (1,024 bytes) of C."
    )
    sizes = freed.document()["variable"]
    assert sizes["retained_bytes"] == sizes["retained_c_bytes"] == 1024
    assert report(why, variable=make.variable()).text().splitlines()[1:] == [
        "It points to no object of the heap."
    ]
    assert json.loads(why_json([report(why)]))["variable"] is None


def test_variable_of_c(make):
    why = make.why(addr=0x5DE860, description="bss: variable blocks")
    held = [("blocks[0]", "*void", 0x2AFF5070, 0x2AFF5070, 32, True)]
    variable = make.variable(held, name="blocks", type="[1]*void")
    asked = report(why, variable=variable, freed=(32, 32), is_holder=True)
    assert asked.lines()[1:] == [
        "Without it, nothing would hold 32 B of C.",
        "It points to:",
        "  blocks[0]  *void  0x2aff5070  32 bytes in C",
    ]
    [row] = json.loads(why_json([asked]))["variable"]["holds"]
    assert row["kind"] == "c"
    # Words that are no pointers hold blocks, too.
    words = report(
        why, variable=make.variable(), freed=(0, 0), is_holder=True
    )
    assert words.lines()[1:] == [
        "Without it, 0 B would be freed.",
        "Only words that are no pointers lead to C.",
    ]


def test_nowhere_is_not_certain_where_spans_may_be_lost(make):
    why = make.why(addr=0x10, description="memory outside the Go heap")
    assert report(why).text() == "0x10: memory outside the Go heap\n"
    first = report(why, LOST).text().splitlines()[0]
    assert (
        first == "0x10: not known: in no part of the heap that could be read"
    )
    document = report(why, LOST).document()
    assert document["description"] == first.removeprefix("0x10: ")
    # A stack stays one.
    why = make.why(addr=0x10, description="stack of goroutine 7")
    assert report(why, LOST).text().startswith("0x10: stack of goroutine 7\n")


def test_names_cannot_break_a_line(make):
    why = make.held(
        type="struct { x\n int }",
        root_name="main.\x1b[1m",
        hops=(make.hop("main.\x1b[1m", "a\rb", 16),),
    )
    text = report(why, asked="x\ny").text()
    assert len(text.splitlines()) == 4
    assert text.replace("\n", "").isprintable()


def test_json(make):
    document = json.loads(why_json([report(make.held())]))
    assert document == {
        "schema": 1,
        "tool_version": "1.2.3",
        "complete": True,
        "partial": [],
        "allocated_by": None,
        "address": "0xc000012348",
        "object": {
            "base": "0xc000012340",
            "bytes": 64,
            "type": "main.Node",
            "offset": 8,
            "kind": "go",
            "leaked": False,
        },
        "reachable": True,
        "root": {
            "name": "main.list",
            "kind": "global",
            "goroutine_id": None,
        },
        "path": [
            {
                "name": "main.list",
                "type": "*main.List",
                "address": "0x55aa00",
                "bytes": None,
                "retained_bytes": None,
                "retained_c_bytes": None,
            },
            {
                "name": "head. (*main.Node)",
                "type": "main.Node",
                "address": "0xc000012340",
                "bytes": None,
                "retained_bytes": None,
                "retained_c_bytes": None,
            },
        ],
        "path_left_out": 0,
        "description": None,
        "variable": None,
        "retained_bytes": None,
        "retained_c_bytes": None,
        "holder": None,
        "paths": [],
        "paths_complete": False,
        "roots": [],
        "root_count": None,
        "root_groups": [],
    }


def test_json_of_what_is_no_object(make):
    why = make.why(addr=(1 << 64) - 1, description="unmapped")
    document = json.loads(why_json([report(why, LOST)]))
    assert document["address"] == "0xffffffffffffffff"
    assert document["object"] is document["root"] is None
    assert document["reachable"] is False
    assert document["path"] == []
    assert document["complete"] is False
    assert document["partial"] == LOST


def test_several_answers_are_an_array(make):
    reports = [report(make.held()), report(make.why(), LOST)]
    documents = json.loads(why_json(reports))
    assert [d["schema"] for d in documents] == [1, 1]
    assert [d["complete"] for d in documents] == [True, False]


def test_the_middle_of_a_long_chain_is_left_out(make):
    """A list may have a million elements."""
    hop = make.held().hops[-1]
    hops = tuple(hop._replace(addr=0x1000 + i) for i in range(5000))
    why = make.held()._replace(hops=hops)
    shown = "\n".join(report(why).lines())
    assert "0x1000 " in shown and f"{0x1000 + 4999:#x}" in shown
    assert "... 4,960 more" in shown and len(shown.splitlines()) < 50
    document = json.loads(why_json([report(why)]))
    assert len(document["path"]) == 1000
    assert document["path_left_out"] == 4000

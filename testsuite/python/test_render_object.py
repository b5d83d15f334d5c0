# SPDX-License-Identifier: Apache-2.0
"""goref object: rows to text and JSON."""

from goref.render.object import ObjectReport
from goref.render.why import WhyReport

LOST = ["2 pages of memory are missing"]


def report(info, partial=(), **more):
    return ObjectReport(
        tool_version="1.2.3", partial=partial, info=info, **more
    )


def test_object(make):
    vertex = make.vertex()
    info = make.object_info(
        references=make.references(
            3,
            [(vertex, ".next"), (make.vertex(addr=0xC0000123C0), '["a"]')],
        ),
        referrers=make.references(
            1,
            [
                (
                    make.vertex(
                        kind="local",
                        name="main.serve.s",
                        type="*main.Node",
                        addr=None,
                        bytes=0,
                        goroutine_id=7,
                    ),
                    "main.serve.s",
                )
            ],
        ),
    )
    assert (
        report(info, asked="main.p").text()
        == """\
main.p refers to 0xc000012348
0xc000012348: main.Node, 56 bytes at 0xc000012340 + 8
  retains    2.0 KiB (2,048 bytes)
  dominator  main.list (global)
  state      reachable, finalizer main.close
  type       known by the type of a pointer to it
  slot       64 bytes at 0xc000012338, 16 of them unused (malloc header: 8)
  span       0xc000012000-0xc000014000, slot 13 of 128, size class 5, pointers
3 references:
  .next  0xc000012380  main.Node  64 B  retains 128 B
  ["a"]  0xc0000123c0  main.Node  64 B  retains 128 B
  and 1 more (--refs shows them)
1 referrer:
  main.serve.s    *main.Node (local, goroutine 7)    retains 128 B
"""
    )


def test_neighbours_hold_c(make):
    """An object and a variable have both parts; a block of C is C's."""
    sizes = {"retained_bytes": 3072, "retained_c_bytes": 1024}
    info = make.object_info(
        dominator=make.vertex(kind="global", **sizes),
        references=make.references(
            2,
            [
                (make.vertex(**sizes), ".next"),
                (make.vertex(name="C block", is_c=True, retained_bytes=96,
                             retained_c_bytes=96), ".block"),
            ],
        ),
    )  # fmt: skip
    lines = report(info).lines()
    assert lines[8].endswith("retains 3.0 KiB (Go 2.0 KiB, C 1.0 KiB)")
    assert lines[9].endswith("retains 96 B")
    document = report(info).document()
    for row in document["references"][0], document["dominator"]:
        assert row["retained_bytes"] == 2048
        assert row["retained_c_bytes"] == 1024
    block = document["references"][1]
    assert (block["retained_bytes"], block["retained_c_bytes"]) == (0, 96)


def leaked(make, **fields):
    fields = {"is_c": True, "type": None, "offset": 0, **fields}
    return make.object_info(
        is_reachable=False, dominator=None, specials=(), retained_bytes=0,
        **fields,
    )  # fmt: skip


def test_leaked_block(make):
    """Its neighbours are leaked, too: none of them retains anything."""
    row = make.vertex(name="C block", type=None, is_c=True, is_leaked=True)
    info = leaked(
        make,
        has_leaked_referrers=True,
        referrers=make.references(1, [(row, "+0x0")]),
    )
    assert report(info).lines()[1:] == [
        "  state  only leaked blocks lead to it: leaked",
        "no references",
        "1 referrer:",
        "  +0x0  0xc000012380  C block  64 B  leaked",
    ]
    [found] = report(info).document()["referrers"]
    assert found["retained_bytes"] is found["retained_c_bytes"] is None
    # A holder of both may be missing.
    assert report(info, LOST).lines()[4].endswith("  64 B  not reached")
    block = leaked(make)
    assert report(block).lines()[1] == "  state  nothing holds it: leaked"
    document = report(block).document()
    assert document["leaked"] is True
    assert document["retained_bytes"] is document["retained_c_bytes"] is None
    assert report(block, LOST).document()["leaked"] is None
    assert report(make.object_info()).document()["leaked"] is False
    for fields in {}, {"has_leaked_referrers": True}:
        lines = report(leaked(make, **fields), LOST).lines()
        assert lines[1] == "  state  not reached from what could be read"


def test_groups(make):
    groups = [
        make.goref.ReferenceGroup(
            "main.Leaf", "[]", 5000, 120000, 0xC000020000
        ),
        make.goref.ReferenceGroup("local", "main.f.x", 30, 0, None),
    ]
    info = make.object_info(
        references=make.references(5033, [], groups, ungrouped=3)
    )
    lines = report(info).text().splitlines()
    assert lines[7:] == [
        "5,033 references:",
        "  references  objects' bytes  field     type       for example",
        "       5,000       117.2 KiB  []        main.Leaf  0xc000020000",
        "          30                  main.f.x  local",
        "  and 3 other references",
        "no referrers",
    ]
    (first, second) = report(info).document()["reference_groups"]
    assert first == {
        "name": "[]",
        "type": "main.Leaf",
        "references": 5000,
        "bytes": 120000,
        "example": "0xc000020000",
    }
    assert second["example"] is None


def test_many_groups_are_cut(make):
    groups = [
        make.goref.ReferenceGroup("main.T", f".f{i}", 1, 8, 0xC000020000)
        for i in range(40)
    ]
    info = make.object_info(references=make.references(40, [], groups))
    lines = report(info).text().splitlines()
    assert "  and 20 references of other fields" in lines
    assert len(lines) < 32


def test_dominators(make):
    def line(**fields):
        info = make.object_info(dominator=make.vertex(**fields))
        return report(info).text().splitlines()[2]

    assert line(kind="group", name="package variables") == (
        "  dominator  several roots"
    )
    assert line(kind="goroutine", name="goroutine 7 (main.f)") == (
        "  dominator  goroutine 7 (main.f), by several variables"
    )
    assert line() == "  dominator  main.Node at 0xc000012380"


def test_garbage(make):
    info = make.object_info(
        is_reachable=False,
        dominator=None,
        retained_bytes=0,
        is_unswept=True,
        specials=(),
    )
    lines = report(info, LOST).text().splitlines()
    assert lines[1] == (
        "  state  not reachable: garbage, its span is not yet swept"
    )
    assert lines[-1].startswith("PARTIAL: 2 pages of memory are missing")
    assert not any("referrer" in line for line in lines[:-1])
    document = report(info, LOST).document()
    assert document["dominator"] is None and not document["complete"]


def test_json(make):
    info = make.object_info(
        references=make.references(1, [(make.vertex(), ".next")])
    )
    document = report(info).document()
    assert document["address"] == "0xc000012340"
    assert document["retained_bytes"] == 2048
    assert document["dominator"]["name"] == "main.list"
    assert document["referrers"] == []
    (reference,) = document["references"]
    assert reference["address"] == "0xc000012380"
    assert reference["type"] == "main.Node"
    assert reference["name"] == ".next"


def test_no_object_has_all_keys(make):
    why = make.why(addr=0x10, description="unmapped")
    instead = WhyReport(tool_version="1.2.3", partial=(), why=why)
    info = make.object_info(is_object=False, addr=0x10)
    assert report(info, instead=instead).text() == "0x10: unmapped\n"
    document = report(info, instead=instead).document()
    assert document["description"] == "unmapped"
    assert document.keys() == report(make.object_info()).document().keys()

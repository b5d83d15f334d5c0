# SPDX-License-Identifier: Apache-2.0
"""goref why --type: rows to text and JSON."""

from goref.render.merged import MergedReport


def report(make, branches, unreached=0):
    merged = make.goref.MergedTypes(
        "main.Node", 100, 6400, unreached, tuple(branches)
    )
    return MergedReport(tool_version="1.2.3", partial=(), merged=merged)


def tree(make):
    def of(kind, name):
        return make.vertex(kind=kind, name=name, addr=None, bytes=0)

    return [
        make.merged_branch(0, 0, 100, example=of("top", "the program")),
        make.merged_branch(0, 1, 20, example=of("group", "goroutines")),
        make.merged_branch(0, 1, 80, example=of("group", "package variables")),
        make.merged_branch(
            1, 2, 20, vertices=5, example=of("goroutine", "goroutine 7")
        ),
        make.merged_branch(2, 2, 80, example=of("global", "main.list")),
        make.merged_branch(4, 3, 80, field=".next", vertices=80),
    ]


def test_tree(make):
    assert (
        report(make, tree(make), unreached=2).text()
        == """\
main.Node: 100 objects, 6.2 KiB, by their shortest paths:
  objects    bytes  path
       80  5.0 KiB  package variables
       80  5.0 KiB    main.list (global)
       80  5.0 KiB      .next  main.Node (80)
       20  1.2 KiB  goroutines
       20  1.2 KiB    5 goroutines
2 objects only by weak references
"""
    )


def test_small_branches_are_cut(make):
    branches = tree(make)
    branches += [make.merged_branch(2, 2, 1) for _ in range(30)]
    lines = report(make, branches).text().splitlines()
    assert len(lines) == 23 and lines[-1] == "  and 15 smaller branches"


def test_json(make):
    document = report(make, tree(make)).document()
    assert document["objects"] == 100 and document["unreached"] == 0
    assert document["branches"][5] == {
        "parent": 4,
        "depth": 3,
        "name": "main.Node",
        "kind": "object",
        "field": ".next",
        "type": "main.Node",
        "example": "0xc000012380",
        "vertices": 80,
        "objects": 80,
        "bytes": 5120,
        "cut": 0,
    }

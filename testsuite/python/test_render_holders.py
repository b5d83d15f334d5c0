# SPDX-License-Identifier: Apache-2.0
"""Paths, roots and holders: rows to text and JSON."""

from goref.render.why import WhyReport


def report(make, holders=None, **more):
    return WhyReport(
        tool_version="1.2.3",
        partial=(),
        why=make.held(),
        holders=holders,
        **more,
    )


def behind_chain(*args, **more):
    """The paths and the roots, which come last."""
    return report(*args, **more).text().splitlines()[5:]


def end(make, **fields):
    """The verdict: the line below what the object is."""
    shown = report(make, make.holders(holder=make.holder(**fields)))
    return shown.text().splitlines()[1:2]


def test_only_through_a_variable(make):
    assert end(make) == [
        "held only through main.list; without it, "
        "12.0 KiB (12,288 bytes) would be freed"
    ]


def test_only_through_a_local(make):
    local = make.vertex(kind="local", name="main.f.x", goroutine_id=7)
    assert end(
        make,
        kind="root",
        vertex=local,
        name="main.f.x",
        goroutine=make.goroutine_brief(),
        freed_bytes=512,
    ) == [
        "held only through main.f.x of goroutine 7 (main.serve), waiting: "
        "chan receive; without it, 512 B would be freed"
    ]


def test_only_through_a_goroutine(make):
    assert end(make, kind="goroutine", goroutine=make.goroutine_brief()) == [
        "held only through goroutine 7 (main.serve), waiting: chan receive; "
        "without it, 12.0 KiB (12,288 bytes) would be freed"
    ]


def test_several(make):
    several = {"kind": "several", "name": None, "nroots": 3}
    assert end(make, **several, vertex=None) == ["held by 3 roots, none alone"]
    assert end(make, **several, vertex=None, is_more=True) == [
        "held by 3 roots or more, none alone"
    ]
    assert end(make, **several, vertex=make.vertex()) == [
        "held by 3 roots, none alone; all paths go through main.Node at "
        "0xc000012380; without it, 12.0 KiB (12,288 bytes) would be freed"
    ]


def test_blocks_of_c_are_not_freed(make):
    """The collector frees only what is in Go."""
    assert end(make, freed_bytes=5120, freed_c_bytes=4096) == [
        "held only through main.list; without it, Go would free 1.0 KiB "
        "(1,024 bytes), and nothing would hold 4.0 KiB (4,096 bytes) of C"
    ]


def test_weak_references_only(make):
    holders = make.holders(
        holder=make.holder(kind="several", name=None, vertex=None, nroots=0)
    )
    assert behind_chain(
        make, holders, exclude_weak=True, shows_paths=True, shows_roots=True
    ) == [
        "no path from a root, weak references aside",
        "no root reaches it, weak references aside",
    ]
    text = report(make, holders, exclude_weak=True).text()
    assert text.splitlines()[1] == "held only by weak references"


def test_paths_share_their_ends(make):
    shared = make.path_hop(1, ".next", 0xC000000100)
    target = make.path_hop(2, ".leaf", 0xC000000200)
    paths = [
        make.path(make.root_hop(8, "main.a"), shared, target),
        make.path(
            make.root_hop(9, "main.f.x", kind="local", addr=None),
            make.path_hop(3, "", 0xC000000300),
            shared,
            target,
            goroutine=make.goroutine_brief(),
        ),
    ]
    holders = make.holders(paths=tuple(paths))
    assert behind_chain(make, holders, shows_paths=True) == [
        "2 shortest paths from different roots:",
        "1. main.a (global)",
        "     main.a    0x55aa00      *main.Node                      "
        "retains 128 B",
        "  -> .next     0xc000000100  main.Node                 64 B  "
        "retains 128 B",
        "  -> .leaf     0xc000000200  main.Node                 64 B  "
        "retains 128 B",
        "2. main.f.x (local, goroutine 7 (main.serve), waiting: chan receive)",
        "     main.f.x                *main.Node                      "
        "retains 128 B",
        "  ->           0xc000000300  main.Node                 64 B  "
        "retains 128 B",
        "  -> .next     0xc000000100  (from here on as path 1)",
    ]


def test_one_root(make):
    path = make.path(make.root_hop(8, "main.a"), make.path_hop(1, ".x", 16))
    holders = make.holders(paths=(path,), is_complete=True)
    for exclude_weak, aside in (False, ""), (True, ", weak references aside"):
        lines = behind_chain(
            make, holders, shows_paths=True, exclude_weak=exclude_weak
        )
        assert lines[0] == (
            f"one root reaches it{aside}; the shortest path from there:"
        )


def test_long_path_is_cut(make):
    hops = [make.path_hop(i, ".next", 0xC000000000 + i) for i in range(100)]
    holders = make.holders(
        paths=(make.path(make.root_hop(200, "main.a"), *hops),)
    )
    lines = behind_chain(make, holders, shows_paths=True)
    assert "     ... 77 hops ..." in lines and len(lines) < 30
    assert len(report(make, holders).document()["paths"][0]) == 101


def test_hops_that_are_not_described(make):
    hops = [
        make.path_hop(1, ".next", 0xC000000100),
        make.path_hop(9, ".next", 0xC000000900, left_out=5000),
    ]
    holders = make.holders(
        paths=(make.path(make.root_hop(200, "main.a"), *hops),)
    )
    lines = behind_chain(make, holders, shows_paths=True)
    assert lines[4] == "     ... 5,000 hops ..."


def test_roots(make):
    roots = (
        make.reaching_root(2, name="main.a"),
        make.reaching_root(
            5,
            name="main.f.x",
            kind="local",
            goroutine=make.goroutine_brief(),
        ),
    )
    holders = make.holders(roots=roots, all_roots=2)
    assert behind_chain(make, holders, shows_roots=True) == [
        "2 roots reach it:",
        "  distance  root      kind    goroutine",
        "         2  main.a    global",
        "         5  main.f.x  local   goroutine 7 (main.serve), waiting: "
        "chan receive",
    ]


def test_many_roots_are_counted(make):
    groups = (
        make.goref.RootGroup("main.f.x", "local", 5000, 3, 7),
        make.goref.RootGroup("main.a", "global", 1, 4, None),
    )
    holders = make.holders(all_roots=5004, groups=groups, ungrouped=3)
    assert behind_chain(make, holders, shows_roots=True) == [
        "5,004 roots reach it:",
        "  roots  distance  root      kind    goroutine",
        "  5,000         3  main.f.x  local   goroutine 7 ...",
        "      1         4  main.a    global",
        "  and 3 roots of other names",
    ]


def test_json(make):
    path = make.path(
        make.root_hop(8, "main.a"), make.path_hop(2, ".leaf", 0xC000000200)
    )
    holders = make.holders(paths=(path,), is_complete=True)
    document = report(make, holders, shows_paths=True).document()
    assert document["paths"][0][1] == {
        "name": ".leaf",
        "type": "main.Node",
        "address": "0xc000000200",
        "bytes": 64,
        "retained_bytes": 128,
        "retained_c_bytes": 0,
        "kind": "object",
        "goroutine_id": None,
        "word": "0xc000099000",
        "conservative": False,
        "left_out": 0,
    }
    assert document["holder"]["only"]
    assert document["holder"]["name"] == "main.list"
    assert document["holder"]["freed_bytes"] == 12288
    assert document["holder"]["freed_c_bytes"] == 0
    assert document["paths_complete"] and document["root_count"] is None
    assert report(make).document().keys() == document.keys()


def test_not_known(make):
    shown = report(make, not_known="it takes too much memory")
    line = shown.text().splitlines()[1]
    assert line == "who else holds it is not known: it takes too much memory"

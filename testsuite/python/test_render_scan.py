# SPDX-License-Identifier: Apache-2.0
"""goref scan, info goref and goref objects: rows to text and JSON."""

import json

from goref.render.info import info_text
from goref.render.objects import objects_text
from goref.render.scan import ScanReport

HUGE = (1 << 64) - 1


def report(make, **fields):
    ordinary = {
        "tool_version": "1.2.3",
        "partial": [],
        "info": make.info(),
        "ledger": make.ledger((1000, 8 << 20), (750, 6 << 20)),
        "roots": [],
        "types": [],
    }
    return ScanReport(**{**ordinary, **fields})


def tables(text):
    """The tables below the ledger, by title: their rows."""
    found = {}
    for part in text.split("\n\n")[2:-1]:
        title, *rows = part.splitlines()
        found[title] = [row.split(None, 5) for row in rows[1:]]
    return found


def test_text_of_a_small_scan(make):
    text = report(
        make,
        roots=[make.root("main.cache", 500, 5 << 20)],
        types=[make.type("main.Entry", 700, 5 << 20)],
        ledger=make.ledger(
            (1000, 8 << 20),
            (750, 6 << 20),
            phases_us=make.phases(symbols=20_000, heap=300, typed=1_500_000),
            peak_private_bytes=10 << 20,
            gaps=make.gaps(unknown_types=1234),
        ),
        elapsed_us=2_600_000,
        graph_us=700_000,
    ).text()
    assert (
        text
        == """\
core /tmp/core of /srv/app
go1.24.4, no collection running, 7 goroutines

  heap         objects     size    share
  allocated      1,000  8.0 MiB  100.0 %
  reached          750  6.0 MiB   75.0 %
  not reached      250  2.0 MiB   25.0 %
  reached by type 100.0 %, runtime type 0.0 %, header 0.0 %, pointer mask only 0.0 % (of bytes)
  gaps: 1,234 runtime types could not be read

Top roots by bytes and by objects
   billed   share  objects
  5.0 MiB  83.3 %      500  main.cache  (global)
  what each root alone keeps alive: scan --retained

Top types by bytes and by objects
     size   share  objects
  5.0 MiB  83.3 %      700  main.Entry

took 2.60 s; the scan: symbols 20 ms, typed 1.50 s, object graph 700 ms, 10.0 MiB of memory
"""
    )  # noqa: E501


def test_what_the_tree_had_no_node_for(make):
    ledger = make.ledger((8, 64), (4, 32), folded=make.total(1, 8))
    assert (
        "  folded: 1 objects, 8 B (25.0 %), are counted on the nearest node "
        "above (max-nodes, max-depth)\n"
    ) in report(make, ledger=ledger).text()


def test_text_of_nothing(make):
    text = report(make, ledger=make.ledger()).text()
    assert "  allocated          0   0 B      -\n" in text
    assert (
        "Top roots by bytes and by objects\n  billed  share  objects\n" in text
    )
    assert text.endswith("took 0 ms; the scan: 0 B of memory\n")


def test_places_of_targets(make):
    for fields, line in (
        ({"kind": "native", "pid": 42}, "process 42 of /srv/app"),
        ({"kind": "snapshot", "pid": 4}, "snapshot of process 4 of /srv/app"),
        ({"kind": "remote"}, "remote target of /srv/app"),
    ):
        text = report(make, info=make.info(**fields)).text()
        assert text.splitlines()[0] == line


def test_what_was_asked_for_is_said(make):
    text = report(
        make,
        places=["main.b", "main.a", "main.b"],
        attribution="first",
        partial=["a page is missing", "interrupted"],
    ).text()
    assert text.splitlines()[2:5] == [
        "PARTIAL: a page is missing, interrupted: sizes are lower bounds",
        "held by: main.b, main.a",
        "billed to the first root",
    ]


def test_rankings_are_cut(make):
    types = [make.type(f"t{i:02}", i + 1, 1000 - i) for i in range(12)]
    found = tables(report(make, types=types).text())
    by_bytes = found["Top types by bytes (of 12)"]
    by_objects = found["Top types by objects (of 12)"]
    assert [row[-1] for row in by_bytes] == [f"t{i:02}" for i in range(10)]
    assert [row[-1] for row in by_objects] == [
        f"t{i:02}" for i in range(11, 1, -1)
    ]
    found = tables(report(make, types=types, top=3).text())
    assert len(found["Top types by bytes (of 12)"]) == 3
    # 0: no limit.
    found = tables(report(make, types=types, top=0).text())
    assert len(found["Top types by bytes"]) == 12
    # Nothing was reached of it.
    found = tables(report(make, types=[make.type("t", 0, 0)]).text())
    assert found["Top types by bytes and by objects"] == []


def test_roots_of_one_name_are_one_row(make):
    local = {"kind": "local", "goroutine_state": "waiting"}
    roots = [make.root("main.f.x", 2, 64, **local) for _ in range(1500)]
    roots.append(make.root("main.f.x", 1, 32, kind="local"))
    roots.append(make.root("main.f.x", 9, 8, **local, goroutine_id=17))
    found = tables(report(make, roots=roots).text())
    names = [row[-1] for row in found["Top roots by bytes"]]
    assert names == [
        "main.f.x  (local, waiting, 1,500 times)",
        "main.f.x  (local)",
        "main.f.x  (local, goroutine 17, waiting)",
    ]
    # In JSON each is a row of its own.
    document = json.loads(report(make, roots=roots).json())
    assert len(document["roots"]) == 1502
    assert document["roots"][-1]["goroutine_id"] == 17
    assert "goroutine_id" not in document["roots"][0]
    assert document["roots"][0]["goroutine_state"] == "waiting"
    assert "goroutine_state" not in document["roots"][1500]


def test_profile_is_named(make, goref):
    stats = goref.ProfileStats(1, 0, make.total(1, 8))
    text = report(make, out="refs.pb.gz", profile=stats).text()
    line = (
        "profile: refs.pb.gz (1 path); open it with: go tool pprof refs.pb.gz"
    )
    assert line in text.splitlines()
    stats = goref.ProfileStats(100000, 2345, make.total(1, 8))
    text = report(make, out="refs.pb.gz", profile=stats).text()
    assert "(100,000 paths, 2,345 small ones folded)" in text


def test_samples_are_explained(make, goref):
    stats = goref.ProfileStats(3, 0, make.total(6466, 12 << 20))

    def lines(rate, objects=413, is_disabled=False):
        sampling = goref.Sampling(rate, objects, is_disabled, False)
        found = report(make, out="s", profile=stats, sampling=sampling)
        document = json.loads(found.json())["sites"]
        assert document["sampled_objects"] == objects
        assert document["sample_rate_bytes"] == rate
        [note] = document["notes"]
        said = found.text().splitlines()
        at = said.index(f"  {note}")
        assert document["estimated"] == (rate != 1)
        return said[at - 1], note

    counted, note = lines(512 << 10)
    assert counted == (
        "  it has 413 sampled objects, which stand for about 6,466, about "
        "12.0 MiB"
    )
    assert "one allocation in 512.0 KiB" in note and "estimated" in note
    counted, note = lines(1)
    assert "about" not in counted and "every allocation" in note
    assert "profiling is off" in lines(0, 0)[1]
    assert "not linked" in lines(512 << 10, 0, True)[1]
    assert (
        json.loads(report(make, out="s", profile=stats).json())["sites"]
        is None
    )


def test_names_cannot_break_a_line(make):
    text = report(
        make,
        info=make.info(exe_path="/srv/a\nb", core_path="/tmp/\x1b[2Jcore"),
        roots=[make.root("main.\r\x1b]0;x\x07", 1, 8)],
        types=[make.type("struct { a\u2028b int }", 1, 8)],
        places=["main.x\nmain.y"],
    ).text()
    plain = report(
        make,
        roots=[make.root("r", 1, 8)],
        types=[make.type("t", 1, 8)],
        places=["p"],
    ).text()
    assert len(text.splitlines()) == len(plain.splitlines())
    assert text.replace("\n", "").isprintable()
    assert "core /tmp/\\x1b[2Jcore of /srv/a\\nb" in text


def test_json(make):
    document = json.loads(
        report(
            make,
            ledger=make.ledger(
                (HUGE, HUGE),
                (3, 5),
                typed=make.total(1, 2),
                masked=make.total(2, 3),
                folded=make.total(1, 3),
                gaps=make.gaps(bad_spans=1),
                phases_us=make.phases(symbols=1234),
                peak_private_bytes=17,
            ),
            partial=["1 span of the heap makes no sense"],
            roots=[make.root('main."\n\x00', 1, HUGE)],
            types=[make.type("int", 1, 8)],
            warnings=["untested release"],
        ).json()
    )
    assert document["schema"] == 1
    assert document["tool_version"] == "1.2.3"
    assert document["complete"] is False
    assert document["partial"] == ["1 span of the heap makes no sense"]
    assert document["go_version"] == "go1.24.4"
    assert document["target"] == {
        "kind": "core",
        "exe": "/srv/app",
        "core": "/tmp/core",
        "pid": None,
        "file": None,
        "origin": None,
    }
    assert document["heap"] == {
        "allocated_objects": HUGE,
        "allocated_bytes": HUGE,
    }
    assert document["reached"] == {
        "objects": 3,
        "bytes": 5,
        "typed_objects": 1,
        "typed_bytes": 2,
        "runtime_type_objects": 0,
        "runtime_type_bytes": 0,
        "header_objects": 0,
        "header_bytes": 0,
        "masked_objects": 2,
        "masked_bytes": 3,
    }
    assert document["unreached"] == {"objects": HUGE - 3, "bytes": HUGE - 5}
    assert document["folded"] == {"objects": 1, "bytes": 3}
    assert document["gaps"]["bad_spans"] == 1
    assert sum(document["gaps"].values()) == 1
    # In JSON a name is what it is.
    assert document["roots"] == [
        {
            "name": 'main."\n\x00',
            "kind": "global",
            "type": None,
            "objects": 1,
            "bytes": HUGE,
        }
    ]
    assert document["types"] == [{"type": "int", "objects": 1, "bytes": 8}]
    assert document["phases_ms"]["symbols"] == 1.234
    assert document["peak_private_bytes"] == 17
    assert document["out"] is None
    assert document["warnings"] == ["untested release"]


def test_json_has_all_rows_unless_told(make):
    types = [make.type(f"t{i}", 1, 1) for i in range(100)]
    roots = [make.root(f"r{i}", 1, 1) for i in range(100)]
    for top, count in ((None, 100), (0, 100), (3, 3)):
        document = report(make, types=types, roots=roots, top=top).document()
        assert len(document["types"]) == len(document["roots"]) == count
    assert report(make).document()["complete"] is True


def test_info(make):
    assert info_text("1.2.3", None, None) == (
        "goref-gdb 1.2.3\nno scan is kept: `goref scan` makes one\n"
    )
    info = make.info(build_id=None, warnings=("torn",))
    text = info_text("1.2.3", info, None, ["first"])
    assert text.splitlines()[3:] == [
        "pointers by malloc headers, 1,234 types, build id none",
        "warning: first",
        "warning: torn",
    ]
    with_ledger = info_text("1.2.3", info, make.ledger((2, 16), (1, 8)))
    assert "  reached            1   8 B   50.0 %\n" in with_ledger


def test_objects(make):
    text = objects_text(make.total(1234, 2048), "all\n.txt")
    assert text == "all\\n.txt: 1,234 objects, 2.0 KiB\n"


ROOTS = (
    ("main.a", 10, 600, {"type": "[]int"}),
    ("main.f.x", 5, 300, {"kind": "local", "goroutine_state": "waiting"}),
    ("main.c", 1, 100, {}),
)


def roots(make):
    return [make.root(*row, **fields) for *row, fields in ROOTS]


def test_retained_sizes_are_a_column(make):
    answer = report(
        make, roots=roots(make), retained=[0, 300, None], with_retained=True
    )
    lines = answer.text().splitlines()
    begin = lines.index("Top roots by bytes and by objects")
    assert lines[begin + 1 : begin + 6] == [
        "  billed   share  retained  objects",
        "   600 B  <0.1 %       0 B       10  main.a  (global, []int)",
        "   300 B  <0.1 %     300 B        5  main.f.x  (local, waiting)",
        "   100 B  <0.1 %                  1  main.c  (global)",
        "  of 900 B billed to these, 600 B are held by others, too",
    ]
    assert [r.get("retained_bytes") for r in answer.document()["roots"]] == [
        0,
        300,
        None,
    ]


def test_what_is_known_is_a_column_that_nobody_asked_for(make):
    """The graph is there: a root to which much is billed may hold nothing. A
    script gets what it asked for."""
    answer = report(make, roots=roots(make), retained=[0, 300], top=2)
    text = answer.text()
    assert "   600 B  <0.1 %       0 B       10  main.a" in text
    assert "  of 900 B billed to these, 600 B are held by others" in text
    for root in answer.document()["roots"]:
        assert "retained_bytes" not in root


def test_what_keeps_most_alive_comes_before_bills(make):
    rows = [make.dominator("the program", 1000, kind="top"),
            make.dominator("main.f.x", 300, 1, kind="local")]  # fmt: skip
    kept = make.dominators(1000, rows)
    text = report(make, roots=roots(make), retained=[0], kept=kept).text()
    titles = ["What keeps most alive (", "Top roots ", "Top types "]
    places = [text.index(f"\n\n{title}") for title in titles]
    assert places == sorted(places)
    assert "What keeps" not in report(make, roots=roots(make)).text()


def test_retained_sizes_need_a_whole_walk(make):
    text = report(
        make, roots=roots(make), with_retained=True, partial=["interrupted"]
    ).text()
    assert "  no retained sizes: the walk is not complete\n" in text

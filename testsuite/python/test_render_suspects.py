# SPDX-License-Identifier: Apache-2.0
"""goref suspects: rows to text and JSON."""

import json

import pytest

from goref.render.suspects import SuspectsReport, overview_line


def report(found, partial=(), **options):
    return SuspectsReport(
        tool_version="1.2.3", partial=partial, found=found, **options
    )


CONTENTS = [
    ("main.T", 20000, 5 << 20),
    ("string", 20000, 1 << 19),
    ("a", 3, 300),
    ("b", 2, 200),
    ("c", 1, 100),
]


def test_holder(make):
    found = make.suspects(make.suspect(contents=CONTENTS))
    assert (
        report(found).text()
        == """\
1 suspect holds 6.0 MiB, 75.0 % of what is reached

1. main.cache holds 6.0 MiB (75.0 %)
   where   map[string]*main.T in main.cache at 0xc000012340
   what    20,000  main.T                    5.0 MiB
           20,000  string                  512.0 KiB
                3  a                           300 B
                2  b                           200 B
                   the rest (1 more type)  511.5 KiB
   path    main.cache (global)
           -> map[string]*main.T at 0xc000012340
   closer  goref dominators 0xc000012340
           goref why 0xc000012340 --paths 3
"""
    )


IN_C = [
    ("main.T", 20, 1 << 20, 1 << 19),
    ("C.struct_node", 1000, 4 << 20, 4 << 20),
    ("string", 7, 1 << 19, 0),
]


def test_holder_of_c(make):
    """The parts in Go and in C stand behind each size that has both."""
    suspect = make.suspect(contents=IN_C, retained_c_bytes=5 << 20)
    found = make.suspects(suspect, largest_c_bytes=5 << 20)
    lines = report(found).lines()
    assert lines[0] == (
        "1 suspect holds 6.0 MiB (Go 1.0 MiB, C 5.0 MiB), 75.0 % of what is "
        "reached"
    )
    assert lines[2] == (
        "1. main.cache holds 6.0 MiB (75.0 %; Go 1.0 MiB, C 5.0 MiB)"
    )
    assert lines[4:8] == [
        "   what       20  main.T           1.0 MiB  "
        "(Go 512.0 KiB, C 512.0 KiB)",
        "           1,000  C.struct_node    4.0 MiB  (all in C)",
        "               7  string         512.0 KiB",
        "                  the rest       512.0 KiB  (all in C)",
    ]
    assert overview_line(found).startswith(
        "suspect: main.cache holds 6.0 MiB (75.0 %; Go 1.0 MiB, C 5.0 MiB)"
    )
    none = make.suspects(
        largest_name="main.a", largest_bytes=5 << 20, largest_c_bytes=1 << 20
    )
    assert report(none).lines()[0].endswith(
        "main.a holds most: 5.0 MiB (Go 4.0 MiB, C 1.0 MiB)"
    )


def test_document_of_c(make):
    """Each size is that of Go, and that of C stands beside it. Both add up."""
    suspect = make.suspect(
        contents=IN_C,
        retained_c_bytes=5 << 20,
        hops=(
            make.goref.SuspectHop(
                make.named_vertex("main.T", retained_c_bytes=96), None
            ),
        ),
    )
    found = make.suspects(
        suspect, reached_c_bytes=6 << 20, runtime_bytes=9, runtime_c_bytes=8,
        largest_c_bytes=5 << 20,
    )  # fmt: skip
    document = report(found).document()
    assert document["reached_bytes"] == 2 << 20
    assert document["reached_c_bytes"] == 6 << 20
    assert document["runtime_bytes"] == 1 and document["runtime_c_bytes"] == 8
    (row,) = document["suspects"]
    for sizes in document["largest"], row:
        assert sizes["retained_bytes"] == 1 << 20
        assert sizes["retained_c_bytes"] == 5 << 20
    assert row["path"][0]["retained_bytes"] == 4000
    assert row["path"][0]["retained_c_bytes"] == 96
    for part, whole, rest in (
        ("bytes", "retained_bytes", "rest_bytes"),
        ("retained_c_bytes", "retained_c_bytes", "rest_c_bytes"),
    ):
        parts = sum(one[part] for one in row["accumulated"])
        assert parts + row[rest] == row[whole]
        assert row[rest] >= 0


def test_details_add_up(make):
    """In the document for all types."""
    suspect = make.suspect(contents=CONTENTS)
    row = report(make.suspects(suspect)).document()["suspects"][0]
    parts = sum(part["bytes"] for part in row["accumulated"])
    assert parts + row["rest_bytes"] == row["retained_bytes"]


def test_there_may_be_no_rest(make):
    few = make.suspect(contents=CONTENTS[:2], retained_bytes=(11 << 19) + 40)
    lines = report(make.suspects(few)).lines()
    assert "                   the rest       40 B" in lines
    exact = few._replace(retained_bytes=11 << 19)
    assert "the rest" not in report(make.suspects(exact)).text()


@pytest.mark.parametrize(
    "residency, resident, memory, is_noted",
    (
        ("unknown", None, None, False),
        ("exact", 0, "0 B of it resident (0.0 %)", True),
        ("exact", 3 << 20, "3.0 MiB of it resident (50.0 %)", True),
        ("anonymous", 3 << 20, "at most 3.0 MiB of it resident (50.0 %)", True),
        ("exact", 6 << 20, "6.0 MiB of it resident (100.0 %)", False),
    ),
)
def test_how_much_is_resident(make, residency, resident, memory, is_noted):
    """Where it is known; and in one line only if it is not nearly all."""
    suspect = make.suspect(resident_bytes=resident)
    found = make.suspects(suspect, residency=residency)
    lines = report(found).lines()
    assert (f"   memory  {memory}" in lines) == (memory is not None)
    assert ("resident" in "".join(lines)) == (memory is not None)
    line = overview_line(found)
    assert (f"(75.0 %), {memory}, where: " in line) == is_noted
    assert ("resident" in line) == is_noted
    document = report(found).document()
    assert document["residency"] == residency
    assert document["suspects"][0]["resident_bytes"] == resident


def test_document(make):
    found = make.suspects(make.suspect(contents=CONTENTS))
    document = json.loads(report(found).json())
    assert document["schema"] == 1 and document["partial"] == []
    (suspect,) = document["suspects"]
    assert suspect["name"] == "main.cache"
    assert suspect["retained_bytes"] == 6 << 20
    assert suspect["accumulation_point"] == "map[string]*main.T in main.cache"
    assert suspect["path"][0] == {
        "name": "main.cache",
        "kind": "global",
        "type": "map[string]*main.T",
        "address": "0x55aa00",
        "bytes": 0,
        "retained_bytes": 4096,
        "retained_c_bytes": 0,
    }
    assert suspect["accumulated"][0] == {
        "type": "main.T",
        "objects": 20000,
        "bytes": 5 << 20,
        "retained_c_bytes": 0,
    }
    assert len(suspect["accumulated"]) == len(CONTENTS)


def test_goroutines(make):
    group = make.named_vertex(
        "goroutine 7 (main.serve)",
        kind="goroutine",
        type=None,
        addr=None,
        goroutine_id=7,
    )
    suspect = make.suspect(
        "main.serve",
        kind="goroutines",
        objects=4000,
        accumulation_point="goroutines of main.serve",
        at=group,
        holder=group,
        created_by="main.accept",
        hops=(make.goref.SuspectHop(group, None),),
    )
    lines = report(make.suspects(suspect), how="goref core a b").lines()
    assert lines[2:] == [
        "1. 4,000 goroutines of main.serve hold 6.0 MiB (75.0 %)",
        "   where   goroutines of main.serve, created by main.accept",
        "   path    goroutine 7 (main.serve)",
        "   closer  goref core a b goroutines --with goloc main.accept --group "
        "userloc",
        "           goref core a b goroutine 7 locals",
    ]
    assert overview_line(make.suspects(suspect)) == (
        "suspect: 4,000 goroutines of main.serve hold 6.0 MiB (75.0 %)"
    )


@pytest.mark.parametrize(
    "fields, in_shell, in_gdb",
    [
        (dict(name="main.cache"), "main.cache", None),
        (dict(name="main.f.x", kind="local", goroutine_id=7),
         "main.f.x@7", None),
        (dict(name="main.(*T).f.x", kind="local", goroutine_id=7),
         "'main.(*T).f.x@7'", "main.(*T).f.x@7"),
        (dict(name="$bss+0x18", type=None), "'$bss+0x18'", "$bss+0x18"),
        (dict(name="main.symbol", type=None), "0x55aa00", None),
        (dict(name="main.f.$stack+0x18", kind="stack", goroutine_id=7),
         "'main.f.$stack+0x18@7'", "main.f.$stack+0x18@7"),
    ],
)  # fmt: skip
def test_commands_name_roots(make, fields, in_shell, in_gdb):
    """A shell leaves alone what is printed."""
    name = fields.pop("name")
    place = make.variable_vertex(name, "*main.T")._replace(**fields)
    found = make.suspects(make.suspect(name, at=place))
    for how, operand in (
        ("goref", in_gdb or in_shell),
        ("goref core a b", in_shell),
    ):
        (suspect,) = report(found, how=how).document()["suspects"]
        assert suspect["next"] == [
            f"{how} dominators {operand}",
            f"{how} why {operand}",
        ]


def test_commands_of_objects_of_a_type(make):
    many = make.suspect("chan string", kind="objects", objects=300)
    found = make.suspects(many)
    (suspect,) = report(found, how="goref core a b").document()["suspects"]
    assert suspect["next"][0] == "goref core a b why --type 'chan string'"


def test_many_objects_and_a_list(make):
    many = make.suspect("main.T", kind="objects", objects=300)
    chain = make.suspect("main.head", is_chain=True)
    lines = report(make.suspects(many, chain)).lines()
    assert lines[0] == "2 suspects hold 12.0 MiB, 150.0 % of what is reached"
    assert lines[2] == "1. 300 main.T together hold 6.0 MiB (75.0 %)"
    assert (
        "   where   a list that begins with map[string]*main.T in main.head"
        " at 0xc000012340" in lines
    )


def test_long_path(make):
    hop = make.goref.SuspectHop(make.named_vertex("main.N"), ".next")
    suspect = make.suspect(hops=(hop,) * 64, hops_left_out=1000)
    lines = report(make.suspects(suspect)).lines()
    path = [line for line in lines if ".next: main.N" in line]
    assert len(path) == 8
    assert "           -> ... 1,056 more ..." in lines
    document = report(make.suspects(suspect)).document()
    assert document["suspects"][0]["path"][0]["name"] == "next"


def test_top(make):
    found = make.suspects(*[make.suspect(f"main.v{i}") for i in range(5)])
    lines = report(found).lines()
    assert lines[-1] == "and 2 more (--top 0 shows all)"
    assert "main.v2 holds" in "".join(lines)
    assert "main.v3 holds" not in "".join(lines)
    assert "main.v4 holds" in report(found, top=0).text()
    assert len(report(found).document()["suspects"]) == 5
    assert len(report(found, top=1).document()["suspects"]) == 1
    assert overview_line(found).endswith("in main.v0; and 4 more")


def test_none(make):
    found = make.suspects(reached_bytes=5000)
    assert report(found).text() == (
        "no suspect: nothing holds 1.0 MiB or more\n"
    )
    found = make.suspects(
        reached_bytes=100 << 20,
        min_bytes=10 << 20,
        largest_name="main.small",
        largest_bytes=9 << 20,
    )
    line = (
        "no suspect: nothing holds 10.0 MiB or more (10.0 % of what is "
        "reached); main.small holds most: 9.0 MiB"
    )
    assert report(found).text() == line + "\n"
    assert overview_line(found) == line
    assert report(found).document()["suspects"] == []
    lost = report(found, ["2 pages of memory are missing"]).lines()
    assert lost[0].startswith("no suspect in what could be read: nothing ")
    # Something that is missing may hold what is here, or be held by it.
    assert lost[1] == (
        "PARTIAL: 2 pages of memory are missing: retained sizes may be too "
        "small or too large"
    )


def test_nothing_reached(make):
    """No object is no proof that there is no suspect."""
    found = make.suspects(reached_bytes=0)
    assert report(found, ["all is missing"]).lines()[0] == (
        "suspects are not known: no object of the heap was reached"
    )


def test_limit(make):
    found = report(make.suspects(make.suspect()))
    assert found.over(1 << 20) == "a suspect"
    assert not found.over(6 << 20)
    assert not found.over(0) and not found.over(None)
    # The largest holder is held against the limit, too, if it is no suspect.
    small = make.suspects(largest_name="main.small", largest_bytes=5000)
    assert report(small).over(4999) == "main.small"
    assert not report(small).over(5000)

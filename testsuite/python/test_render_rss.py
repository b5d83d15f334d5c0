# SPDX-License-Identifier: Apache-2.0
"""goref rss: rows to text and JSON."""

import pytest

from goref.render.rss import RssReport


def report(found, partial=()):
    return RssReport(tool_version="1.2.3", partial=partial, found=found)


def test_text(make):
    found = make.rss(
        go_heap_live=1 << 20,
        go_heap_garbage=1 << 19,
        stacks=2 << 20,
        files=0,
        c_heap=9 << 19,
    )
    assert (
        report(found).text()
        == """\
8.0 MiB resident (Rss), page by page
Go objects (what a heap profile counts): 1.5 MiB resident, 512 B not
the rest: 6.5 MiB, of which c heap 4.5 MiB, stacks 2.0 MiB

    4.5 MiB  56.2 %  ########################  c heap
    2.0 MiB  25.0 %  ###########               stacks
    1.0 MiB  12.5 %  #####                     go heap live
  512.0 KiB   6.2 %  ###                       go heap garbage

GOGC=100, heap goal 4.0 MiB
the scavenger could give back: 8.0 KiB
allocated, but never touched: 512 B
next collection frees: 1.0 KiB of 4.0 KiB allocated
"""
    )


def test_bars_are_in_proportion(make):
    """A class that is too small for half a character has no bar."""
    found = make.rss(a=2400, b=1200, c=100, d=51, e=49)
    bars = {
        line.split()[-1]: line.count("#")
        for line in report(found).lines()
        if "%" in line
    }
    assert bars == {"a": 24, "b": 12, "c": 1, "d": 1, "e": 0}


def test_many_classes(make):
    """The first lines name the largest ones."""
    found = make.rss(go_heap_live=1, a=1, b=3, c=500, d=4, e=500)
    lines = report(found).lines()
    assert "the rest: 1008 B, of which c 500 B, e 500 B" in lines
    found = make.rss(a=1, b=3, c=5, d=4)
    lines = report(found).lines()
    assert "the rest: 13 B, of which c 5 B, d 4 B, b 3 B" in lines
    assert "the rest: 0 B" in report(make.rss(go_heap_live=1)).lines()


def test_settings(make):
    found = make.rss(heap=1)
    off = found.collector._replace(gogc=-1, memory_limit=3 << 30)
    lines = report(found._replace(collector=off)).lines()
    assert "GOGC=off, GOMEMLIMIT=3.0 GiB" in lines
    unknown = found.collector._replace(
        gogc=None, memory_limit=None, goal_bytes=None
    )
    text = report(found._replace(collector=unknown)).text()
    assert "GOGC" not in text


def test_pages_of_zeros_are_counted_apart(make):
    """Nothing of a core that does not tell is called resident, and what may
    never have been touched is no part of what it has."""
    found = make.rss(
        "unknown", go_heap_live=3 << 20, unknown=1 << 20, zero_pages=1 << 30
    )
    assert report(found).lines()[:6] == [
        "4.0 MiB in the core, beside 1.0 GiB of zeros, which may never have "
        "been touched; which pages were resident is not known",
        "Go objects (what a heap profile counts): 3.0 MiB, beside those in "
        "pages of zeros",
        "the rest: 1.0 MiB, of which unknown 1.0 MiB",
        "",
        "  3.0 MiB  75.0 %  ########################  go heap live",
        "  1.0 MiB  25.0 %  ########                  unknown",
    ]
    document = report(found).document()
    assert document["classes"][-1] == {"name": "zero_pages", "bytes": 1 << 30}
    assert document["total_bytes"] == (4 << 20) + (1 << 30)
    head = report(make.rss("unknown", go_heap_live=3 << 20)).lines()[0]
    assert head == (
        "3.0 MiB in the core; which pages were resident is not known"
    )


def test_nothing(make):
    assert report(make.rss()).lines()[0].startswith("0 B resident")


@pytest.mark.parametrize(
    "residency, rss, anonymous",
    [("exact", 30, 5000), ("anonymous", None, 5000), ("unknown", None, None)],
)
def test_document(make, residency, rss, anonymous):
    found = make.rss(residency, heap=10, files=20)
    document = report(found, ["lost"]).document()
    assert document["partial"] == ["lost"]
    assert document["residency"] == residency
    assert document["rss_bytes"] == rss
    assert document["anonymous_bytes"] == anonymous
    assert document["total_bytes"] == 30
    assert document["classes"] == [
        {"name": "heap", "bytes": 10},
        {"name": "files", "bytes": 20},
    ]
    assert document["go"] == {
        "gogc": 100,
        "memory_limit": None,
        "goal_bytes": 4 << 20,
        "next_gc_frees_bytes": 1024,
        "scavengeable_bytes": None if residency == "unknown" else 8192,
        "untouched_bytes": None if residency == "unknown" else 512,
    }
    assert ("never touched" in report(found).text()) == (
        residency != "unknown"
    )

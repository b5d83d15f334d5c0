# SPDX-License-Identifier: Apache-2.0
"""goref trace --idle: from smaps to rows, and to text and JSON."""

import builtins
import io
import json
import mmap
import os
import signal
import subprocess

import pytest
import rows

from goref.errors import Error
from goref.render.idle import (
    IdleClass,
    IdleMapping,
    IdleMemory,
    LeftOut,
    document,
    lines,
)
from goref.trace import idle

MIB = 1 << 20


def mapping(start, end, name):
    return rows.make("GrowthMapping", start=start, end=end, class_name=name,
                     class_text=f"text of {name}")  # fmt: skip


def smaps(*found):
    """The text of smaps: (range, permissions, name, resident, referenced)."""
    return "".join(
        f"{span} {permissions} 00000000 00:00 0".ljust(73) + f"{name}\n"
        f"Size: 4 kB\nRss: {rss} kB\nPss: 0 kB\nReferenced: {used} kB\n"
        "VmFlags: rd wr\n"
        for span, permissions, name, rss, used in found
    )


@pytest.fixture
def of_text(monkeypatch):
    """Reads a text as the smaps of process 7."""
    opened = builtins.open

    def read(text, known=()):
        files = {
            "/proc/7/smaps": io.BytesIO(text.encode()),
            "/proc/7/pagemap": io.BytesIO(bytes(8)),
        }

        def open_(path, *words, **more):
            return files.get(path) or opened(path, *words, **more)

        monkeypatch.setattr(builtins, "open", open_)
        return idle.read(7, known)

    return read


def test_a_process():
    """Our own mappings: never more idle than resident."""
    mine = [mapping(0, 1 << 40, "low"), mapping(1 << 40, 1 << 47, "high")]
    found = idle.read(os.getpid(), mine)
    assert {row.name for row in found.classes} <= {"low", "high", "new"}
    assert found.rss_bytes > MIB
    assert all(
        0 <= row.idle_bytes <= row.rss_bytes
        for row in [*found.classes, *found.mappings]
    )
    assert idle.read(1 << 30, mine) is None


def test_a_process_that_ends_meanwhile(monkeypatch):
    """The part of smaps that was read before is not the answer."""
    whole = idle._mappings
    with subprocess.Popen(["sleep", "600"]) as child:

        def ends(pid):
            yield from whole(pid)
            child.kill()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert idle.read(child.pid, []) is not None
        monkeypatch.setattr(idle, "_mappings", ends)
        assert idle.read(child.pid, []) is None
        assert child.wait() == -signal.SIGKILL
        assert idle.read(child.pid, []) is None


def test_by_class(of_text):
    """A mapping that has grown down or up has the class that it had."""
    known = [mapping(0x2000, 0x3000, "a"), mapping(0x5000, 0x8000, "b"),
             mapping(0xC000, 0xD000, "a")]  # fmt: skip
    found = of_text(
        smaps(
            ("1000-3000", "rw-p", "", 8, 4),
            ("5000-9000", "rw-p", "[anon: a-b c]", 16, 0),
            ("9000-a000", "r--p", "", 0, 0),
            ("c000-d000", "r--p", "/a-b", 4, 8),
            ("e000-f000", "r--p", "", 4, 4),
        ),
        known,
    )
    assert found.classes == [
        ("b", "text of b", 16384, 16384),
        ("a", "text of a", 12288, 4096),
        ("new", "new at the last moment", 4096, 0),
    ]
    assert found.mappings == [
        (0x5000, 0x9000, "rw-p", "[anon: a-b c]", "b", "text of b", 1, 16384,
         16384),
        (0x1000, 0x3000, "rw-p", "", "a", "text of a", 1, 8192, 4096),
    ]  # fmt: skip
    assert found.left_out == (0, 0)


NEIGHBOURS = (
    ("1000-2000", "rw-p", "", 4, 0),
    ("2000-3000", "rw-p", "", 0, 0),
    ("3000-4000", "rw-p", "", 4, 4),
)


@pytest.mark.parametrize(
    "change, joined",
    [
        ({}, True),
        ({1: ("2000-3000", "---p", "", 0, 0)}, False),
        ({1: ("2000-3000", "rw-p", "/x", 0, 0)}, False),
        ({1: ("2000-2800", "rw-p", "", 0, 0)}, False),
        ({2: ("3000-4000", "r--p", "", 4, 4)}, False),
        ({2: ("3000-4000", "rw-p", "[heap]", 4, 4)}, False),
        ({2: ("3000-4000", "rw-p", "", 0, 0)}, False),
    ],
    ids="alike guarded file hole permissions name empty".split(),
)
def test_neighbours(of_text, change, joined):
    """Those that are alike are one row. A range ends where resident memory
    does."""
    there = [change.get(i, row) for i, row in enumerate(NEIGHBOURS)]
    known = [mapping(0x1000, 0x4000, "go_heap")]
    [row] = of_text(smaps(*there), known).mappings
    wanted = (0x4000, 3, 8192) if joined else (0x2000, 1, 4096)
    assert (row.end, row.mappings, row.rss_bytes) == wanted
    assert row.idle_bytes == 4096


def test_a_range_that_the_kernel_has_split():
    """Advice on every second page makes a mapping of each."""
    pages = 64
    with mmap.mmap(-1, pages * mmap.PAGESIZE, mmap.MAP_PRIVATE) as mapped:
        for at in range(0, pages * mmap.PAGESIZE, 2 * mmap.PAGESIZE):
            mapped.madvise(mmap.MADV_DONTFORK, at, mmap.PAGESIZE)
        mapped.write(b"x" * len(mapped))
        idle.clear(os.getpid())
        found = idle.read(os.getpid(), [mapping(0, 1 << 47, "all")])
        [row] = [row for row in found.mappings if row.mappings >= pages]
        assert row.name == "" and row.permissions == "rw-p"
        assert row.idle_bytes >= (pages - 2) * mmap.PAGESIZE


def test_neighbours_of_two_classes(of_text):
    known = [mapping(0x1000, 0x2000, "go_heap"), mapping(0x3000, 0x4000, "a")]
    found = of_text(smaps(*NEIGHBOURS), known)
    assert [row.class_name for row in found.mappings] == ["go_heap"]
    assert sum(row.rss_bytes for row in found.classes) == 8192


def test_names(of_text):
    """As smaps has them. The kernel escapes newlines, and nothing else that
    ends a line elsewhere."""
    name = "/a  b\rRss: 9999 kB\x85\u2028\\012Referenced: 1 kB (deleted)"
    found = of_text(smaps(("1000-2000", "r--s", name, 4, 0)))
    assert [row.name for row in found.mappings] == [name]
    assert found.rss_bytes == 4096
    assert "\r" not in "".join(lines(found, None))


def test_many_mappings(of_text, monkeypatch):
    """Those with the most idle memory are kept."""
    monkeypatch.setattr(idle, "_MOST_MAPPINGS", 3)
    found = of_text(
        smaps(
            *(
                (f"{i:x}000-{i:x}800", "rw-p", "", 4 * i, 4 * (i % 2))
                for i in range(1, 7)
            )
        )
    )
    assert [row.start >> 12 for row in found.mappings] == [6, 4, 5]
    assert found.left_out == (2, (2 + 2) * 4096)
    total = sum(row.idle_bytes for row in found.mappings)
    assert total + found.left_out.idle_bytes == found.idle_bytes


def test_accessed_bits_that_nobody_may_clear():
    for ask in (idle.check, idle.clear):
        with pytest.raises(Error, match="--idle: /proc/1073741824/clear_refs"):
            ask(1 << 30)
    idle.check(os.getpid())


# ----------------------------------------------------------- text and JSON


def memory(left_out=LeftOut(0, 0)):
    return IdleMemory(
        [
            IdleClass("go_heap", "Go heap", 64 * MIB, 32 * MIB),
            IdleClass("c_heap", "C heap", 4 * MIB, MIB),
        ],
        [
            IdleMapping(0xC000000000, 0xC004000000, "rw-p", "", "go_heap",
                        "Go heap", 12, 64 * MIB, 32 * MIB),
            IdleMapping(0x1000, 0x9000, "rw-p", "[heap]", "c_heap", "C heap",
                        1, 2 * MIB, MIB - 4096),
        ],
        left_out,
    )  # fmt: skip


def test_text():
    assert lines(memory(), None) == [
        "",
        "resident memory that was not accessed during the trace:",
        "      idle   share  resident  class of most of the mapping",
        "  32.0 MiB  50.0 %  64.0 MiB  Go heap",
        "   1.0 MiB  25.0 %   4.0 MiB  C heap",
        "  33.0 MiB  48.5 %  68.0 MiB  all",
        "",
        "        idle   share  resident  addresses              perms  "
        "class    name",
        "    32.0 MiB  50.0 %  64.0 MiB  c000000000-c004000000  rw-p   "
        "Go heap  (anonymous), 12 mappings",
        "  1020.0 KiB  49.8 %   2.0 MiB  1000-9000              rw-p   "
        "C heap   [heap]",
    ]
    assert lines(None, None) == []


@pytest.mark.parametrize(
    "top, left_out, said",
    [
        (1, LeftOut(0, 0), "1 more mapping with 1020.0 KiB idle (--top)"),
        (1, LeftOut(7, 4096), "8 more mappings with 1.0 MiB idle (--top)"),
        (0, LeftOut(7, 4096), "7 more mappings with 4.0 KiB idle"),
    ],
)
def test_mappings_that_are_not_shown(top, left_out, said):
    assert lines(memory(left_out), top)[-1] == f"  and {said}"


def test_text_of_memory_that_is_all_accessed():
    found = IdleMemory([IdleClass("c_heap", "C heap", MIB, 0)], [])
    assert lines(found, None)[-1].split() == ["0", "B", "0.0", "%", "1.0",
                                              "MiB", "all"]  # fmt: skip


def test_json():
    found = json.loads(json.dumps(document(memory(LeftOut(7, 4096)), 1)))
    assert found["idle"][1] == {"name": "c_heap", "rss_bytes": 4 * MIB,
                                "idle_bytes": MIB}  # fmt: skip
    assert found["idle_mappings"] == [
        {"start": "0xc000000000", "end": "0xc004000000",
         "permissions": "rw-p", "name": None, "class": "go_heap",
         "mappings": 12, "rss_bytes": 64 * MIB, "idle_bytes": 32 * MIB}
    ]  # fmt: skip
    assert found["idle_left_out_mappings"] == 8
    assert found["idle_left_out_bytes"] == MIB
    assert len(document(memory(), 0)["idle_mappings"]) == 2
    assert set(document(None, None).values()) == {None}
    assert document(None, None).keys() == document(memory(), None).keys()

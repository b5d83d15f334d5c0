# SPDX-License-Identifier: Apache-2.0
"""The search for the runtime of a stripped program, in data that is full of
what it looks for: it ends, and when poll says so. testsuite/check-loops finds
loops without a bound."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

import crafted
from asking import SCANNER, run_scanner
from toolchains import RELEASES, Variant

NEWEST = Variant(RELEASES[-1], "default")
# Only a search that does not end takes so much processor time.
SECONDS = 300
# Steps of all layouts together, in polls of 4,096; and the words themselves.
MAX_POLLS = 7_500
WORDS = 1 << 18


class Searched(crafted.Crafted):
    """A core whose program has another data section: words of ours."""

    def fill_data(self, words):
        """words: packed, and repeated."""
        count = WORDS // (len(words) // 8) * (len(words) // 8)
        data = self.add(words * (count * 8 // len(words)))
        mask = self.add(b"\xff" * (count // 8 + 8))
        at = self.points.module_field
        bits, bytedata = (
            self.layout[f"bitvector.{n}"][0] for n in ("n", "bytedata")
        )
        self.put(
            {
                at("data"): data,
                at("edata"): data + count * 8,
                at("gcdatamask") + bits: count,
                at("gcdatamask") + bytedata: mask,
            }
        )


def threads(core):
    """Each word is a thread, the next of which is itself."""
    m = core.next
    g = m + 0x10000
    size = core.layout["m"][0] if "m" in core.layout else 4096
    fields = {"m.g0": g, "m.alllink": m}
    assert core.add(core.record(max(size, 4096), fields)) == m
    size = core.layout["g"][0] if "g" in core.layout else 4096
    assert core.add(core.record(max(size, 4096), {"g.m": m})) == g
    core.fill_data(struct.pack("<Q", m))


def goroutines(core):
    """Every third word begins a slice of goroutines, each time another."""
    gs = core.points.gs
    first = core.add(struct.pack(f"<{len(gs)}Q", *gs) * (1 << 14))
    slices = b"".join(
        struct.pack("<3Q", first + 8 * len(gs) * i, 1 << 12, 1 << 12)
        for i in range(256)
    )
    core.fill_data(slices)


def processors(core):
    """Every third word begins a slice of processors."""
    ps = core.points.ps[:1]
    first = core.add(struct.pack("<Q", *ps) * WORDS)
    core.fill_data(struct.pack("<3Q", first, WORDS, WORDS))


def spans(core):
    """Every third word begins a slice of spans of which none is in use."""
    span = core.add(core.record(1024, {"mspan.state": 0}))
    first = core.add(struct.pack("<Q", span) * WORDS)
    core.fill_data(struct.pack("<3Q", first, WORDS, WORDS))


def blocks(core):
    """Each word is a block of finalizers, the next of which is itself."""
    block = core.next
    fields = {"finblock.alllink": block, "finblock.cnt": 0}
    assert core.add(core.record(1 << 14, fields)) == block
    core.fill_data(struct.pack("<Q", block))


def tables(core):
    """Each word is a large table of interfaces, with entries of no type at the
    end of it."""
    count = WORDS
    itab = core.add(struct.pack("<2Q", *(core.types_begin(),) * 2))
    fields = {"itab_table.size": count, "itab_table.count": count // 2}
    entries = core.layout["itab_table.entries"][0]
    head = core.record(entries, fields)
    table = core.add(
        head + struct.pack("<Q", itab) * (count - 1) + struct.pack("<Q", 64)
    )
    core.fill_data(struct.pack("<Q", table))


def noise(core):
    """Words that point to each other."""
    first = core.next
    count = 1 << 12
    words = struct.pack(
        f"<{count}Q", *(first + i * 8 * 77 % (count * 8) for i in range(count))
    )
    core.fill_data(words)


def thread_lists(core):
    """Words that begin one list of threads at each of its places."""
    count = 500
    bytes_of_m = -(-max(core.layout["m"][0], core.layout["g"][0]) // 64) * 64
    first, data = core.next, b""
    for i in range(count):
        m = first + 2 * i * bytes_of_m
        after = m + 2 * bytes_of_m if i + 1 < count else 0
        fields = {"m.g0": m + bytes_of_m, "m.alllink": after}
        data += core.record(bytes_of_m, fields)
        data += core.record(bytes_of_m, {"g.m": m})
    assert core.add(data) == first
    core.fill_data(data_words(first, 2 * bytes_of_m, count))


def data_words(first, step, count):
    """Each place once; most of the data is empty."""
    places = (first + i * step for i in range(count))
    return struct.pack(f"<{WORDS // 4}Q", *places, *[0] * (WORDS // 4 - count))


def with_symbols(exe, path, count, name):
    """A copy whose symbols are all one variable with one name."""
    data = bytearray(Path(exe).read_bytes())
    names = name.encode() + b"\0"
    symbols = struct.pack("<IBBHQQ", 0, 1, 0, 1, 0x500000, 64) * count
    (table,) = struct.unpack_from("<Q", data, 0x28)
    number = struct.unpack_from("<H", data, 0x3C)[0]
    for at in range(table, table + 64 * number, 64):
        kind, link = struct.unpack_from("<4xI32xI", data, at)
        if kind == 2:
            struct.pack_into("<QQ", data, at + 24, len(data), len(symbols))
            data += symbols
            at = table + 64 * link
            struct.pack_into("<QQ", data, at + 24, len(data), len(names))
            data += names
    path.write_bytes(data)


KINDS = (
    threads, thread_lists, goroutines, processors, spans, blocks, tables, noise
)  # fmt: skip


def run(exe, core, *options):
    """Its end, and how often it polled."""
    done = run_scanner("--polls", *options, exe, core, max_seconds=SECONDS)
    return done, int(re.search(r"^polls: (\d+)$", done.stderr, re.M)[1])


@pytest.fixture(scope="module")
def stripped(farm, tmp_path_factory):
    """A target, and its program without any symbols."""
    target = farm.target("rest", NEWEST)
    exe = tmp_path_factory.mktemp("stripped") / "rest"
    subprocess.run(["strip", "-o", exe, target.exe], check=True)
    return target, exe


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_search(stripped, tmp_path, kind):
    target, exe = stripped
    core = Searched(SCANNER, target, tmp_path / "core")
    kind(core)
    check(exe, core.path)


# All symbols have a name of 10,000 bytes: of a variable of the runtime, of
# another one, and of a dictionary.
@pytest.mark.parametrize("begin", ["runtime.x", "main.x", "main..dict.x"])
@pytest.mark.parametrize("is_stripped", [True, False])
def test_symbols(stripped, tmp_path, begin, is_stripped):
    target, _ = stripped
    exe, plain = tmp_path / "rest", target.exe
    if is_stripped:
        plain = tmp_path / "plain"
        subprocess.run(["strip", "-g", "-o", plain, target.exe], check=True)
    with_symbols(plain, exe, WORDS, begin + "[x]" * 3333)
    check(exe, target.core)


# Dictionaries of one function, or of its type, as many as a scan keeps.
@pytest.mark.parametrize("name", ["started[int]", "called[int]", "Box[int]"])
def test_dictionaries(farm, stripped, tmp_path, name):
    target = farm.target("generics", NEWEST)
    exe = tmp_path / "generics"
    with_symbols(target.exe, exe, 1 << 20, f"main..dict.{name}")
    check(exe, target.core)


def check(exe, core):
    """It ends by itself, and where poll refuses."""
    done, polls = run(exe, core, "--memory-limit", 256 << 20)
    assert done.returncode in (0, 1) and polls < MAX_POLLS, done.stderr
    for last in {1, polls // 3, polls * 2 // 3, polls - 1}:
        done, seen = run(exe, core, "--last-poll", last)
        assert done.returncode == 1, (last, polls)
        assert "poll has ended it" in done.stderr
        assert seen == last

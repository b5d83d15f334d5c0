# SPDX-License-Identifier: Apache-2.0
"""Damage of what `goref rss` reads: the classes add up, loops end, nothing
crashes. test_mutation.py has random damage."""

import json
import os
import struct

import pytest

import mutate
import mutate_rss
from session import run_cli
from toolchains import RELEASES, Variant

CENTRAL = Variant("go1.24", "default")
NEWEST = Variant(RELEASES[-1], "default")


@pytest.fixture
def copied(farm, tmp_path):
    """copied(variant, program): the executable, and a copy of its core to
    damage."""

    def copy(variant, program="resident"):
        target = farm.target(program, variant)
        path = tmp_path / "core"
        mutate.copy_sparse(target.core, path)
        return target.exe, path

    return copy


def to_itself(name, off=0):
    """The first record of a list leads to itself."""

    def change(core, at):
        first = core.u64(at[name])
        core.put(first + off, first)

    return change


def to(name, value, off=0):
    return lambda core, at: core.put(at[name] + off, value)


def bucket_is_huge(core, at):
    core.put(core.u64(at["mbuckets"]) + 40, 1 << 62)


@pytest.mark.parametrize(
    "change",
    [
        to_itself("persistentChunks"),
        to("persistentChunks", 8),
        to_itself("bits", 8),
        to("bits", 1 << 63),
        to_itself("mbuckets", 8),
        bucket_is_huge,
        to("allspans", 1 << 60, 16),
        to("allp", 1 << 16, 8),
        to("summary", 1 << 60, 16),
        to("summary", 0xC000000000),
        to("buckhash", (1 << 64) - 8),
    ],
    ids=[
        "chunks in a circle",
        "chunks nowhere",
        "bits in a circle",
        "bits nowhere",
        "buckets in a circle",
        "bucket of 2^62 calls",
        "reserve of 2^60 spans",
        "65,536 Ps",
        "2^60 summaries",
        "summaries in the heap",
        "table at the end of memory",
    ],
)
def test_lists(copied, change):
    """Each list of the runtime's memory leads astray: classes add up, and what
    other lists tell is still told."""
    exe, path = copied(CENTRAL)
    before = run_cli(["core", exe, path, "rss", "--json"])
    core = mutate.Core(path)
    change(core, mutate_rss.addresses(exe))
    core.close()
    done = run_cli(["core", exe, path, "rss", "--json"])
    assert done.returncode in (0, 3), done.stderr
    document = json.loads(done.stdout)
    was = {c["name"]: c["bytes"] for c in json.loads(before.stdout)["classes"]}
    now = {c["name"]: c["bytes"] for c in document["classes"]}
    assert sum(now.values()) == document["total_bytes"]
    for name in "go_heap_live", "go_stacks", "go_heap_idle":
        assert abs(now[name] - was[name]) < 4096
    assert now["go_runtime_mspan"] or "spans" in change.__name__


@pytest.mark.parametrize("value", [0, 8, 1 << 63, 0xC000000000])
def test_arenas(copied, value):
    """The index of the heap's arenas leads astray: the classes add up, and the
    gap is counted, unless what lies there could be an index."""
    exe, path = copied(CENTRAL)
    core = mutate.Core(path)
    core.put(mutate_rss.addresses(exe)["arenas"], value)
    core.close()
    done = run_cli(["core", exe, path, "rss", "--json"])
    assert done.returncode in (0, 3), done.stderr
    document = json.loads(done.stdout)
    found = {c["name"]: c["bytes"] for c in document["classes"]}
    assert sum(found.values()) == document["total_bytes"]
    if value < 1 << 32 or value >= 1 << 48:
        assert "mheap_.arenas" in str(document["partial"])


@pytest.mark.parametrize(
    "off, value",
    [(8, None), (8, 8), (8, 1 << 63), (40, 1 << 32), (48, 0xC000000000)],
    ids=["in a circle", "nowhere", "negative", "no entries", "in the heap"],
)
def test_queues(copied, off, value):
    """The collector's list of queues leads astray (spanSPMC: allnode.next at
    8, cap at 40, ring at 48)."""
    exe, path = copied(NEWEST, "queued")
    before = run_cli(["core", exe, path, "rss", "--json"])
    core = mutate.Core(path)
    first = core.u64(mutate_rss.addresses(exe, more=True)["queues"])
    assert core.u64(first + 40) & 0xFFFFFFFF >= 512 and core.u64(first + 48)
    core.put(first + off, first if value is None else value)
    core.close()
    done = run_cli(["core", exe, path, "rss", "--json"])
    assert done.returncode == 0, done.stderr
    documents = json.loads(before.stdout), json.loads(done.stdout)
    was, now = (
        {c["name"]: c["bytes"] for c in d["classes"]} for d in documents
    )
    assert sum(now.values()) == documents[1]["total_bytes"]
    changed = {name for name in now if now[name] != was[name]}
    assert changed <= {"unknown", "go_runtime"}


def pages_of(core):
    """Addresses of pages that the core has."""
    data = core.read_bytes()
    phoff = struct.unpack_from("<Q", data, 32)[0]
    count = struct.unpack_from("<H", data, 56)[0]
    for i in range(count):
        kind, _, _, addr, _, size, _, _ = struct.unpack_from(
            "<IIQQQQQQ", data, phoff + 56 * i
        )
        if kind == 1:
            yield from range(addr, addr + size, 4096)


@pytest.mark.parametrize(
    "size", [0, 1 << 62, 1 << 47, 128 << 10, (1 << 64) - 4096]
)
def test_c_blocks(farm, tmp_path, size):
    """The headers of blocks that malloc has mapped may have any size."""
    target = farm.target("cheap", Variant("go1.24", "cgo"))
    path = tmp_path / "core"
    mutate.copy_sparse(target.core, path)
    core = mutate.Core(path)
    changed = 0
    for page in pages_of(path):
        words = core.u64(page), core.u64(page + 8)
        if not words[0] and words[1] % 4096 == 2 and words[1] >> 17:
            core.put(page + 8, size | 2)
            changed += 1
    core.close()
    assert changed >= 8
    done = run_cli(["core", target.exe, path, "rss", "--json"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = {c["name"]: c["bytes"] for c in document["classes"]}
    assert sum(found.values()) == document["total_bytes"]
    own, large = target.truth["own_bytes"], target.truth["large_bytes"]
    blocks = changed * size if size == 128 << 10 else 0
    assert found["unknown"] >= own + large - blocks


def block_headers(path):
    core = mutate.Core(path)
    found = [
        page
        for page in pages_of(path)
        if core.u64(page) == 0
        and core.u64(page + 8) % 4096 == 2
        and core.u64(page + 8) >> 17
    ]
    core.close()
    return found


def run_of_blocks(path):
    """Where the most blocks that lie one behind another begin and end, and their
    number. What the kernel has mapped beside them may be the runtime's."""
    core = mutate.Core(path)
    runs = [(0, 0, 0)]
    for header in block_headers(path):
        end = header + (core.u64(header + 8) & ~7)
        begin, last, count = runs[-1]
        if header == last:
            runs[-1] = (begin, end, count + 1)
        else:
            runs.append((header, end, 1))
    core.close()
    return max(runs, key=lambda run: run[2])


def split(row, begin, end, address):
    """Rows of the parts of a segment, of which that from begin to end is moved to
    an address."""
    kind, flags, offset, start, _, size, memory_size, align = row
    places = ((start, begin, start), (begin, end, address),
              (end, start + memory_size, end))  # fmt: skip
    for first, last, place in places:
        if first < last:
            stored = max(min(last, start + size) - first, 0)
            yield (kind, flags, offset + first - start, place, 0, stored,
                   last - first, align)  # fmt: skip


def set_rows(path, rows):
    """A core gets another table of segments, behind all it has."""
    with open(path, "r+b") as file:
        at = file.seek(0, os.SEEK_END)
        for row in rows:
            file.write(mutate.HEADER.pack(*row))
        file.seek(0x20)
        file.write(struct.pack("<Q", at))
        file.seek(0x38)
        file.write(struct.pack("<H", len(rows)))


def move_blocks(path, address):
    """Move some blocks to an address. Returns their number."""
    begin, end, count = run_of_blocks(path)
    core = mutate.Core(path)
    rows = []
    for at in core.headers:
        row = mutate.HEADER.unpack_from(core.data, at)
        has_blocks = row[0] == 1 and row[3] <= begin < row[3] + row[6]
        rows += split(row, begin, end, address) if has_blocks else [row]
    core.close()
    set_rows(path, sorted(rows, key=lambda row: (row[0] == 1, row[3])))
    return count


@pytest.mark.parametrize("address", [0x7E0000000000, 0x7E0000001000])
def test_c_blocks_where_arenas_begin(farm, tmp_path, address):
    """The kernel maps blocks at multiples of 64 MB now and then, as it does
    arenas: they are found there, too, and in the saved file."""
    target = farm.target("cheap", Variant("go1.24", "cgo"))
    path, file = tmp_path / "core", tmp_path / "heap.goref"
    mutate.copy_sparse(target.core, path)
    assert move_blocks(path, address) >= 2
    moved = ["core", target.exe, path]
    assert run_cli([*moved, "save", file]).returncode == 0
    sizes = []
    for source in (["core", target.exe, target.core], moved, ["open", file]):
        done = run_cli([*source, "rss", "--json"])
        assert done.returncode == 0, done.stderr
        classes = json.loads(done.stdout)["classes"]
        heap = [c for c in classes if c["name"].startswith("c_heap")]
        sizes.append(sum(c["bytes"] for c in heap))
    assert sizes[0] >= target.truth["large_bytes"]
    assert sizes == sizes[:1] * 3

# SPDX-License-Identifier: Apache-2.0
"""The table of arenas of goref native, and its first line."""

import rows
from goref.render.native import NativeReport

KIB = 1 << 10


def arena(i, in_use, mapped, **fields):
    return rows.make(
        "NativeArena",
        addr=0x1000 * i,
        kind="thread",
        is_checked=True,
        in_use_blocks=i,
        in_use_bytes=in_use,
        free_bytes=mapped - in_use,
        mapped_bytes=mapped,
        trimmable_bytes=KIB,
        **{"resident_bytes": 2 * KIB, **fields},
    )


def report(arenas, **fields):
    heap = rows.make(
        "NativeHeap",
        name="glibc",
        version="2.36",
        arenas=arenas,
        sum=rows.make("NativeArena", **fields),
    )
    return NativeReport(
        tool_version="1",
        partial=[],
        found=rows.make("Native", is_known=True, heaps=[heap]),
        kept=rows.make("KeptByC", is_known=True),
        top=2,
    )


def lines(arenas, **fields):
    return report(arenas, **fields).lines()


def table(arenas):
    """The cells of the table, without its head."""
    found = lines(arenas)
    at = next(i for i, line in enumerate(found) if line.endswith("  arena"))
    return [line.split() for line in found[at + 1 :]]


def test_the_rest_has_sums():
    found = table([arena(i, i * KIB, 16 * KIB) for i in (1, 2, 3, 4)])
    assert found[-1] == (
        "3.0 KiB 3 29.0 KiB 2.0 KiB 32.0 KiB 4.0 KiB 90.6 % 2 more"
    ).split()
    assert found[0][:3] == ["4.0", "KiB", "4"] and len(found) == 3
    unknown = arena(1, KIB, 16 * KIB, resident_bytes=None)
    cells = table([arena(3, 3 * KIB, 4 * KIB), arena(2, 2 * KIB, 4 * KIB),
                   unknown])[-1]  # fmt: skip
    assert cells[9] == "?" and cells[-2:] == ["1", "more"]


def test_the_order_is_that_of_the_first_column():
    """The largest one comes first of those that are equal."""
    found = table([arena(1, 0, 8 * KIB), arena(2, 0, 9 * KIB)])
    assert [row[2] for row in found] == ["2", "1"]
    found = table([arena(1, 2 * KIB, 8 * KIB), arena(2, KIB, 64 * KIB)])
    assert [row[0] for row in found] == ["2.0", "1.0"]


def test_most_free_memory_is_not_resident():
    sizes = {"in_use_bytes": KIB, "in_use_blocks": 2, "free_bytes": 3 * KIB,
             "mapped_bytes": 4 * KIB}  # fmt: skip
    start = (
        "C memory (glibc 2.36): 1.0 KiB in 2 blocks, 3.0 KiB free (75.0 % of "
        "4.0 KiB mapped)"
    )
    first = lines([], **sizes, free_resident_bytes=96)[0]
    assert first == f"{start}; 96 B of the free memory is resident"
    assert lines([], **sizes, free_resident_bytes=None)[0] == start


def test_document_has_all_arenas():
    """And their sums, as the scanner has made them."""
    arenas = [arena(i, i * KIB, 4 * KIB, free_resident_bytes=i)
              for i in (1, 2, 3)]  # fmt: skip
    made = report(arenas, free_resident_bytes=6, resident_bytes=6 * KIB)
    [heap] = made.document()["allocators"]
    assert heap["arenas"] == 3 and heap["version"] == "2.36"
    assert heap["free_resident_bytes"] == 6
    assert heap["resident_bytes"] == 6 * KIB
    assert [row["free_resident_bytes"] for row in heap["arena_list"]] == [
        1, 2, 3
    ]  # fmt: skip


def heap_of(name, mapped, **fields):
    total = rows.make("NativeArena", mapped_bytes=mapped, **fields)
    return rows.make("NativeHeap", name=name, arenas=[], sum=total)


def test_several_allocators():
    """The largest one comes first, those that are not read come last, and a
    warning is said once."""
    refused = rows.make(
        "NativeHeap",
        name="mimalloc",
        version="3.0.1",
        refusal="is not supported (goref reads 2.0.9)",
        arenas=[],
        sum=rows.make("NativeArena"),
    )
    found = [refused, heap_of("musl", KIB), heap_of("jemalloc", 2 * KIB)]
    made = NativeReport(
        tool_version="1",
        partial=["a block is missing"],
        found=rows.make("Native", is_known=True, heaps=found),
        kept=rows.make("KeptByC", is_known=True),
    )
    text = made.text()
    order = [text.index(name) for name in ("jemalloc", "musl", "mimalloc")]
    assert order == sorted(order)
    assert text.count("PARTIAL: a block is missing") == 1
    line = "mimalloc 3.0.1 is not supported (goref reads 2.0.9); its blocks are "
    assert f"C memory: {line}not listed\n" in text
    names = [row["name"] for row in made.document()["allocators"]]
    assert names == ["jemalloc", "musl", "mimalloc"]


def test_how_free_memory_is_given_back():
    """Each allocator has its own way; musl keeps none back."""
    heaps = [heap_of(name, KIB, trimmable_bytes=512, cached_bytes=256)
             for name in ("jemalloc", "tcmalloc", "mimalloc", "musl")]  # fmt: skip
    made = NativeReport(
        tool_version="1",
        partial=[],
        found=rows.make("Native", is_known=True, heaps=heaps),
        kept=rows.make("KeptByC", is_known=True),
    )
    free = [line for line in made.lines() if line.startswith("free: ")]
    assert len(free) == 4
    assert all("would give back 512 B" in line for line in free[:3])
    assert all("256 B in caches of threads" in line for line in free[:2])
    assert free[2].startswith("free: largest block 0 B; mi_collect")
    assert free[3] == "free: largest block 0 B"

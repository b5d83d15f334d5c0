# SPDX-License-Identifier: Apache-2.0
"""goref native leaks: why an answer is partial, in words."""

from types import SimpleNamespace

import pytest

from goref import partial
from goref.render import native
from goref.render.native_leaks import NativeLeaksReport, stands_out

HELD = "16.0 KiB of memory that may hold pointers to blocks is missing"


def leaks(**changes):
    row = {"is_known": True, "leaked_blocks": 0, "leaked_bytes": 0,
           "in_use_blocks": 0, "in_use_bytes": 0, "unchecked_arenas": 0,
           "missing_bytes": 0, "groups": ()}  # fmt: skip
    return SimpleNamespace(**(row | changes))


def found(is_known=True, is_expected=True):
    return SimpleNamespace(
        is_known=is_known, is_expected=is_expected, heaps=()
    )


def text(row, *partial):
    return NativeLeaksReport(
        tool_version="1", partial=partial, found=row
    ).text()


@pytest.mark.parametrize(
    "arenas, reason",
    [
        (1, "1 arena is damaged or in the middle of a change, and all blocks "
            "in it count as held"),
        (2, "2 arenas are damaged or in the middle of a change, and all "
            "blocks in them count as held"),
    ],
)  # fmt: skip
def test_unchecked_arenas(arenas, reason):
    assert native.uncounted_reasons(arenas) == [reason]
    row = leaks(unchecked_arenas=arenas)
    assert text(row, reason) == (
        "no block could be checked: no arena is whole\n"
        f"PARTIAL: {reason}: leaks may be missing\n"
    )


def test_all_are_held():
    row = leaks(in_use_blocks=2, in_use_bytes=64)
    assert text(row) == (
        "no leak found: all 2 blocks in use are held (64 B in use)\n"
    )


def number(*words):
    return b"".join(word.to_bytes(8, "little") for word in words)


@pytest.mark.parametrize(
    "data, shown",
    [
        (b"hello, world of C\0\x9d\0\0\0\0\0", '"hello, world of C"'),
        (b"it goes on and on", '"it goes on and on"'),
        (b"exactly8" + number(0, 7), '"exactly8" 0x7'),
        (b"hello\0\0\0" + number(7), '"hello" 0x7'),
        (number(7, 0x7F001234) + b"name\0\0\0\0", '0x7 0x7f001234 "name"'),
        (number(0x414243), "0x414243"),  # as likely a number
        (b"not\xff\xfe allis text", '0x6c6120feff746f6e "lis text"'),
        (number(1, 2, 3, 4, 5, 6), "0x1 0x2 0x3 0x4 ..."),
        (b'a "line"\n' + bytes(7), r'"a \"line\"\n"'),
        (b"\x1b" * 16, "0x1b1b1b1b1b1b1b1b 0x1b1b1b1b1b1b1b1b"),
        (b"", ""),
    ],
)
def test_first_words(data, shown):
    """Bytes that are no text are words in hexadecimal."""
    group = SimpleNamespace(
        blocks=1, bytes=64, size=64, heads=1, type=None, content=None,
        library=None, example=0x7F00, beside=None, beside_blocks=0,
    )  # fmt: skip
    row = leaks(in_use_blocks=1, leaked_blocks=1, groups=(group,))
    report = NativeLeaksReport(
        tool_version="1", partial=(), found=row, contents={0x7F00: data}
    )
    line = report.lines()[3]
    assert line.partition("0x7f00")[2].strip() == shown


def test_missing_memory(make):
    row = leaks(missing_bytes=16 << 10)
    assert partial.lost_holders(make.info(), leaks()) == []
    assert partial.lost_holders(make.info(), row) == [HELD]
    # Another reason has all that the file lacks.
    torn = make.info(missing_bytes=1 << 20)
    assert partial.lost_holders(torn, row) == []


def test_a_holder_may_be_missing():
    row = leaks(in_use_blocks=2, leaked_blocks=1, missing_bytes=16 << 10)
    assert f"PARTIAL: {HELD}: a holder may be missing\n" in text(row, HELD)


@pytest.mark.parametrize("is_known", [False, True])
def test_no_allocator_is_no_answer(is_known):
    reasons = native.unknown_reasons(found(is_known))
    assert reasons == ["the blocks of C are not known"]


def test_no_c_memory():
    assert native.unknown_reasons(found(is_expected=False)) == []


def test_the_allocator_may_be_missing(make):
    line = native.nothing_line(found(), make.info())
    assert line.startswith("no C allocator that goref knows (glibc, ")
    torn = make.info(missing_bytes=1 << 20)
    assert native.nothing_line(found(), torn) == (
        "no C allocator was found: its data (that of libc) may lie in the "
        "missing part of the core"
    )


def heap(*free_resident):
    """A heap for each size of free memory that is resident."""
    sums = [
        SimpleNamespace(resident_bytes=4096, mapped_bytes=8192,
                        in_use_bytes=2048, free_bytes=1024,
                        free_resident_bytes=size)
        for size in free_resident
    ]  # fmt: skip
    return SimpleNamespace(heaps=[SimpleNamespace(sum=total) for total in sums])


@pytest.mark.parametrize(
    "is_partial, seen", [(False, ""), (True, " in what could be read")]
)
def test_overview(is_partial, seen):
    row = leaks(leaked_blocks=3, leaked_bytes=96)
    assert native.overview_lines(heap(64), row, 8192, is_partial) == [
        "C memory: 2.0 KiB in use; 1.0 KiB free, of which 64 B are resident; "
        f"96 B in 3 blocks that nothing holds{seen} (`native leaks')"
    ]


def test_resident_part_of_free_memory():
    """It is said if it is known of all allocators."""
    both, one = heap(64, 32), heap(64, None)
    assert native.overview_lines(both, None, 0) == [
        "C memory: 4.0 KiB in use; 2.0 KiB free, of which 96 B are resident"
    ]
    assert native.overview_document(both, None)["free_resident_bytes"] == 96
    assert native.overview_lines(one, None, 0) == [
        "C memory: 4.0 KiB in use; 2.0 KiB free"
    ]
    assert native.overview_document(one, None)["free_resident_bytes"] is None


@pytest.mark.parametrize(
    "leaked, in_use, is_said",
    [(16 << 10, 16 << 10, True), ((16 << 10) - 1, 16 << 10, False),
     (1 << 20, 100 << 20, False), ((1 << 20) + 1, 100 << 20, True)],
)  # fmt: skip
def test_leaks_that_stand_out(leaked, in_use, is_said):
    """More than libc itself leaves, and more than a hundredth."""
    assert stands_out(leaked, in_use) is is_said

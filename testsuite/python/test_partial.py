# SPDX-License-Identifier: Apache-2.0
"""Why an answer is not about all of the memory, in words."""

import pytest

from goref import partial


def test_complete(make):
    harmless = make.gaps(
        free_slot_pointers=5, conservative_frames=9, unknown_types=1
    )
    assert partial.reasons(make.info(), make.ledger(gaps=harmless)) == []


@pytest.mark.parametrize(
    "gaps, reason",
    [
        ({"unreadable_pages": 1}, "1 page of memory is missing"),
        ({"unreadable_pages": 2}, "2 pages of memory are missing"),
        ({"bad_spans": 1052}, "1,052 spans of the heap make no sense"),
        ({"goroutines_skipped": 1}, "1 goroutine could not be read"),
        ({"goroutines_skipped": 3}, "3 goroutines could not be read"),
        (
            {"broken_lists": 1},
            "1 of the runtime's lists and tables makes no sense",
        ),
    ],
)
def test_gap(make, gaps, reason):
    ledger = make.ledger(gaps=make.gaps(**gaps))
    assert partial.reasons(make.info(), ledger) == [reason]


def test_truncated_core(make):
    info = make.info(missing_bytes=12 << 20, broken_list="allgs")
    gaps = make.gaps(unreadable_pages=2, bad_spans=1, broken_lists=2)
    assert partial.reasons(info, make.why(gaps=gaps)) == [
        "the core file is truncated, 12.0 MiB are missing",
        "2 pages of memory are missing",
        "1 span of the heap lay in that part",
        "2 of the runtime's lists and tables (allgs and more) lay in that "
        "part",
    ]


def test_damaged_headers(make):
    info = make.info(bad_headers=1)
    assert partial.reasons(info, make.verdict()) == [
        "1 program header of the core makes no sense"
    ]


@pytest.mark.parametrize(
    "threads, reason",
    [
        (1, "1 thread did not stop, and may have changed memory meanwhile"),
        (2, "2 threads did not stop, and may have changed memory meanwhile"),
    ],
    ids=["one", "two"],
)
def test_threads_that_did_not_stop(make, threads, reason):
    info = make.info(late_threads=threads)
    assert partial.reasons(info, make.ledger()) == [reason]


def test_ended_walk(make):
    ledger = make.ledger(is_partial=True)
    assert partial.reasons(make.info(), ledger) == ["interrupted"]
    ended = "timed out"
    assert partial.reasons(make.info(), ledger, ended) == [ended]
    # The reason is one of the walk that was ended, of no other.
    assert partial.reasons(make.info(), make.ledger(), ended) == []

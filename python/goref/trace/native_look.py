# SPDX-License-Identifier: Apache-2.0
"""The look at the end of the mode native: which blocks are still in use, who
holds them, and for what the goroutines of these wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._goref import GrowthBlock, Scan
    from .blocks import Blocks
    from .waiting import Wait

_MOST_IDS = 10_000  # goroutines that are asked for


class NativeLook(NamedTuple):
    """rows: of Scan.growth_blocks(), for records that are not proven to be
    free. waits: of goroutines by id; None: not asked for."""

    rows: Iterable[GrowthBlock]
    is_known: bool
    waits: Mapping[int, Wait] | None


def question(
    scan: Scan, blocks: Blocks, are_walked: bool, with_waits: bool
) -> NativeLook:
    """Ask a scan of the process at the end. are_walked: all blocks are of
    heaps that the scan walks."""
    found = scan.growth_blocks(blocks.places(), are_walked)
    waits = None
    if with_waits:
        from .waiting import waits_of

        waits = waits_of(scan, _goroutines(found.rows, blocks))
    return NativeLook(found.rows, found.is_known, waits)


def _goroutines(rows: Iterable[GrowthBlock], blocks: Blocks) -> list[int]:
    """The ids of those that hold blocks, and of those that allocated what is
    left."""
    left = {row.index for row in rows}
    ids: dict[int, None] = {}
    for row in rows:
        ids[row.goroutine_id] = None
    for index, record in enumerate(blocks):
        if index in left:
            ids[record.goroutine_id] = None
        if len(ids) > _MOST_IDS:
            break
    ids.pop(0, None)
    return [*ids][:_MOST_IDS]

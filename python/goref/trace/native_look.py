# SPDX-License-Identifier: Apache-2.0
"""The look at the end of the mode native: which blocks are still in use, who
holds them, and for what the goroutines that hold them wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .estimate import Room

if TYPE_CHECKING:
    from .._goref import GrowthBlock, Scan
    from .blocks import Blocks
    from .waiting import Wait

_MOST_IDS = 10_000  # goroutines that are asked for


class NativeLook(NamedTuple):
    """rows: of Scan.growth_blocks(), for records that are not proven to be
    free. waits: by the id of a goroutine; None: not asked for. sizes: the
    number of blocks in use, by their size in bytes with the header, in heaps
    that the scan walks; None: not known."""

    rows: Iterable[GrowthBlock]
    is_known: bool
    waits: Mapping[int, Wait] | None
    sizes: Mapping[int, int] | None = None

    def room(self, row: GrowthBlock) -> Room | None:
        """All blocks in use that have the size of a row; None: not known."""
        if row.state != "in_use" or self.sizes is None:
            return None
        blocks = self.sizes.get(row.block_bytes)
        return None if blocks is None else Room(row.bytes, blocks)


def question(
    scan: Scan, blocks: Blocks, are_walked: bool, with_waits: bool
) -> NativeLook:
    """Ask a scan of the process at the end. are_walked: all blocks are in
    heaps that the scan walks."""
    found = scan.growth_blocks(blocks.places(), are_walked)
    waits = None
    if with_waits:
        from .waiting import waits_of

        waits = waits_of(scan, _goroutines(found.rows, blocks))
    sizes = {row.bytes: row.blocks for row in scan.native().sizes}
    return NativeLook(found.rows, found.is_known, waits, sizes)


def _goroutines(rows: Iterable[GrowthBlock], blocks: Blocks) -> list[int]:
    """The ids of goroutines that hold blocks, and of those that allocated the
    blocks that are not proven to be free."""
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

# SPDX-License-Identifier: Apache-2.0
"""Random damage of what an allocator of C keeps in a core: data of its file, the
pages to which this leads, those to which these lead, and so on, but no word in
a block of the program."""

import bisect
import os
import random
import struct

import mutate
import mutate_native

NT_FILE = 0x46494C45
PAGE = 4096
MOST_BSS = 8 << 20
DEPTH = 3  # from the data on: a tree, its leaves, what they lead to
MOST_PAGES = 3000  # of each depth
GO_HEAP = range(0xC000000000, 0xE000000000)


def files(core):
    """(start, end, path) of each mapping of a file, by the core's notes."""
    offset, size = core.notes
    at, end = offset, offset + size
    while at + 12 <= end:
        name, desc, kind = struct.unpack_from("<III", core.data, at)
        place = at + 12 + (name + 3) // 4 * 4
        if kind == NT_FILE:
            count, _ = struct.unpack_from("<QQ", core.data, place)
            rows = [
                struct.unpack_from("<QQQ", core.data, place + 16 + 24 * i)
                for i in range(count)
            ]
            paths = core.data[place + 16 + 24 * count : place + desc]
            for row, path in zip(rows, paths.split(b"\0")):
                yield row[0], row[1], path.decode()
        at = place + (desc + 3) // 4 * 4


def data_of(core, path):
    """[start, end) of the writable memory of a file, and of the bss behind."""
    path = os.path.realpath(path)
    own = [(s, e) for s, e, name in files(core) if name == path]
    low, high = min(own)[0], max(e for _, e in own)
    for flags, address, _, size in mutate_native.segments(core):
        if flags & 2 and low <= address <= high:
            yield address, address + min(size, MOST_BSS)


def pages_of(core, path):
    return {
        page
        for start, end in data_of(core, path)
        for page in range(start & -PAGE, end, PAGE)
    }


class Pages:
    """The writable memory of a core, by page."""

    def __init__(self, core):
        self.core = core
        rows = mutate_native.segments(core)
        self.rows = sorted((a, a + n, at) for f, a, at, n in rows if f & 2)
        self.starts = [row[0] for row in self.rows]

    def page_at(self, address):
        """The page that holds an address, or None."""
        i = bisect.bisect(self.starts, address) - 1
        if i < 0 or address >= self.rows[i][1] or address in GO_HEAP:
            return None
        return address & -PAGE

    def words(self, page):
        i = bisect.bisect(self.starts, page) - 1
        if i < 0 or page + PAGE > self.rows[i][1]:
            return ()
        at = self.rows[i][2] + page - self.rows[i][0]
        return struct.unpack_from(f"<{PAGE // 8}Q", self.core.data, at)


class Points:
    """places: {name: addresses of words}. blocks: {address: bytes} of those
    that something holds."""

    def __init__(self, core_path, path, blocks):
        core = mutate.Core(core_path)
        self.path = path
        self.blocks = sorted(blocks.items())
        pages = Pages(core)
        level = pages_of(core, path)
        # Words of other files' data may be what holds a block.
        seen = {
            page
            for _, _, name in files(core)
            for page in pages_of(core, name)
        }
        self.places = {}
        for depth in range(DEPTH + 1):
            seen |= level
            words, reached = self._words(pages, sorted(level))
            if words:
                self.places["data" if not depth else f"depth {depth}"] = words
            rng = random.Random(depth)
            level = sorted(reached - seen)
            level = set(rng.sample(level, min(len(level), MOST_PAGES)))
        self.everywhere = [w for words in self.places.values() for w in words]
        core.close()

    def _is_in_block(self, address):
        i = bisect.bisect(self.blocks, (address, 1 << 64)) - 1
        return i >= 0 and address < sum(self.blocks[i])

    def _words(self, pages, level):
        found, reached = [], set()
        for page in level:
            for i, word in enumerate(pages.words(page)):
                if not word or self._is_in_block(page + 8 * i):
                    continue
                found.append(page + 8 * i)
                # Some structures keep flags in the low bits, or in the
                # upper ones.
                for value in word, word & (1 << 48) - 1:
                    target = pages.page_at(value)
                    if target is not None:
                        reached.add(target)
        return found, reached


def value(rng, core, address, points):
    old = core.u64(address)
    place = rng.choice(points.everywhere)
    return rng.choice(
        (
            0, 1, 8, address, 1 << 63, (1 << 64) - 8, rng.getrandbits(64),
            place, core.u64(place), core.u64(place), old + 8, old - 8,
            old ^ 1 << rng.randrange(64), old ^ 1 << rng.randrange(20),
            old * 2, old + PAGE, old + (1 << 46), 0xC000000000,
            rng.randrange(1 << 16), old & ~0xFFFF | rng.randrange(1 << 16),
        )
    )  # fmt: skip


def damage(path, points, seed):
    """Change a few words of one kind; its name."""
    rng = random.Random(seed)
    kind = sorted(points.places)[seed % len(points.places)]
    core = mutate.Core(path)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 30))):
        address = rng.choice(points.places[kind])
        core.put(address, value(rng, core, address, points))
    core.close()
    return kind


def way_of(points):
    return mutate.Way(points, damage, mutate_native.questions)

# SPDX-License-Identifier: Apache-2.0
"""Random damage of the structures of glibc's malloc in a core: its arenas and
malloc_par, heads of heaps and chunks, caches of threads, links, and the base
addresses of threads' variables."""

import random
import struct

import mutate

STATE = 2200  # bytes of a malloc_state
FAST, TOP, BINS, NEXT, SYSTEM = 16, 96, 112, 2160, 2184
HEAP = 64 << 20
CACHE = 0x290
ENTRIES, LISTS = 128, 64  # of a cache
PRSTATUS, FS_BASE = 1, 112 + 21 * 8


def segments(core):
    """(flags, address, offset, bytes) of what the core has."""
    for at in core.headers:
        row = mutate.HEADER.unpack_from(core.data, at)
        if row[0] == 1 and row[5]:
            yield row[1], row[3], row[2], row[5]


def _has_bins(core, arena):
    return all(
        core.u64(arena + BINS + 16 * i) == arena + BINS + 16 * i - 16
        for i in range(100, 120)
    )


def find_main(core):
    """main_arena, whose ring leads back to it."""
    for flags, address, offset, size in segments(core):
        if flags != 6 or size > 4 << 20:
            continue
        words = struct.unpack_from(f"<{size // 8}Q", core.data, offset)
        for i, word in enumerate(words):
            arena = address + 8 * i - NEXT
            is_next = word == arena or word % HEAP in (32, 48)
            if is_next and word and _has_bins(core, arena):
                return next(
                    at for at in ring(core, arena) if at % HEAP not in (32, 48)
                )
    raise AssertionError("the core has no main_arena")


def ring(core, main):
    found, at = [main], core.u64(main + NEXT)
    while at != main and at not in found:
        found.append(at)
        at = core.u64(at + NEXT)
    return found


def find_par(core, main):
    """malloc_par: of 2.35 to 2.41, by its limits of caches."""
    for _, address, _, size in segments(core):
        if not address <= main < address + size:
            continue
        for par in range(address, address + size - 120, 8):
            for at in 104, 80:
                words = core.u64(par + at), core.u64(par + at + 8)
                if words == (64, 1032):
                    return par
    return 0


def chunks(core, first, top):
    """Chunks from the first one to the top."""
    at = first
    while at < top:
        yield at
        size = core.u64(at + 8) & ~7
        if size < 32:
            return
        at += size


class Points:
    """places: {name: addresses of words}."""

    def __init__(self, exe, core_path):
        core = mutate.Core(core_path)
        self.main = find_main(core)
        self.arenas = ring(core, self.main)
        self.par = find_par(core, self.main)
        self.chunks = list(self._chunks(core))
        self.bases = list(fs_bases(core))
        self.places = self._places(core)
        self.everywhere = [w for words in self.places.values() for w in words]
        core.close()

    def _chunks(self, core):
        top = core.u64(self.main + TOP)
        base = core.u64(self.par + 96) if self.par else 0
        yield from chunks(core, base, top)
        for arena in self.arenas[1:]:
            top = core.u64(arena + TOP)
            first = (arena + STATE + 15) & ~15
            if top // HEAP == arena // HEAP:
                yield from chunks(core, first, top)

    def _places(self, core):
        caches = {c + 16 for c in self.chunks if core.u64(c + 8) & ~7 == CACHE}
        named = [
            core.u64(base) - 8 * i
            for base in self.bases
            for i in range(1, 512)
            if core.u64(core.u64(base) - 8 * i) in caches
        ]
        caches = [core.u64(word) for word in named]
        fast = [a + FAST + 8 * k for a in self.arenas for k in range(10)]
        lists = [c + ENTRIES + 8 * k for c in caches for k in range(LISTS)]
        full = [word for word in lists if core.u64(word)]
        main = [self.main + 8 * k for k in range(STATE // 8)]
        heads = [a // HEAP * HEAP + 8 * k for a in self.arenas[1:]
                 for k in range(4)]  # fmt: skip
        return {
            "arena": main[:14] + main[NEXT // 8 :],
            "arenas": [a + at for a in self.arenas
                       for at in (0, TOP, NEXT, SYSTEM)],
            "bins": main[BINS // 8 : NEXT // 8],
            "par": [self.par + 8 * k for k in range(17)] if self.par else main,
            "heaps": heads or main,
            "headers": [c + 8 for c in self.chunks],
            "before": self.chunks,
            "counts": [c + 8 * k for c in caches for k in range(16)] or main,
            "entries": full or main,
            "links": [core.u64(word) for word in full] or main,
            "fast": [core.u64(w) + 16 for w in fast if core.u64(w)] or fast,
            "fast bins": fast,
            "variables": named or main,
            "bases": self.bases,
        }  # fmt: skip


def fs_bases(core):
    """Addresses in the file, as of a segment, cannot name a note: the places in
    it, where Core.put() is given what Note makes of them."""
    offset, size = core.notes
    at, end = offset, offset + size
    while at + 12 <= end:
        name, desc, kind = struct.unpack_from("<III", core.data, at)
        place = at + 12 + (name + 3) // 4 * 4
        if kind == PRSTATUS and desc >= FS_BASE + 8:
            core.segments.append((NOTES + place, place + FS_BASE, 8))
            yield NOTES + place
        at = place + (desc + 3) // 4 * 4


NOTES = 1 << 62  # above all addresses of a program


def value(rng, core, address, points):
    old = core.u64(address)
    return rng.choice(
        (
            0, 8, 16, address, 1 << 63, (1 << 64) - 8, rng.getrandbits(64),
            rng.choice(points.everywhere), rng.choice(points.chunks),
            rng.choice(points.chunks) + 16, rng.choice(points.arenas),
            old ^ 1 << rng.randrange(64), old ^ 1, old ^ 2, old + 16,
            old - 16, old * 2, old + (1 << 20), old + 4096, old + (1 << 46),
            0xC000000000, rng.randrange(1 << 16),
        )
    )  # fmt: skip


def damage(path, points, seed):
    """Change a few words of one kind; its name."""
    rng = random.Random(seed)
    kind = sorted(points.places)[seed % len(points.places)]
    core = mutate.Core(path)
    list(fs_bases(core))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        address = rng.choice(points.places[kind])
        if core.offset(address) is not None:
            core.put(address, value(rng, core, address, points))
    core.close()
    return kind


def questions(_points, seed, _core):
    asked = [mutate.Question("native leaks --json")]
    if seed % 8 == 0:
        asked.append(mutate.Question("native --json"))
    return asked


def way_of(exe, core):
    return mutate.Way(Points(exe, core), damage, questions)

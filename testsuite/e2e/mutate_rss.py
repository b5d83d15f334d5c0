# SPDX-License-Identifier: Apache-2.0
"""Random damage of what `goref rss` reads of a core: the tables of pages, the
lists of the runtime's memory."""

import functools

import mutate
from session import run_gdb

HEAP = "'runtime.mheap_'"
VARIABLES = ("persistentChunks", "mbuckets", "bbuckets", "xbuckets",
             "buckhash", "gcBitsArenas", "allp", "gcController")  # fmt: skip
PAGES = ("start", "end", "summary", "chunks")
LISTS = ("allspans", "arenas")
NAMED = {
    **{name: f"{HEAP}.pages.{name}" for name in PAGES},
    **{name: f"{HEAP}.{name}" for name in LISTS},
    **{name: f"'runtime.{name}'" for name in VARIABLES},
    "bits": "'runtime.gcBitsArenas'.current",
}
QUEUES = {"queues": "'runtime.work'.spanSPMCs.list.obj"}


@functools.cache
def addresses(exe, more=False):
    """{name: the address of a variable or of its field}, by gdb. more: those of
    a release that has queues of spans, too."""
    named = NAMED | QUEUES if more else NAMED
    commands = [f"output (unsigned long)&{e}" for e in named.values()]
    run = run_gdb([exe], ["set language c", *commands])
    return dict(zip(named, map(int, run.parts[1:]), strict=True))


class Points:
    """places: {name: addresses of words}; everywhere: all of these."""

    def __init__(self, exe, core_path):
        core = mutate.Core(core_path)
        self.places = _places(core, addresses(exe))
        core.close()
        self.everywhere = [w for words in self.places.values() for w in words]


def _places(core, at):
    """at: of addresses()."""
    found = {}

    def add(name, first, count=1):
        found.setdefault(name, []).extend(first + 8 * i for i in range(count))

    counts = {"start": 1, "end": 1, "summary": 15, "allspans": 3, "arenas": 1}
    counts |= dict.fromkeys(VARIABLES, 5)
    for name, count in counts.items():
        add(name, at[name], count)
    slot = at["chunks"] + (core.u64(found["start"][0]) >> 13) * 8
    add("chunks", slot)
    start = core.u64(found["start"][0]) % (1 << 13)
    add("entries", core.u64(slot) + start * 128, 64)
    for word in found["gcBitsArenas"][1:]:
        add("gc bits", core.u64(word), 2)
    add("span records", core.u64(found["allspans"][0]), 64)
    add("ps", core.u64(found["allp"][0]), 2)
    for name, count in (("persistentChunks", 1), ("mbuckets", 8)):
        record = core.u64(found[name][0])
        for _ in range(8):
            if core.offset(record) is None:
                break
            add(f"{name} records", record, count)
            record = core.u64(record + (8 if name == "mbuckets" else 0))
    return found


def _value(rng, core, address, everywhere):
    old = core.u64(address)
    return rng.choice(
        (
            0, 8, address, rng.choice(everywhere), 1 << 63, (1 << 64) - 8,
            rng.getrandbits(64), old ^ 1 << rng.randrange(64), old + 8,
            old - 8, old * 2, rng.randrange(1 << 16), old + (1 << 20),
        )
    )  # fmt: skip


def words(rng, core, points):
    """Change a few words."""
    places = points.places
    for _ in range(rng.randrange(1, 5)):
        address = rng.choice(places[rng.choice(sorted(places))])
        if core.offset(address) is not None:
            core.put(address, _value(rng, core, address, points.everywhere))


damage = functools.partial(mutate.damage, kinds=(words,))


def questions(_points, _seed, _core):
    return [mutate.Question("rss --json")]


def way_of(exe, core):
    return mutate.Way(Points(exe, core), damage, questions)

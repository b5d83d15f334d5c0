# SPDX-License-Identifier: Apache-2.0
"""Random damage of what keeps Go objects for C: the table of cgo.Handle and
the references of runtime.Pinner, in a core of the program kept_by_c."""

import random

import mutate

HANDLES = "runtime/cgo.handles"
PINNERS = ("main.ofBuffers", "main.ofFrames")
LEVELS, NODES, WORDS = 6, 3000, 20
HEAP, HEAP_END = 0xC000000000, 0xC100000000


class Points:
    """words: addresses of words of the table, level by level from its
    variable; nodes: what these lead to; pinned: words of the Pinners."""

    def __init__(self, exe, core_path):
        names = mutate.symbols(exe)
        core = mutate.Core(core_path)
        self.table, self.nodes = names[HANDLES], []
        self.words = self._reached(core, [self.table])
        pinners = [core.u64(names[name]) for name in PINNERS if name in names]
        self.pinned = []
        for pinner in pinners:
            self.pinned += [pinner + 8 * i for i in range(8)]
            refs = core.u64(pinner)
            self.pinned += [refs + 8 * i for i in range(core.u64(pinner + 8))]
        core.close()

    def _reached(self, core, level):
        found = []
        for _ in range(LEVELS):
            words = [node + 8 * i for node in level for i in range(WORDS)]
            found += words
            targets = {core.u64(word) for word in words}
            level = sorted(
                to for to in targets if HEAP <= to < HEAP_END and not to % 8
            )[:NODES]
            self.nodes += level
        return found


def value(rng, core, address, points):
    old = core.u64(address)
    return rng.choice(
        (
            0, 1, 8, address, points.table, rng.choice(points.nodes),
            rng.choice(points.nodes), rng.choice(points.nodes) + 8,
            rng.choice(points.words), rng.getrandbits(64), 1 << 63,
            (1 << 63) - 1, 1 << 40, old + 8, old ^ 1 << rng.randrange(64),
            rng.randrange(1 << 16), HEAP,
        )
    )  # fmt: skip


def damage(path, points, seed):
    """Change some words of the table, or of the Pinners; which of them."""
    rng = random.Random(seed)
    kind = "pinned" if points.pinned and seed % 4 == 0 else "table"
    places = points.pinned if kind == "pinned" else points.words
    if seed % 4 == 1:
        places = points.words[: 40 * WORDS]  # near the variable
    core = mutate.Core(path)
    for _ in range(rng.choice((1, 1, 4, 40, 400))):
        address = rng.choice(places)
        core.put(address, value(rng, core, address, points))
    core.close()
    return kind


def questions(_points, _seed, _core):
    return [mutate.Question("native --json")]


def way_of(exe, core):
    return mutate.Way(Points(exe, core), damage, questions)

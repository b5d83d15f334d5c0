# SPDX-License-Identifier: Apache-2.0
"""Damage of what `goref waste' reads: the headers of strings, slices and maps
in a core of `wastes mix', which says where they are."""

import functools

import mutate

WORD = 8
MOST = (1 << 64) - 1
HUGE = (1 << 40, 1 << 31, 1 << 63, (1 << 63) - 1, MOST, MOST - 7, 1 << 47)
STRINGS, SLICES = ("name", "part"), ("data", "window", "values", "items")
MAPS, OTHERS = ("table", "index"), ("next", "box", "cell")
MAP_WORDS = 6
MAX_RECORDS = 1 << 20
MIX = ("mix", "7", "20000")


class Points:
    """headers: {field: addresses of its headers that are not nil}."""

    def __init__(self, target):
        told = {name: int(at, 16) for name, at in target.places.items()}
        core = mutate.Core(target.core)
        first, count = (core.u64(told["mixed"] + at) for at in (0, WORD))
        assert count < MAX_RECORDS
        records = [core.u64(first + WORD * i) for i in range(count)]
        self.headers = {
            field: [r + at for r in records if core.u64(r + at)]
            for field, at in told.items()
            if field != "mixed"
        }
        core.close()

    def some(self, rng, fields):
        return rng.choice(self.headers[rng.choice(fields)])


def many(rng):
    return range(rng.choice((1, 10, 200)))


def strings(rng, core, points):
    """Strings of 2^40 bytes."""
    for _ in many(rng):
        at = points.some(rng, STRINGS)
        core.put(at + WORD, rng.choice(HUGE))


def lengths(rng, core, points):
    """Lengths over capacities."""
    for _ in many(rng):
        at = points.some(rng, SLICES)
        capacity = core.u64(at + 2 * WORD)
        length = rng.choice((capacity + 1, 2 * capacity + 8, *HUGE))
        core.put(at + WORD, length)


def capacities(rng, core, points):
    """Capacities that are larger than the array, or smaller than the
    length."""
    for _ in many(rng):
        at = points.some(rng, SLICES)
        value = rng.choice((0, 1, core.u64(at + WORD) - 1, *HUGE))
        core.put(at + 2 * WORD, value)


def views(rng, core, points):
    """Pointers into the arrays of others, and everywhere in them: views that
    overlap, touch, and lie far apart."""
    fields = STRINGS + SLICES
    arrays = [core.u64(points.some(rng, fields)) for _ in range(4)]
    for _ in many(rng):
        at = points.some(rng, fields)
        core.put(at, rng.choice(arrays) + rng.randrange(4096))
        core.put(at + WORD, rng.randrange(64))
        if rng.random() < 0.5:
            core.put(at + 2 * WORD, rng.randrange(4096))


def crowds(rng, core, points):
    """Thousands of views of one array, which do not touch."""
    large = max(points.headers["data"], key=lambda at: core.u64(at + 2 * WORD))
    array, size = core.u64(large), core.u64(large + 2 * WORD)
    for at in points.headers["data"] + points.headers["window"]:
        if array <= core.u64(at) < array + size:
            core.clear(at, 3 * WORD)
    step = rng.choice((2, 3, 16))
    for i, at in enumerate(points.headers["part"] + points.headers["name"]):
        core.put(at, array + i * step % max(size, 1))
        core.put(at + WORD, 1)


def maps(rng, core, points):
    """Absurd counts, and other words of the headers of maps and of the tables
    to which they lead."""
    for _ in many(rng):
        at = core.u64(points.some(rng, MAPS))
        if rng.random() < 0.3:
            at = core.u64(at + WORD * rng.randrange(2, 4))
        word = at + WORD * rng.randrange(MAP_WORDS)
        value = rng.choice((0, 1, rng.getrandbits(64), core.u64(at), *HUGE))
        core.put(word, value, rng.choice((1, 2, 8)))


def pointers(rng, core, points):
    """Pointers to other fields and objects of other types."""
    everywhere = [at for found in points.headers.values() for at in found]
    for _ in many(rng):
        at = points.some(rng, OTHERS + MAPS)
        target = rng.choice(everywhere)
        core.put(at, rng.choice((target, core.u64(target), at, target + 1)))


KINDS = (strings, lengths, capacities, views, crowds, maps, pointers)
damage = functools.partial(mutate.damage, kinds=KINDS)


def questions(_points, seed, _core):
    """One of them also in parts, which end early."""
    every = mutate.Question("waste --json --min-share 0%")
    ends = ("--memory-limit 30000000", "--timeout 0.05", "--min-share 2%")
    return [
        every,
        mutate.Question("waste"),
        mutate.Question(f"waste --json {ends[seed % len(ends)]}"),
    ]


def way_of(target):
    return mutate.Way(Points(target), damage, questions)

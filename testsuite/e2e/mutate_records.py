# SPDX-License-Identifier: Apache-2.0
"""The parts that all damage of linked records has in common: those of waits
(mutate_waits.py) and of profiles (mutate_samples.py)."""

import mutate


class Points(mutate.Points):
    """places: the addresses of all records, of whatever kind."""

    def at(self, record, field):
        return record + self.layout[field][0]


def value_of(rng, core, points, own):
    """Mostly another record, or the middle of one; sometimes what should not
    be there at all."""
    if rng.random() < 0.4:
        return mutate.wild(rng, core, points, own)
    place = rng.choice(points.places)
    return rng.choice((place, place, own, place + 8 * rng.randrange(16), 0))


def put(rng, core, points, address, size=8):
    core.put(address, value_of(rng, core, points, address), min(size, 8))


def many(rng):
    return range(rng.choice((1, 1, 4, 30)))


def copies(rng, core, points):
    """A record where another one should be, or nothing."""
    for _ in many(rng):
        one, two = rng.choices(points.places, k=2)
        is_empty = rng.random() < 0.3
        for word in range(0, rng.choice((16, 64, 256)), 8):
            core.put(one + word, 0 if is_empty else core.u64(two + word))

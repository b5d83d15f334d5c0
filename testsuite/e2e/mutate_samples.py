# SPDX-License-Identifier: Apache-2.0
"""Damaged records of the runtime's profiles: buckets of memory, of blocking and
of mutexes, and the specials that lead from sampled objects to them."""

import random
from functools import partial

import asking
import mutate
from mutate import copies, many, put, value_of

# Questions about each damaged core.
QUESTIONS = (
    "profile heap -o /dev/null", "profile block -o /dev/null",
    "profile mutex -o /dev/null", "profile heap --now -o /dev/null",
    "histogram --by site", "histogram --by site,root",
    "histogram --by site --garbage", "scan --sites -o /dev/null",
    "object {sampled}",
)  # fmt: skip
SCANS = ("--samples", "--samples --timeout 20",
         "--samples --memory-limit 6000000", "--samples --last-poll 3",
         "--save /dev/null")  # fmt: skip
HEADS = ("mbuckets", "bbuckets", "xbuckets")
SETTINGS = (
    "MemProfileRate", "mProfCycle", "disableMemoryProfiling",
    "blockprofilerate", "mutexprofilerate", "ticks",
)  # fmt: skip
MAX_RECORDS = 100_000


class Points(mutate.Points):
    """Also where buckets, and specials of sampled objects lie."""

    def __init__(self, scanner, exe, core_path):
        super().__init__(scanner, exe, core_path)
        core = mutate.Core(core_path)
        self.heads = [self.variable(name) for name in HEADS]
        self.buckets = {h: self._buckets(core, h) for h in self.heads}
        self.settings = [
            self.variable(name)
            for name in SETTINGS
            if f"runtime.{name}" in self.names
        ]
        self.first_specials = [
            self.at(span, "mspan.specials") for span in self.in_use
        ]
        self.specials, self.sampled = self._specials(core)
        every = sum(self.buckets.values(), [])
        self.places = [*every, *self.specials, *self.heads]
        core.close()

    def _buckets(self, core, head):
        found, at = [], core.u64(head)
        while at and core.offset(at) is not None and len(found) < MAX_RECORDS:
            found.append(at)
            at = core.u64(self.at(at, "bucket.allnext"))
        return found

    def _specials(self, core):
        """All of them, and the start of spans with one: an object to ask
        about."""
        found, starts = [], []
        for span, slot in zip(self.in_use, self.first_specials):
            at = core.u64(slot)
            if at:
                starts.append(self.field(core, span, "start_addr"))
            while at and core.offset(at) is not None:
                found.append(at)
                at = core.u64(self.at(at, "special.next"))
        return found, starts


# ------------------------------------------------------------------ how


def some_bucket(rng, points):
    lists = [found for found in points.buckets.values() if found]
    return rng.choice(rng.choice(lists))


def lists(rng, core, points):
    """Where lists of buckets begin and how they go on."""
    for _ in many(rng):
        link = points.at(some_bucket(rng, points), "bucket.allnext")
        put(rng, core, points, rng.choice((link, link, *points.heads)))


def headers(rng, core, points):
    """Sizes and numbers of calls."""
    for _ in many(rng):
        field = rng.choice(("bucket.size", "bucket.nstk"))
        at = points.at(some_bucket(rng, points), field)
        if rng.random() < 0.5:
            core.put(at, rng.choice((0, 1, 33, 128, 1024, 4096, 1 << 20)))
        else:
            put(rng, core, points, at)


def calls(rng, core, points):
    """Return addresses, and the counts behind them."""
    for _ in many(rng):
        record = some_bucket(rng, points) + points.layout["bucket"][0]
        at = record + 8 * rng.randrange(48)
        value = core.u64(at) + rng.choice((-1, 1, 7, 4096, -(1 << 20)))
        if rng.random() < 0.5:
            value = value_of(rng, core, points, at)
        core.put(at, value)


def specials(rng, core, points):
    """Lists of a span's records, their kinds, offsets and buckets."""
    fields = (
        ("special.next", 8), ("special.offset", 8), ("special.kind", 1),
        ("special_profile.bucket", 8),
    )  # fmt: skip
    for _ in many(rng):
        field, size = rng.choice(fields)
        at = points.at(rng.choice(points.specials), field)
        if rng.random() < 0.2:
            at, size = rng.choice(points.first_specials), 8
        if rng.random() < 0.3 and size == 8:
            core.put(at, rng.choice(points.specials))
        else:
            put(rng, core, points, at, size)


def settings(rng, core, points):
    """Rates, cycles and the length of a tick."""
    for _ in many(rng):
        at = rng.choice(points.settings)
        value = rng.choice((0, 1, 3, 1 << 31, (1 << 64) - 1, 1 << 63))
        core.put(at, rng.choice((value, rng.getrandbits(64))))


KINDS = (
    lists, headers, calls, specials, settings, copies, lists, specials,
    mutate.spans, mutate.pages, mutate.truncate,
)  # fmt: skip
damage = partial(mutate.damage, kinds=KINDS)


# ------------------------------------------------------------ what is asked


def questions(points, seed, _core):
    """The questions about a damaged core. One more has little time, and
    one little memory."""
    rng = random.Random(~seed)
    sampled = hex(rng.choice(points.sampled))
    asked = [question.format(sampled=sampled) for question in QUESTIONS]
    limit, timeout = rng.choice((1, 2, 4, 8)), rng.random() / 10
    texts = [
        *[f"{question} --json" for question in asked],
        f"{rng.choice(asked)} --json --memory-limit {limit}M",
        f"{rng.choice(asked)} --json --timeout {timeout:.4f}",
        SCANS[seed // len(KINDS) % len(SCANS)],
    ]
    return [mutate.Question(text) for text in texts]


def way_of(exe, core):
    return mutate.Way(Points(asking.SCANNER, exe, core), damage, questions)

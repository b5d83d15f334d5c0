# SPDX-License-Identifier: Apache-2.0
"""Random damage of what `goref rss` reads of a core: the tables of pages, the
lists of the runtime's memory."""

import functools
import json
import random

import mutate
import asking
from session import run_gdb

MAX_SECONDS = 20
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


def points(core, at):
    """{name: addresses of words}. core: a mutate.Core, undamaged; at: of
    addresses()."""
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


def damage(rng, core, places):
    """Change a few words; return what they were."""
    everywhere = [word for words in places.values() for word in words]
    before = []
    for _ in range(rng.randrange(1, 5)):
        address = rng.choice(places[rng.choice(sorted(places))])
        if core.offset(address) is not None:
            before.append((address, core.u64(address)))
            core.put(address, _value(rng, core, address, everywhere))
    return before


def _ask(exe, path):
    """The fault of the answer, or None; whether there is one; and the
    processor time."""
    done = asking.run_goref(
        "core", exe, path, "rss", "--json", max_seconds=MAX_SECONDS
    )
    problem, is_answer = None, done.returncode in (0, 3)
    if is_answer:
        document = json.loads(done.stdout)
        total = sum(c["bytes"] for c in document["classes"])
        if total != document["total_bytes"]:
            problem = f"{total} of {document['total_bytes']} bytes"
    else:
        lines = done.stderr.splitlines()
        is_ours = len(lines) == 1 and lines[0].startswith("goref")
        if done.returncode != 1 or not is_ours:
            problem = f"{done.returncode}: {done.stderr}"
    return problem, is_answer, done.seconds


def run(exe, path, first, count):
    """How many answers came of damage, and what went wrong."""
    at = addresses(exe)
    core = mutate.Core(path)
    places = points(core, at)
    answers, wrong, slowest = 0, [], 0.0
    for seed in range(first, first + count):
        before = damage(random.Random(seed), core, places)
        problem, is_answer, seconds = _ask(exe, path)
        slowest = max(slowest, seconds)
        answers += is_answer
        if problem:
            wrong.append([seed, problem])
        for address, value in reversed(before):
            core.put(address, value)
    core.close()
    return {"answers": answers, "wrong": wrong, "slowest": slowest,
            "places": len(places)}  # fmt: skip

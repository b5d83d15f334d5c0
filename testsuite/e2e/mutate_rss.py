# SPDX-License-Identifier: Apache-2.0
"""Random damage of what `goref rss` reads of a core: the tables of pages, the
lists of the runtime's memory. Runs inside gdb, which asks after each damage."""

import json
import random
import time

import mutate

MAX_SECONDS = 20
HEAP = "'runtime.mheap_'"
VARIABLES = ("persistentChunks", "mbuckets", "bbuckets", "xbuckets",
             "buckhash", "gcBitsArenas", "allp", "gcController")  # fmt: skip


def _address(expression):
    import gdb

    return int(gdb.parse_and_eval(f"(unsigned long)&{expression}"))


def points(core):
    """{name: addresses of words}. core: a mutate.Core, undamaged."""
    found = {}

    def add(name, first, count=1):
        found.setdefault(name, []).extend(first + 8 * i for i in range(count))

    for name in ("start", "end"):
        add(name, _address(f"{HEAP}.pages.{name}"))
    add("summary", _address(f"{HEAP}.pages.summary"), 15)
    add("allspans", _address(f"{HEAP}.allspans"), 3)
    add("arenas", _address(f"{HEAP}.arenas"))
    for name in VARIABLES:
        add(name, _address(f"'runtime.{name}'"), 5)
    chunks = _address(f"{HEAP}.pages.chunks")
    slot = chunks + (core.u64(found["start"][0]) >> 13) * 8
    add("chunks", slot)
    start = core.u64(found["start"][0]) % (1 << 13)
    add("entries", core.u64(slot) + start * 128, 64)
    for word in found["gcBitsArenas"][1:]:
        add("gc bits", core.u64(word), 2)
    add("span records", core.u64(found["allspans"][0]), 64)
    add("ps", core.u64(found["allp"][0]), 2)
    for name, count in (("persistentChunks", 1), ("mbuckets", 8)):
        at = core.u64(found[name][0])
        for _ in range(8):
            if core.offset(at) is None:
                break
            add(f"{name} records", at, count)
            at = core.u64(at + (8 if name == "mbuckets" else 0))
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


def _ask(path):
    """What is wrong with the answer, or None; and whether there is one."""
    import gdb

    gdb.execute(f"core-file {path}", to_string=True)
    try:
        text = gdb.execute("goref rss --json", to_string=True)
    except gdb.error as problem:
        lines = str(problem).splitlines()
        is_ours = len(lines) == 1 and lines[0].startswith("goref")
        return (None if is_ours else str(problem)), False
    document = json.loads(text[text.index("{") :])
    total = sum(c["bytes"] for c in document["classes"])
    if total != document["total_bytes"]:
        return f"{total} of {document['total_bytes']} bytes", True
    return None, True


def run_in_gdb(path, first, count):
    """Print one line of JSON: how many answers, and what went wrong."""
    import gdb

    gdb.execute(f"core-file {path}", to_string=True)
    gdb.execute("set language c")
    core = mutate.Core(path)
    places = points(core)
    answers, wrong, slowest = 0, [], 0.0
    for seed in range(first, first + count):
        before = damage(random.Random(seed), core, places)
        begin = time.process_time()
        problem, is_answer = _ask(path)
        slowest = max(slowest, time.process_time() - begin)
        answers += is_answer
        if problem:
            wrong.append([seed, problem])
        for address, value in reversed(before):
            core.put(address, value)
    core.close()
    found = {"done": count, "answers": answers, "wrong": wrong,
             "slowest": slowest, "places": len(places)}  # fmt: skip
    print(json.dumps(found), flush=True)

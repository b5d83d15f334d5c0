# SPDX-License-Identifier: Apache-2.0
"""Runs in gdb, without goref: the contents of the sync.Pools of a core, and of
channels of package main, as the program's debug information says. Prints one
line of JSON: pools (addr; tables, addresses; items, pairs of words) and
channels ({name: addr, elements})."""

import json

import gdb

WORDS = gdb.lookup_type("uintptr").pointer()


def value_of(name):
    try:
        return gdb.parse_and_eval(f"'{name}'")
    except gdb.error:
        return None


def elements(array, length, named):
    pointer = array.cast(gdb.lookup_type(named).pointer())
    return [pointer[i] for i in range(int(length))]


def words(value):
    """An interface: its type and its data."""
    pointer = value.address.cast(WORDS)
    return int(pointer[0]), int(pointer[1])


def in_chain(ring):
    """The items of a ring and of those to which it leads; the first one is the
    oldest."""
    while int(ring):
        slots = ring["poolDequeue"]["vals"]
        for i in range(int(slots["len"])):
            yield words(slots["array"][i])
        following = ring["next"]
        if following.type.code == gdb.TYPE_CODE_STRUCT:  # atomic.Pointer
            following = following["v"]
        ring = following.cast(gdb.lookup_type("sync.poolChainElt").pointer())


def in_table(table, length):
    for local in elements(table, length, "sync.poolLocal"):
        inner = local["poolLocalInternal"]
        yield words(inner["private"])
        tail = inner["shared"]["tail"]
        if tail.type.code == gdb.TYPE_CODE_STRUCT:
            tail = tail["v"]
        yield from in_chain(
            tail.cast(gdb.lookup_type("sync.poolChainElt").pointer())
        )


def read_pools():
    found = {}
    for name in ("sync.allPools", "sync.oldPools"):
        pools = value_of(name)
        for i in range(int(pools["len"]) if pools else 0):
            pool = pools["array"][i].dereference()
            items = [
                *in_table(pool["local"], pool["localSize"]),
                *in_table(pool["victim"], pool["victimSize"]),
            ]
            found[int(pool.address)] = {
                "addr": int(pool.address),
                "tables": [int(pool["local"]), int(pool["victim"])],
                "items": [item for item in items if item[0]],
            }
    return list(found.values())


def read_channel(name):
    channel = value_of(name).dereference()
    capacity = int(channel["dataqsiz"])
    first, size = int(channel["recvx"]), int(channel["elemsize"])
    places = ((first + i) % capacity for i in range(int(channel["qcount"])))
    return {
        "addr": int(channel.address),
        "elements": [int(channel["buf"]) + place * size for place in places],
    }


def main(*channels):
    print(json.dumps({
        "pools": read_pools(),
        "channels": {name: read_channel(name) for name in channels},
    }))  # fmt: skip

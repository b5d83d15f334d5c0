# SPDX-License-Identifier: Apache-2.0
"""`goref trace PID native` beside programs/allocs: its document, by the
functions of the program."""

from collections import Counter
from typing import NamedTuple

from traces import FLAGS, Trace

# Words of a trace that sees all: its windows are only closed at the ends of the
# periods.
WHOLE = ("--every", "0.5s", "--for", "10m", "--max-overhead", "100")
FULL = ("--full", "--every", "0.5s", "--for", "10m")
PREFIXES = tuple(f"{name}_" for name in FLAGS)
# Functions of the libraries that are in each stack.
_CHAIN = {f"{name}_{part}" for name in FLAGS for part in ("deep", "make")}


class NativeTrace(Trace):
    def __init__(self, program, *words, **options):
        super().__init__(program.pid, "native", *words, **options)


def site_of(stack):
    """The function of a library that called the allocator; None: the stack is
    of something else in the process."""
    for call in stack["frames"]:
        name = call["function"]
        if name.startswith(PREFIXES) and name not in _CHAIN:
            return name
    return None


class Sum(NamedTuple):
    """Rows of one site, together."""

    blocks: int
    bytes: int


def sums(document):
    """{function: Sum} of what is outstanding."""
    blocks, size = Counter(), Counter()
    for stack in document["stacks"]:
        site = site_of(stack)
        if site:
            blocks[site] += stack["blocks"]
            size[site] += stack["bytes"]
    return {site: Sum(blocks[site], size[site]) for site in blocks}


def stacks_of(document, site):
    return [s for s in document["stacks"] if site_of(s) == site]


def intervals(document):
    """{function: (low, high)} of the bytes."""
    low, high = Counter(), Counter()
    for stack in document["stacks"]:
        site = site_of(stack)
        if site:
            low[site] += stack["low"]
            high[site] += stack["high"]
    return {site: (low[site], high[site]) for site in low}


def listed(document):
    """{address: (function, bytes)} of a document with --blocks."""
    return {
        int(block["address"], 16): (site_of(stack), block["bytes"])
        for stack in document["stacks"]
        for block in stack["list"]
        if site_of(stack)
    }


def order(document):
    """The sites in the order of the rows, each once."""
    found = dict.fromkeys(map(site_of, document["stacks"]))
    return [site for site in found if site]

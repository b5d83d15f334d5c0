# SPDX-License-Identifier: Apache-2.0
"""A program that allocates in C in known ways (testsuite/programs/allocs), and
what it knows about its blocks."""

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from targets import start
from toolchains import PROGRAMS, Variant, build
from traces import FLAGS, library

CENTRAL = Variant("go1.24", "cgo")
LIBRARIES = PROGRAMS / "allocs" / "library"
SITES = LIBRARIES / "sites.c"
SAMPLER = LIBRARIES / "sampler.c"
ALLOCATOR = LIBRARIES / "allocator.c"
# A site for each function, but for mmap. own: mallocx and the like, if the
# allocator has such a name.
HEAP_SITES = (
    "leak_a", "leak_b", "held", "grown", "zeroed", "aligned", "posix_aligned",
    "memaligned", "array", "valloced", "newed", "new_array", "new_nothrow",
    "new_aligned", "own",
)  # fmt: skip
# Bytes of the blocks of the sites: multiples of their alignment, to which the
# aligned operator new rounds up.
FIRST_SIZE, NEXT_SIZE = 128, 64
DEPTH = 4  # calls of PREFIX_deep in a chain
# Files that replace the allocator of libc: the first that is there.
PRELOADS = {
    "glibc": (),
    "jemalloc": ("libjemalloc.so.2",),
    "tcmalloc": ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc.so.3"),
}
_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


def preload(allocator):
    """The settings with which a program uses an allocator. Skips the test if
    the machine has none."""
    names = PRELOADS[allocator]
    found = [
        path
        for folder in _LIBRARY_FOLDERS
        for name in names
        if (path := Path(folder, name)).exists()
    ]
    if names and not found:
        pytest.skip(f"no {names[0]}")
    return {"LD_PRELOAD": str(found[0])} if found else {}


class Block(NamedTuple):
    """A block that the program has not freed."""

    library: str
    site: str
    address: int
    bytes: int
    holder: str
    goroutine: int
    time_ns: int

    @property
    def function(self):
        """The function of C that called the allocator, or mmap."""
        return f"{self.library}_{self.site}"


class Allocs:
    """The program, which allocates when it is told to."""

    def __init__(
        self, allocator="glibc", variant=CENTRAL, sampler=False, settings=None
    ):
        exe = build("allocs", variant.release, variant.flavour)
        words = [f"{name}={library(name, SITES)}" for name in FLAGS]
        if sampler:
            if not [*Path("/usr/include").glob("**/sys/sdt.h")]:
                pytest.skip("no sys/sdt.h: apt-get install systemtap-sdt-dev")
            words.append(f"sampler={library('framed', SAMPLER)}")
        env = {**preload(allocator), **(settings or {})}
        self.process = start(exe, words, env=env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    @property
    def pid(self):
        return self.process.pid

    def send(self, *words):
        """Tell it something that it does not answer."""
        line = " ".join(map(str, words))
        self.process.popen.stdin.write(f"{line}\n".encode())
        self.process.popen.stdin.flush()

    def say(self, *words):
        """Tell it something. Returns its answer."""
        self.send(*words)
        return json.loads(self.process.read_line())

    def make(self, site, count, size, holder="nobody", prefix="framed"):
        """Blocks of a site. Returns the goroutine that made them."""
        answer = self.say("make", prefix, site, count, size, holder)
        return answer["goroutine"]

    def make_all(self, sites=HEAP_SITES, prefixes=tuple(FLAGS)):
        """Blocks of some sites, each with a count and a size of its own."""
        for prefix in prefixes:
            for number, site in enumerate(sites):
                holder = "c" if site == "held" else "nobody"
                size = FIRST_SIZE + NEXT_SIZE * number
                self.make(site, 10 + number, size, holder, prefix)

    def load(self, threads, rate, every_a, every_b, slots=64):
        """Begin a load. slots: blocks that are held and replaced."""
        self.say("load", "framed", threads, rate, every_a, every_b, slots)

    def stop(self):
        """End the load. Returns how many pairs there were."""
        return self.say("stop")["pairs"]

    def truth(self):
        """All blocks that are not freed."""
        return [Block(**row) for row in self.say("truth")["blocks"]]


def by_function(blocks):
    """{function: (blocks, bytes)} of blocks of the program."""
    count, size = Counter(), Counter()
    for block in blocks:
        count[block.function] += 1
        size[block.function] += block.bytes
    return {name: (count[name], size[name]) for name in count}

# SPDX-License-Identifier: Apache-2.0
"""Allocators of C beside that of glibc: libraries that are loaded before a
program's own, as Debian's suites have them, and programs that are linked with
musl; and the check of what goref finds in the program native_heap."""

import array
import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import natives
import toolchains
from session import run_cli
from toolchains import TESTSUITE, Variant, cache_dir

WORDS = 4  # of a block in the file of the truth
OTHER = "other"  # the argument of native_heap: malloc is not glibc's
FEW = ["4", "100000", OTHER]  # threads and operations
MANY = ["8", "1000000", OTHER]
# Blocks that the program does not know: those of the C library, of ld.so for
# each thread, and of libstdc++, which an allocator may load.
OTHER_BLOCKS = 64
# The library of each allocator that Debian installs.
INSTALLED = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc.so.4",
    "tcmalloc-minimal": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}


@functools.cache
def _fetched(name):
    done = subprocess.run(
        [TESTSUITE / "fetch-allocators", name], capture_output=True, text=True
    )
    return done.stdout.strip().partition(" ")[2]


def library(name):
    """The path of an allocator: of INSTALLED, or what fetch-allocators knows.
    Skips the test where it cannot be had."""
    if name in INSTALLED:
        for folder in Path("/usr/lib").glob("*-linux-gnu"):
            if (folder / INSTALLED[name]).exists():
                return str(folder / INSTALLED[name])
        pytest.skip(f"{INSTALLED[name]} is not installed")
    path = _fetched(name)
    if not path.startswith("/"):
        pytest.skip(f"{name} {path}")
    return path


def preloaded(name, **env):
    """The environment of a program that has this allocator."""
    return {"LD_PRELOAD": library(name), **env}


def musl(release, is_static=False):
    """The variant of a program that is linked with musl."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc: package musl-tools")
    return Variant(release, "musl-static" if is_static else "musl")


def loader_of_musl():
    """Its libc.so, which is also the loader of its programs."""
    loader = next(Path("/lib").glob("ld-musl-*.so.1"), None)
    return str(loader.resolve()) if loader else pytest.skip("no musl")


class Truth:
    """The file that native_heap has written: blocks, {address: bytes that may
    be used}, asked, {address: bytes that were asked for}, and the addresses
    that were freed."""

    def __init__(self, target):
        self.told = target.truth
        words = array.array("Q", (target.folder / "blocks").read_bytes())
        end = WORDS * self.told["blocks"]
        self.blocks, self.asked = {}, {}
        self.freed = set(words[end:])
        for i in range(0, end, WORDS):
            address, asked, usable, _ = words[i : i + WORDS]
            assert usable >= asked
            self.blocks[address], self.asked[address] = usable, asked
        assert len(self.blocks) == self.told["blocks"]
        assert len(self.freed) == self.told["freed"]
        assert not self.freed & self.blocks.keys()


def check_blocks(truth, found, is_right=int.__eq__):
    """All blocks are found, with their sizes, and no others, but those of
    libraries. is_right(bytes of the truth, bytes found)."""
    missing = truth.blocks.keys() - found.keys()
    assert not missing, [hex(address) for address in sorted(missing)[:5]]
    wrong = {
        hex(address): (bytes_, found[address])
        for address, bytes_ in truth.blocks.items()
        if not is_right(bytes_, found[address])
    }
    assert wrong == {}
    others = found.keys() - truth.blocks.keys()
    assert len(others) <= OTHER_BLOCKS, len(others)
    # A library may have got the memory of a freed one.
    assert len(truth.freed & others) <= OTHER_BLOCKS // 8


def the_one(target, name):
    """The allocator of that name, of which all is checked."""
    document = natives.native(target)
    [allocator] = [a for a in document["allocators"] if a["name"] == name]
    assert allocator["checked"] is True, allocator
    assert allocator["refusal"] is None
    return allocator


def check_sums(allocator):
    """The bytes of an allocator add up, in all and by arena."""
    for row in allocator, *allocator["arena_list"]:
        known = row["in_use_bytes"] + row["free_bytes"]
        assert known <= row["mapped_bytes"], row
        assert row["cached_bytes"] <= row["free_bytes"]
        assert row["largest_free_bytes"] <= row["free_bytes"]
        part, whole = row["free_resident_bytes"], row["resident_bytes"]
        assert (part is None) == (whole is None)
        if part is None:
            continue
        assert part <= min(whole, row["free_bytes"]), row
        other = row["mapped_bytes"] - row["in_use_bytes"] - row["free_bytes"]
        assert part >= whole - row["in_use_bytes"] - other, row
        assert row["trimmable_bytes"] <= whole, row


def check_verified(target, name):
    """The counters of the allocator are equal to what was found."""
    document = natives.asked(target, "verify")
    [allocator] = [a for a in document["allocators"] if a["name"] == name]
    assert allocator["checked"] is True
    counters = 0
    for arena in allocator["arenas"]:
        assert arena["reason"] is None, arena
        for counter in arena["counters"]:
            assert counter["read"] == counter["rebuilt"], (arena, counter)
            counters += 1
    assert counters > 0
    assert document["unexplained"] == 0


def check(target, name, version=None, is_right=int.__eq__):
    """All that goref says of native_heap with the allocator of that name."""
    truth = Truth(target)
    check_blocks(truth, natives.reached(target), is_right)
    allocator = the_one(target, name)
    if version is not None:
        assert allocator["version"] == version
    assert allocator["in_use_blocks"] >= truth.told["blocks"]
    check_sums(allocator)
    # Each block that is wrongly in use would be one that nothing holds.
    document = natives.leaks(target)
    assert document["leaked_blocks"] <= OTHER_BLOCKS // 8
    assert document["unchecked_arenas"] == 0
    check_verified(target, name)
    return truth


def check_saved(target, folder):
    """A saved file has what the structures are found by."""
    file = folder / "saved.goref"
    done = run_cli([*natives.where(target), "save", file])
    assert done.returncode == 0, done.stderr
    for words in ["native"], ["native", "leaks"]:
        before = natives.asked(target, *words)
        after = natives.opened(file, *words)
        for key in "allocators", "sizes", "leaked_blocks", "leaked_bytes":
            assert after.get(key) == before.get(key), key


# Functions of jemalloc that get a prefix where it is linked beside glibc.
PREFIXED = (
    "malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc",
    "memalign", "valloc", "malloc_usable_size", "malloc_message",
)  # fmt: skip


def _archive():
    """A static library of Debian's jemalloc, with the prefix je_, as programs
    have it that keep the malloc() of glibc."""
    own = next(Path("/usr/lib").glob("*-linux-gnu/libjemalloc_pic.a"), None)
    if not own or not shutil.which("objcopy"):
        pytest.skip("no libjemalloc_pic.a: package libjemalloc-dev")
    key = hashlib.sha256(own.read_bytes() + repr(PREFIXED).encode())
    path = cache_dir() / f"libje-{key.hexdigest()[:16]}.a"
    if path.exists():
        return path
    made = path.with_name(f"{path.name}.{os.getpid()}")
    renamed = [f"--redefine-sym={name}=je_{name}" for name in PREFIXED]
    subprocess.run(["objcopy", *renamed, own, made], check=True)
    # The operators of C++ would be those of the whole program.
    members = subprocess.run(
        ["ar", "t", made], capture_output=True, text=True, check=True
    )
    names = [n for n in members.stdout.split() if "jemalloc_cpp" in n]
    subprocess.run(["ar", "d", made, *names], check=True)
    made.replace(path)
    return path


def with_jemalloc(release):
    """The variant of a program in which jemalloc is linked beside glibc."""
    wanted = ",".join(f"-u,je_{name}" for name in PREFIXED)
    toolchains.FLAGS["je"] = []
    toolchains.ENVIRONMENT["je"] = {
        "CGO_ENABLED": "1",
        "CGO_LDFLAGS": f"-Wl,{wanted} {_archive()} -lm -lpthread -ldl",
    }
    return Variant(release, "je")

# SPDX-License-Identifier: Apache-2.0
"""goref native: each block that a program holds is found with its size, and
none that it has freed, against what the program and malloc say themselves."""

import array
import os
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

import glibcs
import natives
from natives import CENTRAL, OTHER_BLOCKS, OTHER_BYTES
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import Variant, variants
from waiting import stop

WORDS = 4  # of a block in the file of the truth
IS_MMAPPED = 2
NEW_ARENA = 0x21000  # bytes of an arena with hardly anything in it
NEW_ARENAS = 4
FEW = ["4", "100000"]  # threads and operations, where the kind is tested
# Environments that change which lists and which arenas there are.
SETTINGS = {
    "one arena": {"MALLOC_ARENA_MAX": "1"},
    "two arenas": {"MALLOC_ARENA_MAX": "2"},
    "arena_max": {"GLIBC_TUNABLES": "glibc.malloc.arena_max=3"},
    "no tcache": {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"},
    "long tcache": {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=99"},
    "small tcache": {"GLIBC_TUNABLES": "glibc.malloc.tcache_max=256"},
    "no fast bins": {"GLIBC_TUNABLES": "glibc.malloc.mxfast=00"},
    "many mappings": {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4096"},
    "no mappings": {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0"},
    # Without reserved pages, malloc gets ordinary ones. It has other heaps,
    # and the main arena is in pieces that are mapped.
    "huge pages": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=2"},
    "transparent huge pages": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
}


class Truth:
    """The file that the program has written: blocks, {address: bytes of the
    chunk} and {address: bytes that may be used}, and the freed addresses."""

    def __init__(self, target):
        self.told = target.truth
        self.folder = target.folder
        words = array.array("Q", (self.folder / "blocks").read_bytes())
        end = WORDS * self.told["blocks"]
        self.blocks, self.usable, self.freed = {}, {}, set(words[end:])
        for i in range(0, end, WORDS):
            address, asked, usable, head = words[i : i + WORDS]
            is_mmapped = head & IS_MMAPPED
            self.usable[address] = usable
            self.blocks[address] = usable + (16 if is_mmapped else 8)
            # Two ways to tell the size of a chunk.
            assert is_mmapped or self.blocks[address] == head & ~7
            assert usable >= asked
        assert len(self.blocks) == self.told["blocks"]
        assert sum(self.blocks.values()) == self.told["bytes"]
        assert len(self.freed) == self.told["freed"]
        assert not self.freed & self.blocks.keys()

    @property
    def arenas(self):
        text = (self.folder / "malloc_info").read_text()
        return len(re.findall("<heap nr=", text))

    def new_bytes(self, arenas):
        """The bytes of the arenas that malloc_info() did not tell of. Go may
        begin a thread later, and its first call of free() makes an arena."""
        new = arenas - self.arenas
        assert 0 <= new <= NEW_ARENAS
        return new * NEW_ARENA


def check_blocks(truth, found):
    """All blocks with their sizes; and no others, but libc's own."""
    missing = truth.blocks.keys() - found.keys()
    assert not missing, [hex(address) for address in sorted(missing)[:5]]
    wrong = {
        hex(address): (bytes_, found[address])
        for address, bytes_ in truth.blocks.items()
        if found[address] != bytes_
    }
    assert wrong == {}
    others = found.keys() - truth.blocks.keys()
    assert len(others) <= OTHER_BLOCKS
    # libc may have got the memory of a freed one.
    assert len(truth.freed & others) <= OTHER_BLOCKS // 8


def overhead(truth):
    """More than the heads of arenas, the caches of threads, what stands at the
    ends of heaps, what others have taken between the chunks, and what lies
    before an aligned block in its mapping."""
    arenas = truth.arenas + NEW_ARENAS
    pages = arenas + truth.told["threads"] + 2 * truth.told["brks"]
    return 4096 * (pages + truth.told["mallinfo"]["hblks"])


def check_counters(truth, allocator):
    """The counters, against the blocks and against mallinfo()."""
    info = truth.told["mallinfo"]
    assert allocator["name"] == "glibc"
    assert allocator["version"] == truth.told["glibc"]
    assert allocator["checked"] is True
    blocks = allocator["in_use_blocks"] - truth.told["blocks"]
    assert 0 <= blocks <= OTHER_BLOCKS
    bytes_ = allocator["in_use_bytes"] - truth.told["bytes"]
    assert 0 <= bytes_ <= OTHER_BYTES
    # malloc counts what threads have cached as in use.
    assert allocator["free_bytes"] >= info["fordblks"] - OTHER_BYTES
    taken = info["arena"] + info["hblkhd"]
    taken += truth.new_bytes(allocator["arenas"])
    assert allocator["mapped_bytes"] == taken
    whole = allocator["in_use_bytes"] + allocator["free_bytes"]
    assert taken - overhead(truth) <= whole <= taken
    assert 0 <= allocator["trimmable_bytes"] <= allocator["free_bytes"]
    check_resident(allocator)


def check_resident(allocator):
    """The resident part of free memory is a part of both, and no less than the
    blocks in use leave."""
    for row in allocator, *allocator["arena_list"]:
        part, whole = row["free_resident_bytes"], row["resident_bytes"]
        assert (part is None) == (whole is None)
        if part is None:
            continue
        other = row["mapped_bytes"] - row["in_use_bytes"] - row["free_bytes"]
        assert part <= min(whole, row["free_bytes"])
        assert part >= whole - row["in_use_bytes"] - other


def check(target):
    truth = Truth(target)
    check_blocks(truth, natives.reached(target))
    [allocator] = natives.native(target)["allocators"]
    check_counters(truth, allocator)
    # Each block that is wrongly in use would be one that nothing holds.
    document = natives.leaks(target)
    assert document["leaked_blocks"] <= OTHER_BLOCKS // 4
    return truth


@variants("cgo")
def test_million_operations(farm, variant):
    truth = check(farm.target("native_heap", variant))
    assert truth.told["threads"] == 8 and truth.arenas > 4
    assert len(truth.blocks) > 100_000 and len(truth.freed) > 50_000
    assert truth.told["mmapped_blocks"] >= 16


@pytest.mark.parametrize("env", SETTINGS.values(), ids=SETTINGS)
def test_settings(farm, env):
    target = farm.target("native_heap", CENTRAL, args=FEW, env=env)
    truth = check(target)
    if "MALLOC_ARENA_MAX" in env:
        assert truth.arenas == int(env["MALLOC_ARENA_MAX"])


def test_malloc_check(farm):
    """The library for it has a main arena of its own. What a program can use
    of a chunk is what it has asked for there."""
    env = {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3"}
    target = farm.target("native_heap", CENTRAL, args=FEW, env=env)
    words = array.array("Q", (target.folder / "blocks").read_bytes())
    heads = words[: WORDS * target.truth["blocks"]]
    if not any(usable % 8 for usable in heads[2::WORDS]):
        pytest.skip("the C library has no such library")
    found = natives.reached(target)
    for address, head in zip(heads[::WORDS], heads[3::WORDS]):
        assert found[address] == head & ~7
    assert 0 <= len(found) - target.truth["blocks"] <= OTHER_BLOCKS
    [allocator] = natives.native(target)["allocators"]
    assert allocator["checked"] is True
    assert natives.leaks(target)["leaked_blocks"] <= OTHER_BLOCKS // 4


def check_saved(target, folder):
    """A saved file has what malloc's structures are found by."""
    file = folder / "saved.goref"
    done = run_cli([*natives.where(target), "save", file])
    assert done.returncode == 0, done.stderr
    document, saved = natives.native(target), natives.opened(file, "native")
    for key in "allocators", "sizes":
        assert saved[key] == document[key], key


# Many of the blocks that are mapped one by one are aligned.
@pytest.mark.parametrize("how", ["many mappings", "huge pages"])
def test_saved(farm, tmp_path, how):
    target = farm.target(
        "native_heap", CENTRAL, args=FEW, env=SETTINGS[how]
    )
    check_saved(target, tmp_path)


@pytest.mark.parametrize("threads", ["1", "4"])
def test_foreign_break(farm, threads):
    """Somebody else moves the break, also by an odd number of bytes."""
    target = farm.target(
        "native_heap",
        CENTRAL,
        args=[threads, "200000", "brk"],
        env={"MALLOC_ARENA_MAX": "1"},
    )
    truth = check(target)
    assert truth.told["brks"] > 4


@pytest.mark.parametrize("glibc", glibcs.GLIBCS)
def test_other_glibc(farm, glibc):
    """The machine has debug information of its own release at most."""
    variant = glibcs.variant(CENTRAL.release, glibc)
    truth = check(farm.target("native_heap", variant))
    assert truth.told["glibc"] == glibc


@pytest.mark.parametrize("glibc", glibcs.GLIBCS)
@pytest.mark.parametrize("how", ["no tcache", "one arena"])
def test_settings_of_other_glibc(farm, glibc, how):
    variant = glibcs.variant(CENTRAL.release, glibc)
    check(farm.target("native_heap", variant, args=FEW, env=SETTINGS[how]))


@pytest.mark.parametrize("kind", ["core", "live"])
def test_static(farm, kind):
    """The allocator lies in the executable, and no library is loaded."""
    if kind == "live":
        skip_if(attach_reason())
    variant = Variant(CENTRAL.release, "static")
    check(farm.target("native_heap", variant, kind, args=FEW))


def test_core_of_gdb(farm):
    check(farm.target("native_heap", CENTRAL, "gcore", args=FEW))


@variants("cgo")
def test_process(farm, variant):
    """It is left as it was, and looked at again."""
    skip_if(attach_reason())
    target = farm.target("native_heap", variant, "live", args=FEW)
    check(target)
    check(target)
    assert target.process.popen.poll() is None


def test_child_of_fork(farm, tmp_path):
    """It has one thread, and the caches of all others are left."""
    skip_if(attach_reason())
    args = [*FEW, "fork"]
    parent = farm.target("native_heap", CENTRAL, "live", args=args, fresh=True)
    process = SimpleNamespace(
        pid=parent.truth["child"], folder=parent.folder
    )
    child = replace(parent, process=process)
    assert check(child).told["threads"] == 4
    check_saved(child, tmp_path)


def test_stopped_process(farm):
    skip_if(attach_reason())
    target = farm.target("native_heap", CENTRAL, "live", args=FEW, fresh=True)
    stop(target.process.pid)
    check(target)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_torn_core(farm, tmp_path, part):
    """The answer is partial. An arena that is not whole is not checked, and
    its blocks are no leaks."""
    whole = farm.target("native_heap", CENTRAL, args=FEW)
    torn = tmp_path / "torn"
    shutil.copy(whole.core, torn)
    os.truncate(torn, int(torn.stat().st_size * part))
    for words in ["native"], ["native", "leaks"]:
        done = run_cli(["core", whole.exe, torn, *words])
        assert done.returncode in (1, 3), done.stderr
        assert "truncated" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    if done.returncode == 3:
        target = type(whole)("core", whole.exe, whole.truth, core=torn)
        document = natives.leaks(target, status=3)
        assert (document["leaked_blocks"] or 0) <= OTHER_BLOCKS


@variants("default", releases=("go1.24",))
def test_no_c_memory(farm, variant):
    """A program without libc has no allocator, and nothing that leaks."""
    target = farm.target("rest", variant)
    assert natives.native(target)["allocators"] == []
    document = natives.leaks(target)
    assert document["leaked_blocks"] == 0 and document["groups"] == []
    text = "the program has no C memory: no C library is in it\n"
    for words in ["native"], ["native", "leaks"]:
        assert run_cli([*natives.where(target), *words]).stdout == text
    assert text not in run_cli([*natives.where(target), "verify"]).stdout

# SPDX-License-Identifier: Apache-2.0
"""C memory of programs with gperftools' tcmalloc: every block is found, none of
those that were freed, and each has its size, with both libraries, with the
settings that change its structures, and in saved files. A version that is not
known and the debug library are refused."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import allocators
import natives
from allocators import FEW, MANY, check, check_saved
from natives import CENTRAL
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant

ENDS = sorted({RELEASES[0], RELEASES[-1]})
FULL, MINIMAL = "tcmalloc", "tcmalloc-minimal"
KINDS = {"core": MANY, "gcore": FEW, "live": FEW}
SETTINGS = {
    "without the break": {"TCMALLOC_SKIP_SBRK": "true"},
    "only the break": {"TCMALLOC_SKIP_MMAP": "true"},
    "returned at once": {"TCMALLOC_AGGRESSIVE_DECOMMIT": "true"},
    "returned often": {"TCMALLOC_RELEASE_RATE": "1000"},
    "small batches": {"TCMALLOC_TRANSFER_NUM_OBJ": "7"},
    "large batches": {"TCMALLOC_TRANSFER_NUM_OBJ": "1000"},
    "large caches": {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1073741824"},
    "small caches": {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1"},
}
SAMPLED = {"TCMALLOC_SAMPLE_PARAMETER": "100000"}
# Blocks of glibc and of tcmalloc, which take the break in turns. Both are held.
BESIDE = """
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static void *blocks[3000], *others[3000];

__attribute__((constructor)) static void begin(void)
{
	void *tcmalloc = dlopen(getenv("TCMALLOC"), RTLD_NOW | RTLD_LOCAL);
	void *(*take)(size_t) = dlsym(tcmalloc, "tc_malloc");
	void (*give)(void *) = dlsym(tcmalloc, "tc_free");
	size_t (*size)(void *) = dlsym(tcmalloc, "tc_malloc_size");
	FILE *file = fopen("beside", "w");

	for (int i = 0; i < 3000; i++) {
		blocks[i] = take(i * 37 % 5000 + 1);
		others[i] = malloc(i * 53 % 5000 + 1);
	}
	for (int i = 0; i < 3000; i += 3) {
		give(blocks[i]);
		free(others[i]);
		blocks[i] = others[i] = NULL;
	}
	for (int i = 0; i < 3000; i++)
		if (blocks[i])
			fprintf(file, "%lu %zu %lu %zu\\n", (long)blocks[i],
				size(blocks[i]), (long)others[i],
				malloc_usable_size(others[i]) + 8);
	fclose(file);
}
"""
VERSION = b"\0gperftools 2.10\0"


def filled(farm, library, variant=CENTRAL, kind="core", args=FEW, env=None):
    if kind == "live":
        skip_if(attach_reason())
    path = library if "/" in library else allocators.library(library)
    settings = {"LD_PRELOAD": path, **(env or {})}
    return farm.target("native_heap", variant, kind, args, settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", [FULL, MINIMAL])
@pytest.mark.parametrize("release", ENDS)
def test_blocks(farm, library, release, kind):
    variant = Variant(release, "cgo")
    check(filled(farm, library, variant, kind, KINDS[kind]), "tcmalloc")


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings(farm, settings):
    target = filled(farm, MINIMAL, env=SETTINGS[settings])
    check(target, "tcmalloc")


def test_sampled(farm, tmp_path):
    """A sampled block has pages of its own; the program may use what a block of
    its size has."""
    target = filled(farm, FULL, env=SAMPLED)
    check(target, "tcmalloc")
    check_saved(target, tmp_path)


def test_2_8_1(farm, tmp_path):
    target = filled(farm, "tcmalloc-2.8.1")
    check(target, "tcmalloc", "2.8.1")
    check_saved(target, tmp_path)


@pytest.mark.parametrize("library", [FULL, MINIMAL])
def test_saved(farm, tmp_path, library):
    check_saved(filled(farm, library), tmp_path)


def test_saved_process(farm, tmp_path):
    check_saved(filled(farm, MINIMAL, kind="live"), tmp_path)


def test_break_is_moved(farm):
    """The program's own memory lies between the spans."""
    target = filled(farm, MINIMAL, args=[*FEW, "brk"])
    assert target.truth["brks"] > 3
    check(target, "tcmalloc")


def test_child_of_fork(farm):
    """The caches of its parent's threads are left: their blocks are free."""
    parent = filled(farm, MINIMAL, kind="live", args=[*FEW, "fork"])
    process = SimpleNamespace(
        pid=parent.truth["child"], folder=parent.folder
    )
    check(replace(parent, process=process), "tcmalloc")


# ---------------------------------------------------------------- two of them


def test_beside_glibc(farm, tmp_path):
    """A library that is not in front of malloc. glibc takes the memory of
    tcmalloc for the program's own."""
    skip_if(attach_reason())
    env = {
        "LD_PRELOAD": str(natives.compiled("beside", BESIDE)),
        "TCMALLOC": allocators.library(MINIMAL),
    }
    target = farm.target("native_heap", CENTRAL, "live", FEW[:2], env)
    truth, found = allocators.Truth(target), natives.reached(target)
    rows = (target.folder / "beside").read_text().splitlines()
    blocks = {}
    for row in rows:
        address, bytes_, other, other_bytes = map(int, row.split())
        blocks |= {address: bytes_, other: other_bytes}
    assert len(blocks) == 4000
    assert {a: found.get(a) for a in blocks} == blocks
    assert not truth.blocks.keys() - found.keys()
    others = found.keys() - truth.blocks.keys() - blocks.keys()
    assert len(others) <= allocators.OTHER_BLOCKS
    for name in "glibc", "tcmalloc":
        allocator = allocators.the_one(target, name)
        allocators.check_sums(allocator)
        allocators.check_verified(target, name)
    leaks = natives.leaks(target)
    assert leaks["leaked_blocks"] <= 8 and leaks["unchecked_arenas"] == 0
    check_saved(target, tmp_path)


# ------------------------------------------------------------------- refused


def refusal(target):
    """Why its only allocator is refused. No block is a leak then."""
    [row] = natives.native(target, 3)["allocators"]
    assert (row["name"], row["arenas"], row["checked"]) == ("tcmalloc", 0, False)
    assert natives.leaks(target, 3)["leaked_blocks"] == 0
    return row["refusal"]


@pytest.mark.parametrize("version", ["2.8", "2.19", "2.6", "3.0"])
def test_unknown_version(farm, tmp_path, version):
    """The library says that it is another one."""
    library = Path(allocators.library(MINIMAL))
    data = library.read_bytes()
    text = b"\0gperftools " + version.encode()
    patched = data.replace(VERSION, text.ljust(len(VERSION), b"\0"))
    assert patched != data and len(patched) == len(data)
    path = tmp_path / library.name
    path.write_bytes(patched)
    target = filled(farm, str(path))
    assert refusal(target).startswith("is not supported (goref reads 2.7, ")


@pytest.mark.parametrize("library", [FULL, MINIMAL])
def test_debug_library(farm, library):
    path = Path(allocators.library(library))
    debug = path.with_name(path.name.replace(".so", "_debug.so"))
    target = filled(farm, str(debug))
    assert refusal(target).startswith("is its debug library")

# SPDX-License-Identifier: Apache-2.0
"""goref native with jemalloc: the versions that Debian has had, the options that
change its structures, the children of fork(), and damage."""

import json
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import allocators
import mutate
import mutate_allocators
import natives
from allocators import FEW, MANY
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant

# The names of libraries, and their versions. Debian 13 has built 5.3.0 for
# addresses of 57 bits, with another page tree.
LIBRARIES = {
    "jemalloc": "5.3.0",
    "jemalloc-trixie": "5.3.0",
    "jemalloc-5.2.1": "5.2.1",
}
ENDS = sorted({RELEASES[0], RELEASES[-1]})
MUTANTS = int(os.environ.get("GOREF_MUTATIONS", "20"))
OPTIONS = (
    "narenas:1",
    "tcache:false",
    "lg_tcache_max:20",
    "bin_shards:1-128:4|129-1024:2",
    "slab_sizes:1-4096:17",
    "dirty_decay_ms:0,muzzy_decay_ms:500",
    "retain:false",
    "dss:primary",
    "junk:true",
    "metadata_thp:always,thp:always",
    "background_thread:true",
    "percpu_arena:percpu",
)
OPTIONS_OF_530 = (
    "hpa:true",
    "tcache_max:512",
)
SAMPLES = "prof:true,lg_prof_sample:12"
GUARDS = "san_guard_small:2,san_guard_large:2"


def version_of(library):
    """The version in Debian's package, where it is known."""
    if library != "jemalloc":
        return LIBRARIES[library]
    data = Path(allocators.library(library)).read_bytes()
    known = [v for v in ("5.2.1", "5.3.0") if f"{v}-0-g".encode() in data]
    return known[0] if known else None


def target_of(farm, library, kind="core", args=FEW, release=None, **how):
    if kind == "live":
        skip_if(attach_reason())
    options = how.pop("options", None)
    env = allocators.preloaded(library)
    if options:
        env["MALLOC_CONF"] = options
    variant = Variant(release or CENTRAL.release, "cgo")
    return farm.target("native_heap", variant, kind, args, env, **how)


@pytest.mark.parametrize("release", ENDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_million_operations(farm, library, release):
    target = target_of(farm, library, args=MANY, release=release)
    truth = allocators.check(target, "jemalloc", version_of(library))
    assert len(truth.blocks) > 100_000 and len(truth.freed) > 5_000
    allocator = allocators.the_one(target, "jemalloc")
    assert allocator["arenas"] > 1 and allocator["cached_bytes"] > 0


@pytest.mark.parametrize("kind", ["live", "gcore"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_kinds(farm, library, kind):
    allocators.check(target_of(farm, library, kind), "jemalloc")


@pytest.mark.parametrize(
    "library, options",
    [("jemalloc", row) for row in OPTIONS]
    + [("jemalloc-5.2.1", row) for row in OPTIONS[:4]],
)
def test_options(farm, library, options):
    target = target_of(farm, library, options=options)
    allocators.check(target, "jemalloc")
    if options == "tcache:false":
        allocator = allocators.the_one(target, "jemalloc")
        assert allocator["cached_bytes"] == 0


@pytest.mark.parametrize("options", OPTIONS_OF_530)
@pytest.mark.parametrize("library", ["jemalloc", "jemalloc-trixie"])
def test_options_of_530(farm, library, options):
    if version_of(library) != "5.3.0":
        pytest.skip(f"Debian has {version_of(library)}")
    allocators.check(target_of(farm, library, options=options), "jemalloc")


@pytest.mark.parametrize("library", ["jemalloc", "jemalloc-5.2.1"])
def test_samples(farm, library):
    """Small blocks that are sampled have an extent each. The profile has blocks
    that the program does not know."""
    target = target_of(farm, library, options=SAMPLES)
    truth, found = allocators.Truth(target), natives.reached(target)
    assert truth.blocks.items() <= found.items()
    assert len(found) - len(truth.blocks) < len(truth.blocks) / 100
    allocators.check_sums(allocators.the_one(target, "jemalloc"))
    allocators.check_verified(target, "jemalloc")


def test_guards(farm):
    """Pages that nobody may read lie between the extents. They are missing."""
    if version_of("jemalloc") != "5.3.0":
        pytest.skip(f"Debian has {version_of('jemalloc')}")
    target = target_of(farm, "jemalloc", options=GUARDS)
    truth = allocators.Truth(target)
    allocators.check_blocks(truth, natives.reached(target))
    allocators.check_sums(allocators.the_one(target, "jemalloc"))
    allocators.check_verified(target, "jemalloc")


# Blocks of an arena and of a cache that the program makes itself. It writes
# them to the file `made', those that are in the cache as free.
MADE = r"""
#include <stdio.h>
#include <stdlib.h>
void *mallocx(size_t, int);
void dallocx(void *, int);
size_t malloc_usable_size(void *);
int mallctl(const char *, void *, size_t *, void *, size_t);
enum { COUNT = 3000, FREED = 20 };
static void *held[COUNT];
__attribute__((constructor)) static void make(void)
{
	unsigned arena, cache;
	size_t size = sizeof(arena);
	FILE *file = fopen("made", "w");
	if (!file || mallctl("arenas.create", &arena, &size, NULL, 0) ||
	    mallctl("tcache.create", &cache, &size, NULL, 0))
		abort();
	int flags = (cache + 2) << 8 | (arena + 1) << 20;
	for (int i = 0; i < COUNT; i++)
		held[i] = mallocx(1 + i % 19000, flags);
	for (int i = 0; i < COUNT; i++)
		fprintf(file, "%lu %lu\n", (unsigned long)held[i],
			i % FREED ? malloc_usable_size(held[i]) : 0ul);
	for (int i = 0; i < COUNT; i += FREED) {
		dallocx(held[i], (cache + 2) << 8);
		held[i] = NULL;
	}
	fclose(file);
}
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_made_arena(farm, library):
    """An arena and a cache of the program's own."""
    made = natives.compiled("made", MADE)
    env = {"LD_PRELOAD": f"{allocators.library(library)} {made}"}
    target = farm.target("native_heap", CENTRAL, "core", FEW, env)
    rows = [
        tuple(map(int, line.split()))
        for line in (target.folder / "made").read_text().splitlines()
    ]
    found = natives.reached(target)
    held = {address: bytes_ for address, bytes_ in rows if bytes_}
    freed = {address for address, bytes_ in rows if not bytes_}
    assert len(held) > 2000 and len(freed) > 100
    assert held.items() <= found.items()
    # The program goes on, and may get some of the memory again.
    assert len(freed & found.keys()) <= allocators.OTHER_BLOCKS // 8
    assert allocators.Truth(target).blocks.items() <= found.items()
    allocator = allocators.the_one(target, "jemalloc")
    assert {a["kind"] for a in allocator["arena_list"]} == {
        "automatic",
        "manual",
    }
    allocators.check_verified(target, "jemalloc")


@pytest.mark.parametrize("kind", ["core", "live"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_saved(farm, tmp_path, library, kind):
    # Where gdb has taken a core, pages are resident that never were.
    target = target_of(farm, library, kind, fresh=kind == "live")
    allocators.check_saved(target, tmp_path)


@pytest.mark.parametrize("options", ["tcache:false", "hpa:true"])
def test_saved_with_options(farm, tmp_path, options):
    target = target_of(farm, "jemalloc", "live", options=options)
    allocators.check_saved(target, tmp_path)


@pytest.mark.parametrize("library", LIBRARIES)
def test_child_of_fork(farm, tmp_path, library):
    """It has one thread, and the caches of the others are in no list."""
    args = [*FEW, "fork"]
    parent = target_of(farm, library, "live", args, fresh=True)
    process = SimpleNamespace(
        pid=parent.truth["child"], folder=parent.folder
    )
    child = replace(parent, process=process)
    allocators.check(child, "jemalloc")
    allocators.check_saved(child, tmp_path)


def patched(library, tmp_path, old, new):
    """A copy of a library with other bytes, at each place."""
    assert len(old) == len(new)
    data = Path(allocators.library(library)).read_bytes()
    assert old in data
    path = tmp_path / "libjemalloc.so.2"
    path.write_bytes(data.replace(old, new))
    return str(path)


@pytest.mark.parametrize(
    ("new", "version"),
    [(b"5.3.9-0-g", "5.3.9"), (b"5.3.0-7-g", "5.3.0-7")],
    ids=["release", "commits"],
)
def test_unknown_version(farm, tmp_path, new, version):
    """It is refused in one line, and its memory may hold anything."""
    path = patched("jemalloc", tmp_path, b"5.3.0-0-g", new)
    target = farm.target(
        "native_heap", CENTRAL, "core", FEW, {"LD_PRELOAD": path}
    )
    document = natives.native(target, status=3)
    [row] = [a for a in document["allocators"] if a["name"] == "jemalloc"]
    assert row["version"] == version and row["arenas"] == 0
    assert "is not supported (goref reads 5.2.1" in row["refusal"]
    done = run_cli([*natives.where(target), "native"])
    assert f"C memory: jemalloc {version} is not supported" in done.stdout
    saved = tmp_path / "saved.goref"
    assert run_cli([*natives.where(target), "save", saved]).returncode in (
        0,
        3,
    )
    again = run_cli(["open", saved, "native"])
    assert f"jemalloc {version} is not supported" in again.stdout + again.stderr


# --------------------------------------------------------------------- damage


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_torn_core(farm, tmp_path, part):
    """Memory that is missing is not checked, and nothing is leaked for it."""
    whole = target_of(farm, "jemalloc")
    torn = tmp_path / "torn"
    shutil.copy(whole.core, torn)
    os.truncate(torn, int(torn.stat().st_size * part))
    for words in ["native"], ["native", "leaks"]:
        done = run_cli(["core", whole.exe, torn, *words])
        assert done.returncode in (1, 3), done.stderr
        assert "truncated" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    if done.returncode == 3:
        document = natives.leaks(replace(whole, core=torn), status=3)
        assert (document["leaked_blocks"] or 0) <= allocators.OTHER_BLOCKS


def rows_of(target):
    """{address: row} of the arenas, and the document; None for no answer."""
    done = run_cli([*natives.where(target), "native", "--json"])
    if done.returncode not in (0, 3):
        return None
    assert "Traceback" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    return {
        arena["address"]: arena
        for allocator in document["allocators"]
        if allocator["name"] == "jemalloc"
        for arena in allocator["arena_list"]
    }


def kept_of(row):
    """The bytes of an arena that something counts. Only a cache itself tells
    where its blocks end."""
    taken = row["in_use_bytes"] + row["cached_bytes"]
    return taken, row["mapped_bytes"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_damaged_word(farm, tmp_path, library):
    """An arena is as it was without the damage, or it is not checked."""
    whole = target_of(farm, library)
    expected = rows_of(whole)
    points = mutate_allocators.Points(
        whole.core, allocators.library(library), natives.reached(whole)
    )
    path = tmp_path / "core"
    unchecked = answers = 0
    for seed in range(MUTANTS):
        rng = random.Random(f"{library} {seed}")
        mutate.restore(whole.core, path)
        core = mutate.Core(path)
        kind = sorted(points.places)[seed % len(points.places)]
        address = rng.choice(points.places[kind])
        core.put(
            address, mutate_allocators.value(rng, core, address, points)
        )
        core.close()
        rows = rows_of(replace(whole, core=path))
        if rows is None:
            continue
        answers += 1
        unchecked += not all(row["checked"] for row in rows.values())
        for key, row in rows.items():
            if row["checked"]:
                was, now = kept_of(expected[key]), kept_of(row)
                assert now == was, (seed, kind, hex(address))
    assert answers > MUTANTS / 2 and (unchecked > 0 or MUTANTS < 60)

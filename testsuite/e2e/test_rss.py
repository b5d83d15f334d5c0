# SPDX-License-Identifier: Apache-2.0
"""goref rss: every resident page is in one class."""

import contextlib
import json
import os
import re
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import mutate
from session import run_cli, run_gdb
from targets import attach_reason, gdb_core, kernel_core, skip_if
from test_rss_looks import Memory
from toolchains import RELEASES, Variant, build_c, variant_id, variants
from waiting import looks, stop

CENTRAL = Variant("go1.24", "default")
EXTERNAL = Variant("go1.24", "external")


def smaps_bytes(pid, key="Rss"):
    """The sum of a key over all mappings, as the kernel counts it."""
    lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    return 1024 * sum(
        int(line.split()[1]) for line in lines if line.startswith(f"{key}:")
    )


def mapped_bytes(process):
    """The memory that the program has mapped itself, as the kernel counts it.
    Memory that was read and never written is the page of zeros, but for
    kernels that have no such page."""
    start = f"{int(process.truth['unwritten'], 16):x}-"
    smaps = Path(f"/proc/{process.pid}/smaps").read_text()
    [mapping] = re.findall(rf"(?m)^{start}.*\n(?:\w+: .*\n)+", smaps)
    unwritten = int(re.search(r"(?m)^Rss: +(\d+) kB$", mapping)[1]) * 1024
    assert unwritten in (0, process.truth["anonymous"])
    return process.truth["anonymous"] + unwritten


@contextlib.contextmanager
def standing(process):
    """A signal has stopped it: it changes nothing itself."""
    process.rest()
    stop(process.pid)
    yield process.pid
    process.popen.send_signal(signal.SIGCONT)


def readings(pid):
    """Rss and anonymous memory: the sums of the kernel."""
    return smaps_bytes(pid), smaps_bytes(pid, "Anonymous")


def asked_standing(pid):
    """The document of `goref attach PID rss`, which is exact to the page: the
    process stands still before and after. The kernel may take pages of files
    back at any time, or move pages, which no count includes then; then
    goref is asked again."""
    for _ in looks():
        before = readings(pid)
        done = run_cli(["attach", pid, "rss", "--json"])
        assert done.returncode == 0, done.stderr
        after = readings(pid)
        assert after <= before
        document = json.loads(done.stdout)
        if before == after and document["residency"] == "exact":
            break
    assert document["residency"] == "exact"
    assert document["rss_bytes"] == document["total_bytes"]
    assert (document["rss_bytes"], document["anonymous_bytes"]) == after
    return document


def asked(process):
    with standing(process) as pid:
        return asked_standing(pid)


def classes_of(document):
    found = {c["name"]: c["bytes"] for c in document["classes"]}
    assert sum(found.values()) == document["total_bytes"]
    return found


@pytest.fixture
def resident(farm):
    """A process of the program that prints what it keeps where."""
    skip_if(attach_reason())
    yield lambda variant, *args, **env: farm.process(
        "resident", variant, list(args), env
    )
    farm.forget("resident")


# Records that a P takes at once, before it needs them, and bytes of one: half of
# a cache (runtime/mheap.go: mheap.allocMSpanLocked, runtime/runtime2.go: p).
TAKEN_RECORDS = 64 * 160


def check_runtime(found, go):
    """The runtime's structures by kind, against its own metrics. These count
    what was taken, of which some was not touched yet; and spans are made while
    the program prints them."""
    assert found["go_runtime_mcache"] == go["mcache"]
    untouched = len(os.sched_getaffinity(0)) * TAKEN_RECORDS + 4096
    missing = go["mspan"] - found["go_runtime_mspan"]
    assert -2 * 4096 <= missing <= untouched
    assert 0 <= found["go_runtime_profile"] <= go["buckets"]
    metadata = ("arenas", "pages", "gc_bits")
    parts = [found[f"go_runtime_{name}"] for name in metadata]
    assert all(parts)
    assert sum(parts) <= go["metadata"]
    # Chunks of which parts are free, and what is in them.
    free = go["mspan_free"] + go["mcache_free"]
    rest = go["other"] + go["metadata"] - sum(parts) + go["buckets"] + free
    assert 0 < found["go_runtime"] <= rest


IDLE = """
#include <unistd.h>
int main(void)
{
	write(1, "\\n", 1);
	return pause();
}
"""


def unnamed_bytes(pid):
    """Mappings that are of no file and have no name. The bss of a file follows
    what is mapped of it, and is not counted."""
    found = end_of_file = 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(None, 5)
        start, end = (int(x, 16) for x in words[0].split("-"))
        if len(words) > 5:
            end_of_file = end
        elif start != end_of_file:
            found += end - start
    return found


@pytest.fixture(scope="module")
def libc_bytes():
    """libc and its loader map this for each program, whatever it does: memory
    of the main thread's own, and what the loader allocates before there is a
    malloc(). How much that is, and how much of it is touched, depends on their
    release."""
    with subprocess.Popen([build_c(IDLE)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline()
            return unnamed_bytes(process.pid)
        finally:
            process.kill()


@variants("default", "external")
def test_process(resident, variant, libc_bytes):
    """The classes add up to Rss to the page, and those of Go agree with the
    program's own runtime/metrics. Looking changes nothing."""
    process = resident(variant)
    document = asked(process)
    found, truth = classes_of(document), process.truth
    go = truth["metrics"]
    objects = found["go_heap_live"] + found["go_heap_garbage"]
    objects += document["go"]["untouched_bytes"]
    # The program prints them, which takes memory.
    assert go["objects"] <= objects <= go["objects"] + (64 << 10)
    # Stacks grow to twice their size, and the new part is not yet touched.
    assert go["stacks"] / 2 < found["go_stacks"] <= go["stacks"]
    assert found["go_heap_live"] > truth["kept"]
    assert found["go_heap_garbage"] >= truth["garbage"]
    # The kernel maps pages of a file around one that is written.
    assert truth["mapped"] <= found["mapped_files"] <= truth["file"]
    check_runtime(found, go)
    # The program's own mappings are not known, and nothing else is, but
    # for what libc and its loader have mapped.
    unknown = found["anonymous_mappings"] - mapped_bytes(process)
    assert 0 <= unknown <= (libc_bytes if variant.flavour == "external" else 0)
    assert not found["other_anonymous"]
    settings = document["go"]
    assert settings["gogc"] == truth["gogc"]
    assert settings["memory_limit"] is None
    assert settings["goal_bytes"] == go["goal"]
    assert settings["next_gc_frees_bytes"] >= truth["garbage"]


@variants("default")
def test_scavenged(resident, variant):
    """Freed memory that went back to the system is not resident."""
    process = resident(variant, "scavenge", GOGC="200", GOMEMLIMIT="3GiB")
    document = asked(process)
    found = classes_of(document)
    # The memory that it needed to print, and the pages in the caches of Ps.
    little = len(os.sched_getaffinity(0)) * 64 * 8192 + (128 << 10)
    assert found["go_heap_idle"] < little
    assert not found["go_heap_scavenged"]
    assert document["go"]["scavengeable_bytes"] < little
    assert found["go_heap_garbage"] < 32 << 10
    assert document["go"]["gogc"] == 200
    assert document["go"]["memory_limit"] == 3 << 30


def present_pages(pid, start, pages):
    """How many pages of memory the kernel has in memory. One that it moves looks
    like a page in swap."""
    with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
        pagemap.seek(start // 4096 * 8)
        entries = struct.unpack(f"<{pages}Q", pagemap.read(8 * pages))
    return sum(entry >> 62 > 0 for entry in entries)


@variants("default")
def test_never_touched(resident, variant):
    """Allocated pages that nothing has touched, against /proc/PID/pagemap."""
    process = resident(variant)
    truth = process.truth
    process.rest()
    place = process.pid, int(truth["sparse"], 16), truth["pages"]
    present = present_pages(*place)
    # Go 1.19 asks for huge pages, of 512; elsewhere the kernel may give them.
    is_huge = present and present % 512 == 0
    assert present == truth["touched"] or is_huge
    document = asked(process)
    assert present_pages(*place) == present
    untouched = (truth["pages"] - present) * 4096
    found = document["go"]["untouched_bytes"]
    # The ends of other spans, too.
    assert untouched <= found < untouched + (1 << 20)


def part_in(pages, start, end):
    """The bytes of [start, end) in some pages."""
    found = 0
    while start < end:
        stop = min(end, (start | 4095) + 1)
        if start & ~4095 in pages:
            found += stop - start
        start = stop
    return found


@variants("default", "external")
def test_pages_of_objects(resident, variant):
    """Each page of each reached object is looked up in /proc/PID/pagemap: their
    sum is that of the class. The 257 of 1,024 pages are among them, and those
    of the memory that the program has mapped and that nothing has touched."""
    process = resident(variant)
    with standing(process) as pid:
        document = asked_standing(pid)
        done = run_cli(["attach", pid, "objects", "--addresses"])
        memory = Memory(pid)
    assert done.returncode == 0, done.stderr
    live = large = zeros = 0
    sparse = int(process.truth["sparse"], 16)
    lines = done.stdout.splitlines()
    for start, size in (line.split() for line in lines):
        start, size = int(start, 16), int(size)
        live += part_in(memory.pages, start, start + size)
        zeros += part_in(memory.shared, start, start + size)
        large += size > 512
        if start == sparse:
            sparse_bytes = part_in(memory.pages, start, start + size)
    touched = process.truth["touched"] * 4096
    # Or huge pages, as above.
    is_huge = sparse_bytes and sparse_bytes % (2 << 20) == 0
    assert sparse_bytes == touched or is_huge
    # A type word before large objects with pointers is in their slot. The page
    # of zeros, where an object was read and not yet written, does not count.
    words = classes_of(document)["go_heap_live"] - (live - zeros)
    assert words % 8 == 0 and 0 <= words <= 8 * large


def check_c_heap(found, truth):
    """The bytes that the program has filled, and few pages of glibc's own."""
    c_bytes = truth["main_bytes"] + truth["arena_bytes"]
    assert truth["large_bytes"] > 2 << 20
    c_bytes += truth["large_bytes"]
    heap = sum(found[name] for name in found if name.startswith("c_heap"))
    assert c_bytes <= heap < c_bytes + 40 * 4096
    stacks = found["thread_stacks"]
    assert truth["stack_bytes"] <= stacks < truth["stack_bytes"] + 40 * 4096
    own = truth["own_bytes"]
    # The mappings of a core do not say that they are anonymous.
    rest = found["anonymous_mappings"] + found["unknown"]
    assert own <= rest < own + 16 * 4096


@variants("cgo")
def test_c_heap(farm, variant):
    """Known amounts in glibc's main heap, in the arena of a second thread, on
    that thread's stack and in blocks with mappings of their own, beside memory
    that the program maps itself: of the process, and of its core."""
    skip_if(attach_reason())
    process = farm.process("cheap", variant)
    truth = process.truth
    assert truth["main_bytes"] == 3 << 20 and truth["arena_bytes"] == 2 << 20
    document = asked(process)
    check_c_heap(classes_of(document), truth)
    core = kernel_core(process)
    done = run_cli(["core", process.exe, core, "rss", "--json"])
    assert done.returncode == 0, done.stderr
    check_c_heap(classes_of(json.loads(done.stdout)), truth)
    farm.forget("cheap")


@variants("default")
def test_free_pages(resident, variant):
    """The scavenger could give back the runtime's free pages, but
    for those that a P has in its cache: up to 64 pages of 8 kB."""
    process = resident(variant, "free")
    document = asked(process)
    free = process.truth["metrics"]["free"]
    found = document["go"]["scavengeable_bytes"]
    # The caches of the Ps, and what the program needed to print or has freed
    # since.
    little = 128 << 10
    assert free - os.cpu_count() * 64 * 8192 - little < found <= free + little
    assert found <= classes_of(document)["go_heap_idle"]
    assert found > 128 << 20  # Some of the arenas have nothing else.
    assert document["go"]["gogc"] == -1
    core = kernel_core(process)
    freed = process.truth["freed"]
    done = run_cli(["core", process.exe, core, "why", freed])
    assert "free memory of the Go heap" in done.stdout + done.stderr


@variants("default", newest=["stripped", "external"])
def test_arenas_of_stacks(resident, variant):
    """Arenas that have stacks and not one object are the heap's, too, and
    their records the runtime's. On one of the stacks is the main thread."""
    process = resident(variant, "stacks")
    document = asked(process)
    found, go = classes_of(document), process.truth["metrics"]
    assert go["stacks"] > 128 << 20
    assert go["stacks"] * 0.5 < found["go_stacks"] <= go["stacks"]
    assert found["thread_stacks"] < 256 << 10
    unknown = found["anonymous_mappings"] - mapped_bytes(process)
    assert unknown < (4 << 20 if variant.flavour == "stripped" else 64 << 10)


@pytest.mark.parametrize("variant", [CENTRAL, EXTERNAL], ids=variant_id)
def test_threads(resident, variant, libc_bytes):
    """A thousand threads: their stacks are the runtime's own, or libc's."""
    process = resident(variant, "threads")
    threads = len(list(Path(f"/proc/{process.pid}/task").iterdir()))
    assert threads > 1000
    found = classes_of(asked(process))
    if variant == EXTERNAL:  # what a thread's own is, and what it has called
        stacks = found["thread_stacks"] - 2 * 4096 * threads
        assert abs(stacks) <= 32 * 4096
    else:
        assert found["go_stacks"] > 2 * 4096 * threads
        assert found["thread_stacks"] <= 16 * 4096
    unknown = found["anonymous_mappings"] - mapped_bytes(process)
    assert 0 <= unknown <= (libc_bytes if variant == EXTERNAL else 0)


def test_session(resident):
    """In a session of gdb, also behind questions that need less."""
    process = resident(CENTRAL)
    process.rest()
    before = smaps_bytes(process.pid)
    run = run_gdb(
        ["-p", process.pid],
        ["goref goroutines --json", "goref rss --json", "goref scan --json"],
    )
    assert run.rc == 0, run.stderr
    document = run.json(1)
    assert document["residency"] == "exact"
    # gdb reads the headers of files; the kernel may take pages of files back.
    assert abs(document["rss_bytes"] - before) <= 1 << 20
    assert run.json(2)["reached"]["objects"]


# With libc only once: these cores take the longest.
CORES = [*(Variant(r, "default") for r in RELEASES), EXTERNAL]


def file_bytes_of_core(pid):
    """Pages of files that the kernel writes (fs/coredump.c: vma_dump_size): all
    of a mapping of which a page was written, and the headers of ELF files."""
    found = 0
    fields = r"(\w+-\w+) (\S+) (\w+) \S+ \d+ +(/.+)\n((?:\w+: .*\n)+)"
    for mapping in re.finditer(fields, Path(f"/proc/{pid}/smaps").read_text()):
        _, flags, off, _, rest = mapping.groups()
        size, anonymous = (
            int(re.search(rf"(?m)^{key}: +(\d+)", rest)[1]) * 1024
            for key in ("Size", "Anonymous")
        )
        if anonymous:
            found += size - anonymous
        elif int(off, 16) == 0 and flags[3] == "p":
            found += 4096
    return found


@pytest.mark.parametrize("variant", CORES, ids=variant_id)
def test_cores(resident, variant, tmp_path):
    """The anonymous memory of a core of the kernel is that of the process
    just before; a core of gdb does not tell."""
    process = resident(variant)
    # gdb reads pages that were not there; some kernels count them afterwards.
    gcore = gdb_core(process)
    standing_still = asked(process)
    live = classes_of(standing_still)
    anonymous = smaps_bytes(process.pid, "Anonymous")
    files = file_bytes_of_core(process.pid)
    core = kernel_core(process)
    done = run_cli(["core", process.exe, core, "rss", "--json"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["residency"] == "anonymous"
    assert document["rss_bytes"] is None
    # The signal takes stack, and the vdso is written with its data.
    more = document["anonymous_bytes"] - anonymous - files
    assert 0 <= more <= 32 * 4096
    found = classes_of(document)
    assert abs(found["go_heap_live"] - live["go_heap_live"]) <= 4 * 4096
    assert abs(found["go_heap_idle"] - live["go_heap_idle"]) <= 4 * 4096
    assert 0 <= found["go_stacks"] - live["go_stacks"] <= 24 * 4096
    done = run_cli(["core", process.exe, gcore, "rss", "--json"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["residency"] == "unknown"
    assert document["rss_bytes"] is document["anonymous_bytes"] is None
    found = classes_of(document)
    zeros = found.pop("zero_pages")
    # The rest is what is not zeros, so that the process has had all of it, but
    # for pages of files.
    assert document["total_bytes"] > zeros > 0
    assert sum(found.values()) <= standing_still["rss_bytes"] + files
    # A 256th of the objects is zeros itself.
    kept = process.truth["kept"]
    assert kept * 0.98 < found["go_heap_live"] <= live["go_heap_live"]
    assert found["go_heap_garbage"] <= live["go_heap_garbage"]
    saved = tmp_path / "saved"
    done = run_cli(["core", process.exe, gcore, "save", saved])
    assert done.returncode == 0, done.stderr
    done = run_cli(["open", saved, "rss", "--json"])
    assert json.loads(done.stdout)["classes"] == document["classes"]


def test_overview(resident):
    """The overview says how much is resident; of a core of the kernel, in
    which classes."""
    process = resident(CENTRAL)
    process.rest()
    rss_bytes = smaps_bytes(process.pid)
    done = run_cli(["attach", process.pid, "overview", "--json"])
    found = json.loads(done.stdout)["resident"]
    assert found["residency"] == "unknown"
    assert abs(found["rss_bytes"] - rss_bytes) < 2 << 20
    core = kernel_core(process)
    whole = run_cli(["core", process.exe, core, "rss", "--json"])
    done = run_cli(["core", process.exe, core, "overview"])
    lines = done.stdout.splitlines()
    [line] = [line for line in lines if line.startswith("resident: ")]
    total = json.loads(whole.stdout)["anonymous_bytes"] / (1 << 20)
    assert line.startswith(f"resident: at most {total:.1f} MiB anonymous: ")
    assert " Go heap in use" in line and " goroutine stacks" in line


def test_overview_of_gcore(resident):
    """A core of gdb does not tell what was resident: the overview says so, and
    what the core has."""
    process = resident(CENTRAL)
    process.rest()
    core = gdb_core(process)
    done = run_cli(["core", process.exe, core, "overview"])
    [line] = [
        line
        for line in done.stdout.splitlines()
        if line.startswith("resident: ")
    ]
    assert line.startswith("resident: not known; the core has ")
    assert line.endswith(" of zeros, which may never have been touched")
    assert " Go heap in use" in line
    done = run_cli(["core", process.exe, core, "overview", "--json"])
    found = json.loads(done.stdout)["resident"]
    assert found == {
        "residency": "unknown",
        "rss_bytes": None,
        "anonymous_bytes": None,
    }


def fields_of_pages(exe, core):
    """Addresses of the fields of runtime.mheap_.pages."""
    names = ("chunks", "start", "end")
    run = run_gdb(
        [exe, core],
        [
            "set language c",
            *(f"output (long)&'runtime.mheap_'.pages.{n}" for n in names),
        ],
    )
    return {name: int(text) for name, text in zip(names, run.parts[1:])}


@pytest.mark.parametrize("damage", ["end", "start", "table", "loop"])
def test_damaged_page_bits(farm, tmp_path, damage):
    """The tables of pages may lead anywhere: the classes add up."""
    target = farm.target("resident", CENTRAL)
    path = tmp_path / "core"
    mutate.copy_sparse(target.core, path)
    at = fields_of_pages(target.exe, target.core)
    core = mutate.Core(path)
    slot = at["chunks"] + (core.u64(at["start"]) >> 13) * 8
    assert core.u64(slot)
    where, value = {
        "end": (at["end"], 1 << 63),
        "start": (at["start"], 1 << 62),
        "table": (slot, 8),
        "loop": (slot, at["chunks"]),
    }[damage]
    core.put(where, value)
    core.close()
    done = run_cli(["core", target.exe, path, "rss", "--json"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = classes_of(document)
    assert found["go_heap_live"] and document["go"]["gogc"] is not None
    if damage in ("start", "table"):
        assert document["go"]["scavengeable_bytes"] == 0


def test_snapshot(resident):
    """A fork has the anonymous pages, and the process those of files."""
    process = resident(CENTRAL)
    plain = run_cli(["attach", process.pid, "rss", "--json"])
    done = run_cli(["attach", process.pid, "--snapshot", "rss", "--json"])
    assert done.returncode == plain.returncode == 0, done.stderr
    found, of_process = json.loads(done.stdout), json.loads(plain.stdout)
    assert found["residency"] == of_process["residency"]
    for key in "total_bytes", "anonymous_bytes":
        assert abs(found[key] - of_process[key]) <= of_process[key] // 50

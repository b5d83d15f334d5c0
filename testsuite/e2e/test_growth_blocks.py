# SPDX-License-Identifier: Apache-2.0
"""Which blocks of C are still in use, and who holds them: against what the
program says of each block that it has, has lost, and has freed."""

import bisect
import json
import random
import re
import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import allocators
import mutate
import mutate_native
import natives
from mutate_native import HEAP
from natives import CENTRAL, OTHER_BLOCKS, SNAPSHOT
from targets import attach_reason, skip_if
from test_finalization import HANDLES, asked
from test_native import SETTINGS, Truth
from test_process import load, look
from toolchains import Variant, variants

FEW = ["100000"]  # operations of native_heap
LARGE_BYTES = 3 << 20
MOST = (1 << 64) - 1
ODD = [0, 1, 15, 4096, 1 << 47, MOST - 15, MOST]
NAMES = ["index", "state", "bytes", "resident_bytes", "block_bytes", "is_held",
         "holder", "type", "goroutine_id"]  # fmt: skip
# The rows of a question, and the calls of the goroutines in them.
ASK = """
scan = heap._scan()
with open({path!r}, "rb") as file:
    answer = scan.growth_blocks(file.read(), are_walked={are_walked})
assert answer.is_known
rows = [{{name: getattr(row, name) for name in {names}}} for row in answer.rows]
calls = {{
    number: [call.at.function for call in scan.backtrace(number).calls]
    for number in {{row["goroutine_id"] for row in rows}} - {{0}}
}}
print(json.dumps([rows, calls]))
"""


class Asked:
    """The rows by record, and the calls of goroutines by number."""

    def __init__(self, target, records, folder, are_walked=False):
        records = [*records]
        random.Random(24).shuffle(records)
        path = folder / "records"
        words = (struct.pack("<QQ", *record) for record in records)
        path.write_bytes(b"".join(words))
        code = ASK.format(path=str(path), are_walked=are_walked, names=NAMES)
        rows, calls = natives.scripted(target, code)
        indexes = [row["index"] for row in rows]
        assert indexes == sorted(set(indexes))
        self.rows = {records[row["index"]]: row for row in rows}
        self.calls = {int(number): names for number, names in calls.items()}

    def states(self):
        return {record: row["state"] for record, row in self.rows.items()}


def of_kind(farm, program, variant, kind, *args, **more):
    """A target: core, live, or a snapshot of the live one."""
    if kind != "core":
        skip_if(attach_reason())
    live = "live" if kind == SNAPSHOT else kind
    target = farm.target(program, variant, live, *args, **more)
    return natives.snapshot_of(target) if kind == SNAPSHOT else target


# --------------------------------------------------------------------- heaps


class Heap:
    """The blocks of native_heap, and records that are none of them."""

    def __init__(self, target):
        self.truth = Truth(target)
        self.usable = self.truth.usable
        self.large = [a for a, b in self.usable.items() if b >= LARGE_BYTES]
        self.freed = {(address, 1) for address in self.truth.freed}
        self.others = {(address, 0) for address in ODD}
        for address, usable in self.usable.items():
            self.others |= {
                (address, usable + 1),  # freed, and got again by less
                (address, MOST),
                (address - 16, 0),
                (address + 1, 1),
                (address + 8, 1),
                (address + 16, 0),
            }
        starts = self.usable.keys()
        self.others = {r for r in self.others if r[0] not in starts or r[1]}

    def records(self):
        blocks = {record for a, b in self.usable.items()
                  for record in ((a, 0), (a, b))}  # fmt: skip
        return blocks | self.freed | self.others


def check_heap(target, folder):
    heap = Heap(target)
    found = Asked(target, heap.records(), folder, are_walked=True)
    blocks = {(a, n) for a, b in heap.usable.items() for n in (0, b)}
    assert blocks <= found.rows.keys()
    assert set(found.states().values()) == {"in_use"}
    # libc may have got the memory of a freed one.
    assert len(found.rows.keys() - blocks) <= OTHER_BLOCKS // 4
    assert found.rows.keys() - blocks <= heap.freed | heap.others
    for record in blocks:
        row = found.rows[record]
        assert row["bytes"] == heap.usable[record[0]]
        # An old number in a variable of Go's runtime may look like an address.
        assert row["is_held"] and row["holder"]
        assert row["goroutine_id"] == 0
        assert (row["resident_bytes"] or 0) <= row["bytes"]
    holders = Counter(found.rows[r]["holder"] for r in blocks)
    assert len(blocks) - holders["all_slots"] <= OTHER_BLOCKS, holders
    assert len(heap.large) == 2 * heap.truth.told["threads"]
    return heap, found


@pytest.mark.parametrize("threads", ["1", "8"])
@pytest.mark.parametrize("kind", ["core", "live", SNAPSHOT])
def test_blocks_of_heaps(farm, tmp_path, kind, threads):
    """A block has a row if it is in use: not one that is freed, nor one of
    which another has the address that is smaller; addresses inside of blocks
    and before them are no block's."""
    args = [threads, *FEW]
    target = of_kind(farm, "native_heap", CENTRAL, kind, args)
    heap, found = check_heap(target, tmp_path)
    if kind == "core":
        return
    # Only the first page of a large one was touched.
    for address in heap.large:
        row = found.rows[address, heap.usable[address]]
        assert 0 < row["resident_bytes"] <= row["bytes"] // 4


@variants("cgo")
def test_blocks_of_releases(farm, tmp_path, variant):
    target = farm.target("native_heap", variant, "core", ["4", *FEW])
    check_heap(target, tmp_path)


def is_used(starts, address, row):
    """Is the memory around this address, as it was found, that of a block?
    starts: of the blocks, sorted."""
    end = address + row["bytes"]
    first = bisect.bisect_left(starts, end - row["block_bytes"])
    return first < len(starts) and starts[first] < end


@pytest.mark.parametrize("name", allocators.INSTALLED)
def test_blocks_of_allocators(farm, tmp_path, name):
    """mimalloc aligns addresses inside of its blocks: a freed one may lie in a
    block that is in use."""
    env = allocators.preloaded(name)
    target = farm.target("native_heap", CENTRAL, args=allocators.FEW, env=env)
    truth = allocators.Truth(target)
    starts = sorted(truth.blocks)
    blocks = {*truth.blocks.items()}
    late = {(address, usable + 4096) for address, usable in blocks}
    freed = {(address, 1) for address in truth.freed}
    found = Asked(target, blocks | late | freed, tmp_path)
    assert set(found.states().values()) == {"in_use"}
    assert blocks <= found.rows.keys()
    for address, usable in blocks:
        assert found.rows[address, usable]["bytes"] == usable
        assert found.rows[address, usable]["block_bytes"] >= usable
    others = found.rows.keys() - blocks
    if name == "mimalloc":
        others = {
            record
            for record in others
            if not is_used(starts, record[0], found.rows[record])
        }
    # A library may have got the memory of a freed one.
    assert len(others) <= allocators.OTHER_BLOCKS // 8


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_malloc(farm, tmp_path, name):
    args, env = ["4", *FEW], SETTINGS[name]
    check_heap(
        farm.target("native_heap", CENTRAL, "core", args, env), tmp_path
    )


# ------------------------------------------------------------------- holders

# By kind of block, the variables of native_leaks that lead to it.
VARIABLES = {
    "globals": {"global_blocks"},
    "640": {"odd_blocks"},
    "list": {"list"},
    "between": {"between"},
    "interior": {"inside"},
    "end": {"end"},
    "library": {f"held_by_library in {natives.library().name}"},
    "go": {"main.goPointers", "main.goOwners", "main.goMap",
           "main.goNumbers"},  # fmt: skip
    "big": {"main.goBig"},
    "beside": {"main.neighbours"},
}
# A call of the goroutine whose frames, stack or registers of C lead to it.
CALLS = {
    "goroutine": "main.holdByGoroutine.func1",
    "number": "main.holdByGoroutine.func1",
    "frame of caller": "main._Cfunc_wait_with_frame",
    "register of caller": "main._Cfunc_wait_with_register",
}
# No goroutine has these, though the stack of a thread or its registers do.
OTHER_THREADS = ["frame", "register", "tls", "key"]


def rows_of(found, truth, kind):
    rows = [found.rows.get((address, 1)) for address, _ in truth[kind]]
    assert rows and all(rows), kind
    assert {row["state"] for row in rows} == {"in_use"}
    return rows


def check_held(found, kept):
    for kind in kept:
        assert all(row["is_held"] for row in rows_of(found, kept, kind))
    for kind, variables in VARIABLES.items():
        rows = rows_of(found, kept, kind)
        assert {row["holder"] for row in rows} == variables, kind
        assert {row["goroutine_id"] for row in rows} == {0}
    for kind in OTHER_THREADS:
        assert [r["goroutine_id"] for r in rows_of(found, kept, kind)] == [0]
    for kind, call in CALLS.items():
        [row] = rows_of(found, kept, kind)
        assert call in found.calls[row["goroutine_id"]], kind


def check_leaked(found, leaked, reached):
    """Nobody holds the blocks that `native leaks' counts, and no others."""
    nobody = 0
    for kind in leaked:
        for (address, _), row in zip(
            leaked[kind], rows_of(found, leaked, kind)
        ):
            assert row["is_held"] is (address in reached), (kind, row)
            assert (row["holder"] == "nobody") is not row["is_held"]
            assert row["is_held"] or not row["goroutine_id"]
            nobody += not row["is_held"]
    assert nobody > 1700


@pytest.mark.parametrize("kind", ["core", "gcore", "live", SNAPSHOT])
def test_holders(farm, tmp_path, kind):
    args = [str(natives.library())]
    target = of_kind(farm, "native_leaks", CENTRAL, kind, args)
    check_holders(target, tmp_path)


@variants("cgo")
def test_holders_of_releases(farm, tmp_path, variant):
    args = [str(natives.library())]
    check_holders(farm.target("native_leaks", variant, args=args), tmp_path)


def check_holders(target, folder):
    truth = target.truth
    records = {
        (address, 1)
        for rows in [*truth["kept"].values(), *truth["leaked"].values(),
                     truth["freed"]]
        for address, _ in rows
    }  # fmt: skip
    found = Asked(target, records, folder)
    check_held(found, truth["kept"])
    check_leaked(found, truth["leaked"], natives.reached(target))
    assert not {(a, 1) for a, _ in truth["freed"]} & found.rows.keys()


def behind_the_queue(farm, folder, variant, what, runs):
    """The rows of the blocks that the goroutine should free that runs what is
    queued, and all rows."""
    target = farm.target("finalizing", variant, args=[what])
    records = [(address, 1) for address in natives.reached(target)]
    found = Asked(target, records, folder)
    document, _ = asked(target)
    [runner] = [
        row
        for row in document["finalization"]["runners"]
        if row["runs"] == runs
    ]
    rows = [
        row
        for row in found.rows.values()
        if row["goroutine_id"] == runner["id"]
    ]
    whole = sum(row["bytes"] + 8 for row in rows)
    assert whole == len(rows) // 2 * target.truth["c_bytes"]
    return rows, found


@variants("cgo")
def test_blocks_behind_finalizers(farm, tmp_path, variant):
    """Those of the queue, and that of the finalizer that runs."""
    rows, found = behind_the_queue(
        farm, tmp_path, variant, "c-blocks", "finalizers"
    )
    assert len(rows) == 2 * HANDLES
    common = [r for r in found.rows.values() if r["holder"] == "main.common"]
    assert [row["goroutine_id"] for row in common] == [0, 0]


@pytest.mark.parametrize(
    "release, runs", [("go1.24", "finalizers"), ("go1.27", "cleanups")]
)
def test_blocks_behind_cleanups(farm, tmp_path, release, runs):
    """The goroutine that runs finalizers runs cleanups, too, where these are in
    the same queue."""
    variant = Variant(release, "cgo")
    rows, _ = behind_the_queue(farm, tmp_path, variant, "c-cleanups", runs)
    # The entry that runs need not be in the queue.
    assert len(rows) in (2 * HANDLES, 2 * HANDLES - 2)


WAITS = """
from goref.trace.waiting import waits_of

found = waits_of(heap._scan(), {numbers})
print(json.dumps([wait._asdict() for wait in found.values()]))
"""


def test_waits_of_holders(farm, tmp_path):
    """The goroutines that have blocks wait for a channel, or are in C."""
    args = [str(natives.library())]
    target = of_kind(farm, "native_leaks", CENTRAL, "live", args)
    kept = target.truth["kept"]
    records = [(kept[kind][0][0], 1) for kind in CALLS]
    found = Asked(target, records, tmp_path)
    numbers = {
        k: found.rows[r]["goroutine_id"] for k, r in zip(CALLS, records)
    }
    code = WAITS.format(numbers=[*numbers.values()])
    waits = {w["goroutine_id"]: w for w in natives.scripted(target, code)}
    assert waits.keys() == set(numbers.values()) and len(waits) == 3
    wait = waits[numbers["goroutine"]]
    assert (wait["is_waiting"], wait["reason"]) == (True, "chan receive")
    assert wait["function"] == CALLS["goroutine"]
    assert wait["awaits"].startswith("to receive from main.neverReady: chan")
    for kind in "frame of caller", "register of caller":
        wait = waits[numbers[kind]]
        assert (wait["is_waiting"], wait["reason"]) == (None, "syscall")
        name = wait["c_function"].removeprefix("C.")
        assert f"main._Cfunc_{name}" == CALLS[kind]
        assert wait["awaits"].startswith("for C to return (cgo)")


# -------------------------------------------------------------------- damage


def records_of(truth):
    """{fate: records} of native_leaks."""
    return {
        fate: [(a, 1) for rows in truth[fate].values() for a, _ in rows]
        for fate in ("kept", "leaked")
    } | {"freed": [(a, 1) for a, _ in truth["freed"]]}


@pytest.fixture
def damaged(farm, tmp_path):
    """A target whose core may be changed, and what it says of itself."""
    args = [str(natives.library())]
    target = farm.target("native_leaks", CENTRAL, args=args)
    path = tmp_path / "core"
    mutate.copy_sparse(target.core, path)
    core = mutate.Core(path)
    yield replace(target, core=path), core
    core.close()


@pytest.mark.parametrize("are_walked", [True, False])
def test_arena_that_is_not_checked(damaged, tmp_path, are_walked):
    """Nothing is known of its blocks, be they freed; nobody holds blocks of the
    others that nobody held before."""
    target, core = damaged
    records = records_of(target.truth)
    everything = [r for rows in records.values() for r in rows]
    whole = Asked(target, everything, tmp_path, are_walked)
    arenas = mutate_native.ring(core, mutate_native.find_main(core))
    count = {a: sum(r[0] // HEAP == a // HEAP for r in records["freed"])
             for a in arenas[1:]}  # fmt: skip
    arena = max(count, key=count.get)
    assert count[arena] == len(records["freed"]) - 10  # 10 had own mappings
    core.put(arena + mutate_native.SYSTEM, 12288)
    found = Asked(target, everything, tmp_path, are_walked)
    mine = {r for r in everything if r[0] // HEAP == arena // HEAP}
    assert mine & {*records["freed"]} and mine & {*records["kept"]}
    for record in mine:
        row = found.rows[record]
        assert row["state"] == "unknown" and row["is_held"] is None
        assert not row["holder"] and not row["goroutine_id"]
    for record in {*everything} - mine:
        before, row = whole.rows.get(record), found.rows.get(record)
        assert bool(before) is bool(row)
        # An arena that is not checked may hold more.
        assert not row or row["is_held"] >= before["is_held"]


def test_holder_that_may_be_missing(damaged, tmp_path):
    """The core lacks the stack of the first thread: no block is called one that
    nobody holds, and all else is as before."""
    target, core = damaged
    records = records_of(target.truth)
    everything = [r for rows in records.values() for r in rows]
    whole = Asked(target, everything, tmp_path)
    with open(target.core, "r+b") as file:
        file.truncate(
            max(offset for flags, _, offset, _ in
                mutate_native.segments(core) if flags == 6)
        )  # fmt: skip
    found = Asked(target, everything, tmp_path)
    assert found.states() == whole.states()
    lost = 0
    for record, row in found.rows.items():
        assert row["is_held"] is (whole.rows[record]["is_held"] or None)
        assert row["is_held"] or row["holder"] is None
        lost += row["is_held"] is None
    assert lost > 1700


# ------------------------------------------------------------------ mappings


@pytest.mark.parametrize("kind", ["core", "live", SNAPSHOT])
def test_mappings(farm, tmp_path, kind):
    """Memory that C has mapped, and memory that malloc has given back."""
    target = of_kind(farm, "native_mapped", CENTRAL, kind)
    truth = {name: tuple(row) for name, row in target.truth.items()}
    records = [*truth.values()]
    for name in "variable", "go", "nobody":
        address, bytes_ = truth[name]
        records += [(address + 16, 1), (address, MOST), (address, 0)]
        records += [(address, MOST - address), (address, bytes_ << 20)]
    found = Asked(target, records, tmp_path)
    states = {
        name: found.rows[row]["state"]
        for name, row in truth.items()
        if row in found.rows
    }
    mapped = ["variable", "go", "nobody", "shared", "part", "replacing"]
    unknown = ["trimmed", "object", "runtime", "replaced"]
    assert states == {
        **dict.fromkeys(mapped, "mapped"),
        **dict.fromkeys(unknown, "unknown"),
    }
    others = [row for record, row in found.rows.items()
              if record not in truth.values()]  # fmt: skip
    assert {row["state"] for row in others} == {"unknown"}
    assert len(others) == 15
    check_mapped({name: found.rows[truth[name]] for name in states}, truth)


def check_mapped(rows, truth):
    holders = {name: row["holder"] for name, row in rows.items()}
    assert holders.pop("variable") == "variable"
    assert holders.pop("go") == "main.inGo"
    assert {*holders.values()} == {None}
    for name, row in rows.items():
        held = True if name in ("variable", "go") else None
        assert (row["is_held"], row["goroutine_id"]) == (held, 0), name
        assert row["bytes"] == truth[name][1]
    whole = truth["variable"][1]
    sizes = [rows[n]["resident_bytes"] for n in ("variable", "go", "nobody")]
    assert sizes == [whole, whole // 2, 0]


def test_blocks_that_are_walked(farm, tmp_path):
    """A block that no arena has is freed if all arenas are checked."""
    target = of_kind(farm, "native_mapped", CENTRAL, "live")
    truth = [tuple(row) for row in target.truth.values()]
    assert not Asked(target, truth, tmp_path, are_walked=True).rows


# -------------------------------------------------------------- while it runs

LOOKS = 12
UNIT = 16  # addresses of blocks are multiples


def heap_of(pid):
    """[start, end) of the heap of the kernel."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    [line] = [line for line in maps if line.endswith(" [heap]")]
    return [int(word, 16) for word in line.split()[0].split("-")]


def libraries_of(pid):
    maps = Path(f"/proc/{pid}/maps").read_text()
    return sorted({*re.findall(r" r-xp .* (/.*\.so[.0-9]*)$", maps, re.M)})


def not_held(pid, knows_files):
    """The blocks of the only arena that nobody holds, and how many are in use;
    None: it was changing. knows_files: those of libraries."""
    start, end = heap_of(pid)
    words = (struct.pack("<QQ", a, 0) for a in range(start, end, UNIT))
    libraries = libraries_of(pid) if knows_files else ()
    assert not knows_files or any("/libc.so" in file for file in libraries)
    scan, _ = look(load(), pid, "report", libraries)
    rows = scan.growth_blocks(b"".join(words)).rows
    states = {row.state for row in rows}
    if states != {"in_use"}:
        return None
    lost = {start + UNIT * r.index for r in rows if r.is_held is False}
    return lost, len(rows)


@pytest.mark.parametrize("knows_files", [True, False])
def test_blocks_in_the_hands_of_threads(farm, knows_files):
    """A block that a thread is getting or giving back is never one that nobody
    holds, though no pointer may lead to it."""
    skip_if(attach_reason())
    process = farm.process("native_hands", CENTRAL, ["8"],
                           {"MALLOC_ARENA_MAX": "1"})  # fmt: skip
    process.rest()
    before, _ = not_held(process.pid, knows_files)
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()
    assert process.read_line() == "{}"
    answers = [not_held(process.pid, knows_files) for _ in range(LOOKS)]
    known = [answer for answer in answers if answer]
    assert max(in_use for _, in_use in known) > 32
    for lost, _ in known:
        assert lost <= before


# --------------------------------------------------------------------- words


def test_what_cannot_be_records(farm):
    target = of_kind(farm, "native_leaks", CENTRAL, "live")
    scan, _ = look(load(), target.process.pid, "report")
    wrong = load().ArgumentError
    with pytest.raises(wrong, match="16 bytes each"):
        scan.growth_blocks(b"\0" * 24)
    answer = scan.growth_blocks(b"")
    assert answer.is_known and not answer.rows


def test_without_memory_of_c(farm):
    """Nothing of C was copied: nothing is said of what is freed."""
    target = of_kind(farm, "native_leaks", CENTRAL, "live")
    scan, _ = look(load(), target.process.pid, "heap")
    answer = scan.growth_blocks(struct.pack("<QQ", 0, 0))
    assert not answer.is_known and not answer.rows

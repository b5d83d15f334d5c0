# SPDX-License-Identifier: Apache-2.0
"""The difference of two documents, of two trees and of two lists of objects,
against naive algorithms."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import args, difference, lifetime, sides, survivors, trees

NAMES = "abcdefgh"
TYPES = ["main.A", "[]main.B", "(type not known)"]


def amounts(random_):
    return {
        name: difference.Amount(
            random_.randrange(3), random_.randrange(3), random_.randrange(3)
        )
        for name in NAMES
        if random_.random() < 0.7
    }


@pytest.mark.parametrize("seed", range(20))
def test_tables(seed):
    random_ = random.Random(seed)
    old, new = amounts(random_), amounts(random_)
    found = difference.table("root", old, new)
    naive = {}
    for name in NAMES:
        before = old.get(name, (0, 0, 0))
        after = new.get(name, (0, 0, 0))
        growth = tuple(b - a for a, b in zip(before[:3], after[:3]))
        if growth != (0, 0, 0):
            naive[name] = growth
    assert {
        r.key: (r.objects, r.bytes, r.retained_bytes) for r in found.rows
    } == naive
    order = sorted(naive, key=lambda n: (-naive[n][1], -naive[n][0],
                                         -naive[n][2], n))  # fmt: skip
    assert [r.key for r in found.rows] == order
    # Each row has grown or shrunk, most first.
    grown, shrunk = found.grown(), found.shrunk()
    assert [*grown, *reversed(shrunk)] == [*found.rows]


def roots(*keys):
    """Rows of 8 bytes."""
    return [{"key": key, "objects": 1, "bytes": 8, "retained_bytes": 8,
             "c_bytes": 8, "retained_c_bytes": 8} for key in keys]  # fmt: skip


def compared(old, new, is_one_process):
    sides = [{"tables": {"root": roots(*keys)}, "suspects": []}
             for keys in (old, new)]  # fmt: skip
    found = difference.compare(
        *sides, ({}, {}), is_one_process=is_one_process
    )
    return found.tables["root"].rows


OF_THREADS = (
    ("C stack of thread 7", "C stack of thread 8", "C stacks of threads"),
    ("registers of thread 7", "registers of thread 8",
     "registers of threads"),
    ("C thread at 0x7f01", "C thread at 0x7f02", "memory of threads in C"),
    ("memory of thread 7", "memory of thread 8", "memory of threads in C"),
    ("frames of goroutine 7", "frames of goroutine 8",
     "frames of goroutines"),
    ("C memory at 0x7f01", "C memory at 0x7f02",
     "C memory outside of allocators"),
    ("C stack at 0x7f01", "C stack of thread 8", "C stacks of threads"),
    ("unchecked arena at 0x7f01", "unchecked arena at 0x7f02",
     "unchecked arenas"),
)  # fmt: skip


@pytest.mark.parametrize("old, new, together", OF_THREADS)
def test_roots_that_only_one_process_has(old, new, together):
    """Threads and addresses of two processes do not match by name."""
    assert compared([old], [new], False) == ()
    assert {r.key for r in compared([old], [new], True)} == {old, new}
    [row] = compared([old], [old, new], False)
    assert (row.key, row.bytes, row.c_bytes) == (together, 8, 8)
    # Nothing says how much two of them retain together.
    assert row.old.retained_bytes == 8 and row.new.retained_bytes is None
    assert row.retained_bytes == 0


@pytest.mark.parametrize(
    "name", ["main.x", "C stack of thread x", "a C stack of thread 7",
             "C memory at 0x7f01 in Go", "runtime.mheap_"],
)  # fmt: skip
def test_other_roots_keep_their_names(name):
    [row] = compared([], [name], False)
    assert row.key == name and row.new.retained_bytes == 8


def test_what_is_known_on_one_side_only():
    one = difference.Amount(1, 10, 10)
    (row,) = difference.table("root", {}, {"a": one}).rows
    assert row.old.retained_bytes == 0 and row.retained_bytes == 10
    (row,) = difference.table("path", {"a": one._replace(retained_bytes=None)},
                              {}).rows  # fmt: skip
    assert row.new.retained_bytes is None and row.bytes == -10


def test_bounds_do_not_count():
    """The retained bytes of types are lower bounds."""
    old = {"a": difference.Amount(1, 10, 10)}
    new = {"a": difference.Amount(1, 10, 20)}
    assert not difference.table("type", old, new).rows
    assert len(difference.table("root", old, new).rows) == 1
    assert not difference.table("root", old, new, 11).rows


# ------------------------------------------------------------------- trees


def make_tree(random_, path):
    """Write a tree as scan does, and give the samples by path."""
    nodes, samples = [], Counter()
    for i in range(40):
        parent = random_.choice([None, *range(i)]) if i else None
        name = random_.choice("abc")
        kind = random_.choice(["global", "local"]) if parent is None else None
        above = nodes[parent] if parent is not None else ((), kind)
        nodes.append(((*above[0], name), above[1]))
        objects, size = random_.choice([(0, 0), (1, 8), (3, 100)])
        samples[nodes[-1], "objects"] += objects
        samples[nodes[-1], "bytes"] += size
        line = {"id": 2 * i, "parent": None if parent is None else 2 * parent,
                "name": name, "objects": objects, "bytes": size}  # fmt: skip
        if parent is None:
            line |= {"kind": kind}
        path.write_text(
            (path.read_text() if i else "") + json.dumps(line) + "\n"
        )
    return +samples


@pytest.mark.parametrize("seed", range(20))
def test_trees(seed, tmp_path):
    random_ = random.Random(seed)
    old = make_tree(random_, tmp_path / "old")
    new = make_tree(random_, tmp_path / "new")
    before, after = trees.read(tmp_path / "old"), trees.read(tmp_path / "new")
    found = trees.paths(before, after, 1000)
    for samples, rows, others in (
        (old, found[0], found[1]),
        (new, found[1], found[0]),
    ):
        naive = Counter()
        for ((path, _), what), number in samples.items():
            naive[" -> ".join(path), what] += number
        for name, amount in rows.items():
            assert amount.objects == naive[name, "objects"]
            assert amount.bytes == naive[name, "bytes"]
        left = {name for name, _ in naive} - {*rows}
        assert not left & {*others}
    profile = trees.difference(before, after)
    sums = Counter()
    paths = []
    for parent, place, labels, objects, size in profile.nodes:
        above = paths[parent] if parent >= 0 else ()
        paths.append((*above, profile.places[place][0]))
        tags = dict(profile.label_sets[labels])
        assert tags in ({}, {"pprof::base": "true"})
        side = "old" if tags else "new"
        sums[side, paths[-1], "objects"] += objects
        sums[side, paths[-1], "bytes"] += size
    for side, samples, sign in (("old", old, -1), ("new", new, 1)):
        wanted = Counter()
        for ((path, _), what), number in samples.items():
            wanted[side, path, what] += sign * number
        found = {k: v for k, v in sums.items() if k[0] == side and v}
        assert found == dict(wanted)


def test_the_greatest_changes_are_named(tmp_path):
    lines = [
        {"id": i, "parent": None, "name": f"r{i}", "kind": "global",
         "objects": 1, "bytes": 10 * i + 8}
        for i in range(50)
    ]  # fmt: skip
    file = tmp_path / "tree"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    old, new = trees.paths([], trees.read(file), 3)
    assert [*new] == ["r49", "r48", "r47"]
    assert {*old.values()} == {difference.Amount(0, 0)}


# --------------------------------------------------------------- survivors


@pytest.mark.parametrize("seed", range(20))
def test_survivors(seed, tmp_path):
    random_ = random.Random(seed)
    lists = []
    for name in ("old", "new"):
        rows = {
            address: (random_.choice([8, 16]), random_.choice(TYPES))
            for address in random_.sample(range(0x1000, 0x1040), 30)
        }
        lists.append(rows)
        (tmp_path / name).write_text(
            "".join(
                f"0x{a:x} {rows[a][0]} {rows[a][1]}\n" for a in sorted(rows)
            )
        )
    old, new = lists
    found = survivors.count(tmp_path / "old", tmp_path / "new", False)
    assert found.old == Counter(type_ for _, type_ in old.values())
    assert found.new == Counter(type_ for _, type_ in new.values())
    # The memory of an object of another type belongs to a new one.
    assert found.both == Counter(
        new[a][1]
        for a in old
        if a in new
        and old[a][0] == new[a][0]
        and (old[a][1] == new[a][1] or TYPES[-1] in (old[a][1], new[a][1]))
    )


def test_paths_that_read_alike_are_one_row():
    """Their middle is cut out: nobody could tell them apart."""
    rows = [
        difference.Row(f"main.a -> {i} -> end", *pair)
        for i, pair in enumerate(
            [
                (difference.Amount(1, 10), difference.Amount(2, 30)),
                (difference.Amount(4, 40), difference.Amount(1, 35)),
            ]
        )
    ]
    rows.append(
        difference.Row("main.b", difference.Amount(), difference.Amount(1, 16))
    )
    merged = difference.alike(rows, lambda key: key.partition(" ")[0])
    assert [(row.key, row.bytes, row.objects) for row in merged] == [
        ("main.b", 16, 1),
        ("main.a  (2 paths)", 15, -2),
    ]


@pytest.mark.parametrize(
    "old, new, is_so",
    [
        ((5, "off"), (5, "off"), True),
        ((0, "off"), (0, "off"), True),
        ((5, "off"), (6, "off"), False),
        ((5, "mark"), (5, "off"), False),
        ((5, "off"), (5, "mark"), False),
        ((None, "off"), (None, "off"), False),
    ],
)
def test_collections(old, new, is_so):
    def document(side):
        return dict(zip(("last_gc_ns", "gc_phase"), side))

    between = survivors.no_collection_between(document(old), document(new))
    assert between == is_so


def test_lifetimes():
    """A process is itself, a fork of it and another one are not."""
    mine = lifetime.of_process(os.getpid())
    assert mine and os.getpid() in mine.pids
    assert lifetime.is_same(mine, lifetime.of_process(os.getpid()))
    child = os.fork()
    if not child:
        os._exit(not (fork := lifetime.of_process(os.getpid()))
                 or fork.digest != mine.digest
                 or lifetime.is_same(mine, fork))  # fmt: skip
    assert os.waitpid(child, 0)[1] == 0
    with subprocess.Popen(["cat"], stdin=-1, stdout=-1) as other:
        other.stdin.write(b"x")
        other.stdin.flush()
        other.stdout.read(1)  # it has begun
        theirs = lifetime.of_process(other.pid)
        other.stdin.close()
    assert theirs and not lifetime.is_same(mine, theirs)
    assert lifetime.of_process(1 << 22) is None
    assert not lifetime.is_same(None, None)


# ------------------------------------------------------------------- sides


def elf(path, kind):
    """The head of an ELF file; a core is whole as far as notes go."""
    head = bytearray(b"\x7fELF\x02\x01" + bytes(58))
    head[16] = kind
    head[54] = 56
    path.write_bytes(head)
    return str(path)


def test_sides(tmp_path):
    exe, core = elf(tmp_path / "app", 2), elf(tmp_path / "core.1", 4)
    core_alone = sides.Side(("core", core), None, (core,))
    core_of = sides.Side(("core", exe, core), None, (exe, core))
    process = sides.Side(("attach", "12"), 12)
    for words, wanted in (
        ([core, core], (core_alone, core_alone)),
        ([exe, core, core], (core_of, core_alone)),
        ([core, exe, core], (core_alone, core_of)),
        ([exe, core, "12"], (core_of, process)),
        (["12", "12"], (process, process)),
    ):
        assert sides.parse(words) == wanted
    assert core_of.name == core and process.name == "process 12"


@pytest.mark.parametrize(
    "words, reason",
    [
        ([], "no OLD given"),
        (["1"], "no NEW given"),
        (["1", "2", "3"], "3 is one too many"),
        (["nothing", "2"], "OLD: nothing: No such file"),
        (["1", "."], "NEW: . is neither a file nor a PID"),
        (["1", "a\0b"], "NEW: a?b: no name of a file"),
        (["app"], "OLD: app is an executable: add its core behind it"),
        (["app", "heap"], "app is an executable, and heap is not a core: add"),
        (["app", "12"], "app is an executable, and 12 is not a core: add"),
        (["app", "app"], "app is an executable, and app is not a core: add"),
        (["app", "none"], "OLD: none: No such file"),
        (["app", "core"], "no NEW given: app and core are OLD"),
        (["heap", "app", "heap"], "NEW: app is an executable, and heap is"),
    ],
)
def test_no_sides(words, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    elf(tmp_path / "app", 2)
    elf(tmp_path / "core", 4)
    (tmp_path / "heap").write_text("a saved file")
    with pytest.raises(args.UsageError) as problem:
        sides.parse(words)
    assert reason in str(problem.value)

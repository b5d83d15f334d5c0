# SPDX-License-Identifier: Apache-2.0
"""The graph over Go and C: what holds C blocks, and what is retained, against
what the program counted and against a plain mark."""

import json
import random

import pytest

import natives
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import variants

DRAWN = 200  # half of each kind
MANY = "100000"  # rows: all that there are

# The graph as lists: objects [address, bytes, is C, targets], and the targets
# of the roots. An object is the same also if several words lead to it.
GRAPH = """
def targets(thing):
    # A variable with static memory leads to the words of that.
    return [
        edge.target.address
        for edge in thing.references()
        if isinstance(edge.target, goref.Object)
    ]

objects = [
    [thing.address, thing.size, is_c(thing), targets(thing)]
    for thing in heap.objects()
]
roots = [targets(root) for root in heap.roots()]
print(json.dumps([objects, roots]))
"""


class Graph:
    """The objects of a target, and a plain mark of them."""

    def __init__(self, target, folder):
        objects, roots = natives.scripted(target, GRAPH)
        slots = natives.slots(target, folder)
        self.bytes, self.c, self.below = {}, set(), {}
        for address, bytes_, is_c, targets in objects:
            self.bytes[address] = bytes_ if is_c else slots[address]
            self.below[address] = targets
            if is_c:
                self.c.add(address)
        self.roots = {to for targets in roots for to in targets}

    def reached(self, without=None):
        """The objects that a mark reaches that does not enter one of them."""
        seen = {without}
        todo = [root for root in self.roots if root != without]
        seen.update(todo)
        while todo:
            for to in self.below[todo.pop()]:
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        return seen - {without}

    def lost(self, without):
        """(Go, C) bytes of what the mark does not reach without an object."""
        gone = self.bytes.keys() - self.reached(without)
        c_bytes = sum(self.bytes[address] for address in gone & self.c)
        return sum(self.bytes[address] for address in gone) - c_bytes, c_bytes


def drawn(graph):
    """Objects of both kinds, some of which hold others."""
    source = random.Random(22)
    go = sorted(graph.bytes.keys() - graph.c)
    c_blocks = sorted(graph.c)
    found = source.sample(go, min(len(go), DRAWN // 2))
    return found + source.sample(c_blocks, DRAWN - len(found))


@pytest.mark.parametrize("program", ["native_struct", "native_leaks"])
@variants("cgo")
def test_retained_is_what_a_mark_loses(farm, tmp_path, variant, program):
    args = [str(natives.library())] if program == "native_leaks" else []
    target = farm.target(program, variant, args=args)
    graph = Graph(target, tmp_path)
    assert graph.bytes.keys() == graph.reached()
    vertices = drawn(graph)
    assert len(vertices) == DRAWN
    expected = {address: graph.lost(address) for address in vertices}
    assert natives.retained(target, vertices) == expected
    # Some hold much, and some hold memory of the other kind.
    assert any(c_bytes > 1000 for _, c_bytes in expected.values())


@pytest.fixture(scope="module")
def structs(farm):
    """structs(variant, kind): the program with two engines."""

    def target(variant=CENTRAL, kind="core"):
        if kind == "live":
            skip_if(attach_reason())
        return farm.target("native_struct", variant, kind)

    return target


def c_bytes_of(engine):
    return engine["by_index"]["bytes"] + engine["by_buffer"]["bytes"]


KINDS = pytest.mark.parametrize("kind", ["core", "gcore", "live"])


@KINDS
@variants("cgo")
def test_dominators(structs, variant, kind):
    """Each engine keeps its tree and its buffer alive; both together keep the
    table that they share."""
    target = structs(variant, kind)
    engines = target.truth["engines"]
    document = natives.asked(
        target, "dominators", "main.big", "main.small", "--depth", "1"
    )
    for row, name in zip(document["asked"], ["big", "small"]):
        engine = engines[name]
        assert row["retained_bytes"] == engine["go_bytes"]
        assert row["retained_c_bytes"] == c_bytes_of(engine)
    together = document["together"]
    both = sum(map(c_bytes_of, engines.values()))
    assert together["retained_c_bytes"] == both + target.truth["table"]
    assert together["bytes"] == sum(e["go_bytes"] for e in engines.values())


def test_children(structs):
    """The rows below a row add up to it, in both columns."""
    target = structs()
    engine = target.truth["engines"]["big"]
    document = natives.asked(
        target, "dominators", "main.big", "--depth", "3", "--top", MANY
    )
    [row] = document["asked"]
    for key in "retained_bytes", "retained_c_bytes":
        assert sum_of(document["children"], key) == row[key]
    assert row["retained_c_bytes"] == c_bytes_of(engine)


def sum_of(rows, key):
    return sum(row[key] for row in rows)


def test_all_of_c(structs):
    """The whole tree has all C blocks that something holds."""
    target = structs()
    document = natives.asked(target, "dominators", "--top", MANY)
    blocks = natives.reached(target)
    kept = sum_of(document["children"], "retained_c_bytes")
    assert kept == sum(blocks.values())


def test_tree_is_reached(structs):
    """Each block of the program, with its size."""
    target = structs()
    blocks = natives.reached(target)
    for engine in target.truth["engines"].values():
        for name, bytes_ in ("index", 48), ("first", 48), ("entry", 64):
            assert blocks[int(engine[name], 16)] == bytes_


@variants("cgo")
def test_kind(structs, variant):
    target = structs(variant)
    engine = target.truth["engines"]["big"]
    for name, kind in ("address", "go"), ("index", "c"), ("entry", "c"):
        document = natives.asked(target, "object", engine[name])
        assert document["kind"] == kind
    done = run_cli([*natives.where(target), "objects", "--json"])
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["objects"]
    kinds = {row["address"]: row["kind"] for row in rows}
    assert kinds[engine["address"]] == "go"
    assert kinds[engine["index"]] == kinds[engine["first"]] == "c"
    c_blocks = sum(kind == "c" for kind in kinds.values())
    assert c_blocks == len(natives.reached(target))


@KINDS
@variants("cgo")
def test_why(structs, variant, kind):
    """A path to a node of C begins at the variable and goes through the
    engine's field."""
    target = structs(variant, kind)
    engine = target.truth["engines"]["big"]
    for name in "first", "entry":
        done = run_cli([*natives.where(target), "why", engine[name]])
        assert done.returncode == 0, done.stderr
        assert "main.big" in done.stdout
        assert "index" in done.stdout
        assert "main.small" not in done.stdout


def test_why_a_pointer_to_c(structs):
    """A variable whose pointer leads to a block is asked for the block."""
    target = structs(CENTRAL, "core")
    index = target.truth["engines"]["big"]["index"]
    words = ["why", "main.big.index"]
    done = run_cli([*natives.where(target), *words])
    first = f"main.big.index refers to {index}"
    assert done.stdout.splitlines()[0] == first, done.stdout
    assert natives.asked(target, *words)["object"]["kind"] == "c"


def test_conservative_edge_is_marked(structs):
    """A number that looks like a pointer may be one: `object` says so."""
    target = structs()
    engine = target.truth["engines"]["big"]
    done = run_cli([*natives.where(target), "object", engine["index"]])
    assert "conservative" not in done.stdout
    done = run_cli([*natives.where(target), "object", engine["first"]])
    assert done.returncode == 0, done.stderr
    whole = natives.asked(target, "object", engine["address"])
    assert "conservative" in json.dumps(whole)


@variants("cgo")
def test_types(structs, variant):
    """The type is that of the Go field, and of C's own fields behind it."""
    target = structs(variant)
    engine = target.truth["engines"]["big"]
    names = {"index": "struct index", "first": "struct node",
             "entry": "struct entry"}  # fmt: skip
    for name, type_ in names.items():
        document = natives.asked(target, "object", engine[name])
        found = document["type"].replace("struct_", "struct ")
        assert type_.removeprefix("struct ") in found


@variants("cgo")
def test_by_holder(structs, variant):
    """Which field of which Go type holds how much of C."""
    target = structs(variant)
    done = run_cli([*natives.where(target), "histogram", "--by", "holder"])
    assert done.returncode == 0, done.stderr
    assert "main.engine.index" in done.stdout
    assert "main.engine.buffer" in done.stdout
    document = natives.asked(target, "histogram", "--by", "holder")
    engines = target.truth["engines"].values()
    for field in "index", "buffer":
        bytes_ = sum(engine[f"by_{field}"]["bytes"] for engine in engines)
        blocks = sum(engine[f"by_{field}"]["blocks"] for engine in engines)
        text = json.dumps(document)
        assert f"main.engine.{field}" in text
        [row] = [
            row
            for row in document["rows"]
            if f"main.engine.{field}" in json.dumps(row)
        ]
        table = target.truth["table"] if field == "index" else 0
        assert row["bytes"] in (bytes_, bytes_ + table)
        assert row["objects"] in (blocks, blocks + bool(table))


def test_saved_file_answers_alike(structs, tmp_path):
    target = structs()
    saved = tmp_path / "saved"
    done = run_cli([*natives.where(target), "save", saved])
    assert done.returncode == 0, done.stderr
    first = target.truth["engines"]["big"]["first"]
    for words in (["native"], ["native", "leaks"], ["why", first],
                  ["dominators", "main.big", "--depth", "1"],
                  ["histogram", "--by", "holder"]):  # fmt: skip
        of_core = run_cli([*natives.where(target), *words])
        of_file = run_cli(["open", saved, *words])
        assert of_file.returncode == of_core.returncode == 0
        assert body(of_file.stdout) == body(of_core.stdout)


def body(text):
    """The lines that do not name the source or times."""
    source = "core ", "saved ", "file "
    lines = text.splitlines()
    return [
        x
        for x in lines
        if x and not x.startswith(source) and " ms" not in x
        and "(core " not in x
    ]

# SPDX-License-Identifier: Apache-2.0
"""The object graph of real heaps: its edges, held against the dump that the
Go runtime makes of the same heap; its retained sizes, against a plain mark."""

import collections
import random
import re

import pytest

from heapdump import HeapDump, Memory
from heapgraph import Graph
from asking import run_scanner
from test_sums import check_stripped, check_top
from toolchains import EXPERIMENTS, RELEASES, variant_id, variants, Variant

LARGEST, DRAWN, SETS = 100, 200, 50
# Words of a record of a goroutine that waits: its goroutine is the first one.
SUDOG_BYTES = range(80, 129)

# Maps of the old design also with the newer maps of pointers.
BUILDS = [Variant(release, "default") for release in RELEASES]
if EXPERIMENTS["noswissmap"] in RELEASES:
    BUILDS.append(Variant(EXPERIMENTS["noswissmap"], "noswissmap"))
rows = pytest.mark.parametrize("variant", BUILDS, ids=variant_id)


@pytest.fixture(scope="module")
def graph_of(farm):
    """graph_of(variant): the target and the graph of `pointers`."""
    made = {}

    def graph(variant):
        if variant not in made:
            target = farm.target("pointers", variant)
            made[variant] = target, Graph(target)
        return made[variant]

    return graph


@pytest.fixture
def graph(graph_of, variant):
    return graph_of(variant)[1]


class Truth:
    """The dump's view of the objects of a graph, as they are in the core.
    After its dump, the program allocates hardly anything."""

    def __init__(self, dump, memory, graph):
        self.dump, self.memory = dump, memory
        self.slots = {v: dump.slot(v) for v in graph.objects}
        self.objects = set(self.slots.values()) - {None}
        assert len(self.objects) > 90_000
        assert 0 <= len(self.slots) - len(self.objects) < 10

    def targets(self, words):
        """The objects that the words at these addresses point to."""
        found = (self.dump.slot(self.memory.word(addr)) for addr in words)
        return collections.Counter(to for to in found if to in self.objects)

    def known(self, vertices):
        """The slots of those of the vertices that the dump knows."""
        found = (self.slots[v] for v in vertices)
        return collections.Counter(slot for slot in found if slot)

    def is_goroutine(self, addr):
        """Is it a g? The dump does not list those that have ended, but they are
        objects like the others, and one may be in use again."""
        listed = self.dump.goroutines
        sizes = {self.dump.objects[g][0] for g in listed
                 if g in self.dump.objects}  # fmt: skip
        return addr in listed or (
            self.dump.slot(addr) == addr
            and self.dump.objects[addr][0] in sizes
        )

    def is_scheduled(self, slot):
        """Is it a g, or the record of a goroutine that waits?"""
        return self.is_goroutine(slot) or (
            self.dump.objects[slot][0] in SUDOG_BYTES
            and self.is_goroutine(self.memory.word(slot))
        )


@pytest.fixture(scope="module")
def truth_of(graph_of):
    made = {}

    def truth(variant):
        if variant not in made:
            target, graph = graph_of(variant)
            dump = HeapDump(target.core.parent / "dump")
            made[variant] = Truth(dump, Memory(target.core), graph)
        return made[variant]

    return truth


@pytest.fixture
def truth(truth_of, variant):
    return truth_of(variant)


@rows
def test_edges(graph, truth):
    """Every pointer of every object, as often as it is there, but for the
    scheduler's; and no other."""
    got = collections.defaultdict(collections.Counter)
    for source, to in graph.edges:
        if source >= 0 and truth.slots[source] and truth.slots[to]:
            got[truth.slots[source]][truth.slots[to]] += 1
    left_out = collections.Counter()
    for slot in truth.objects:
        want = truth.targets(truth.dump.objects[slot][1])
        assert not got[slot] - want, hex(slot)
        left_out += want - got[slot]
    assert all(map(truth.is_scheduled, left_out))
    # All edges to these are left out.
    assert not [
        hex(slot)
        for slot, to in got.items()
        if not left_out.keys().isdisjoint(to)
    ]
    assert 0 < sum(left_out.values()) <= graph.totals["left_out"]


@rows
def test_edges_of_variables(graph, truth):
    """The pointers of data and bss; those of package variables are nothing
    else."""
    want = truth.targets(truth.dump.statics)
    variables = graph.held_by("package variables")
    got = truth.known(variables + graph.held_by("the runtime"))
    assert all(map(truth.is_scheduled, want - got))
    assert not truth.known(variables) - want
    assert len(variables) > 30


@variants("default")
def test_edges_of_stacks(graph, truth):
    """A goroutine that waits holds all that its frames point to."""
    vertex = {truth.slots[v]: v for v in graph.objects}
    roots = {to: source for source, to in graph.edges if source < 0 <= to}
    checked = 0
    for g, (waits, words) in truth.dump.goroutines.items():
        if not waits:
            continue
        goroutine = graph.holder[roots[vertex[g]]]
        want = truth.targets(words)
        missing = want - truth.known(graph.held_by(goroutine))
        assert all(map(truth.is_scheduled, missing)), hex(g)
        checked += bool(want)
    assert checked > 20


@rows
def test_retained(graph):
    """To the byte what a mark without it loses: the largest objects, some
    drawn by lot, and all vertices that are no objects."""
    by_size = sorted(graph.objects, key=lambda v: -graph.retained[v])
    drawn = random.Random(7).sample(by_size, DRAWN)
    asked = by_size[:LARGEST] + drawn + graph.others[:300]
    asked += graph.others[-40:]
    lost = graph.lost([[v] for v in asked])
    assert lost == [graph.retained[v] for v in asked]
    assert graph.retained[by_size[LARGEST]] > 1000


@rows
def test_sets(graph):
    lot = random.Random(8)
    by_size = sorted(graph.objects, key=lambda v: -graph.retained[v])
    sets = [
        lot.sample(lot.choice([by_size[:300], by_size, graph.others]),
                   lot.choice([1, 2, 5, 20]))
        for _ in range(SETS)
    ]  # fmt: skip
    sets.append(by_size[::3])
    lost = graph.lost(sets)
    assert graph.kept(sets) == lost
    assert sum(map(bool, lost)) > SETS // 2


@rows
def test_top(graph_of, variant):
    """The top holds as much as a scan reaches."""
    check_top(graph_of(variant)[1])


@variants(newest=("default",))
def test_threads(graph_of, variant):
    """The same answer with one, two and three threads, and once more."""
    _target, graph = graph_of(variant)
    for question in "--edges", "--retained":
        answer = graph.run(question)
        for threads in "1", "2", "2", "3":
            assert graph.run(question, "--threads", threads) == answer


@variants(newest=("default",))
def test_stripped(graph_of, variant, tmp_path):
    check_stripped(*graph_of(variant), tmp_path)


@variants(newest=("default",))
def test_interrupted(graph_of, variant):
    """However far it had come: no retained sizes of a part of the heap, and
    one line says so."""
    target, _graph = graph_of(variant)
    place = target.exe, target.core
    whole = run_scanner(*place, "--retained", "--polls")
    npolls = int(re.search(r"^polls: (\d+)", whole.stderr, re.M)[1])
    assert npolls > 50
    for i in range(1, 20):
        number = i * npolls // 20 + 1
        done = run_scanner(*place, "--retained", "--last-poll", number)
        assert done.returncode == 1 and not done.stdout
        assert done.stderr == "scanner: poll has ended it\n"

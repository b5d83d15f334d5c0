# SPDX-License-Identifier: Apache-2.0
"""A path to every object of a real heap: each is a chain of words that are in
the core, and none is shorter or begins at a better root."""

import collections

import pytest

from corewords import CoreWords
from heapgraph import Graph
from toolchains import RELEASES, Variant


class Path:
    """One line of `goref-scan --paths`. Hops are (word, object), or None where
    the middle of a long path is left out."""

    def __init__(self, line):
        rank, length, root, *hops = line.split("\t")
        self.rank, self.length, self.root = int(rank), int(length), -1 - int(root)
        self.hops = [
            None if hop == "..." else tuple(int(x, 16) for x in hop.split(">"))
            for hop in hops
        ]
        self.target = self.hops[-1][1]


def links_of(paths):
    """(from, word, to) of all hops, each once."""
    found = set()
    for path in paths:
        before = path.root
        for hop in path.hops:
            if hop and before:
                found.add((before, *hop))
            before = hop and hop[1]
    return found


def check_links(target, graph, links):
    """Every word lies in the hop before, and leads into the next one."""
    core = CoreWords(target.core)
    edges = set(graph.edges)
    for source, word, to in links:
        assert (source, to) in edges
        if source >= 0 or word:
            assert to <= core.word(word) < to + graph.own[to], hex(word)
        if source >= 0:
            assert source <= word <= source + graph.own[source] - 8, hex(word)
    core.close()


def naive_distances(graph, roots):
    """The least number of references from one of the roots to each object."""
    below = collections.defaultdict(list)
    for source, to in graph.edges:
        below[source].append(to)
    distance, level = {root: 0 for root in roots}, list(roots)
    for i in range(1, len(graph.own)):
        level = [to for v in level for to in below[v] if to not in distance]
        if not level:
            break
        distance.update(dict.fromkeys(level, i))
        level = list(dict.fromkeys(level))
    return distance


# The large heap with all kinds of pointers; a service in every release.
ROWS = [("pointers", Variant(RELEASES[-1], "default"))]
ROWS += [("roots", Variant(release, "default")) for release in RELEASES]


@pytest.mark.parametrize("program, variant", ROWS)
def test_every_object_has_a_path(farm, program, variant):
    target = farm.target(program, variant)
    graph = Graph(target)
    paths = [Path(line) for line in graph.run("--paths").splitlines()]
    assert [p.target for p in paths] == graph.objects
    check_links(target, graph, links_of(paths))
    # No root of a better rank reaches the object, and no path from one of this
    # rank is shorter.
    ranks = graph.ranks
    for rank in range(3):
        naive = naive_distances(graph, [r for r in ranks if ranks[r] == rank])
        for path in paths:
            if path.rank > rank:
                assert path.target not in naive, hex(path.target)
            elif path.rank == rank:
                assert naive[path.target] == path.length, hex(path.target)
    assert {p.rank for p in paths} >= {0, 2}
    assert program != "pointers" or len(paths) > 90_000

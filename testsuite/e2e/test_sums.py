# SPDX-License-Identifier: Apache-2.0
"""What the top of the dominator tree holds is what is reached, to the byte, on
every test program."""

import pytest

from heapgraph import Graph
from test_heapgraph import check_stripped, check_top
from toolchains import RELEASES, Variant, variants

# Those that test_heapgraph does not have, and their arguments.
OTHERS = {
    "deadlocks": ["lost"],
    "holders": [],
    "hops": [],
    "labelled": [],
    "leaks": ["leaked"],
    "profiled": [],
    "resident": [],
    "sampled": ["65536"],
    "shown": [],
    "stacks": [],
    "steady": [],
    "suspects": ["reader"],
    "waits": [],
}


@pytest.mark.parametrize("program", OTHERS)
@variants("default", releases=RELEASES[-1:])
def test_top_adds_up(farm, program, variant, tmp_path):
    target = farm.target(program, variant, args=OTHERS[program])
    graph = Graph(target)
    check_top(graph)
    check_stripped(target, graph, tmp_path)
    farm.forget(program)


@variants("c-shared", "plugin")
def test_top_of_a_library_adds_up(farm, variant, tmp_path):
    """Go code beside the executable: in a C program, and in a Go program."""
    target = farm.target("rest", variant)
    graph = Graph(target, library=target.exe.with_suffix(".so"))
    assert len(graph.objects) > 28000
    check_top(graph)
    check_stripped(target, graph, tmp_path)
    farm.forget("rest")


@variants("cgo")
def test_top_with_threads_of_c_adds_up(farm, variant, tmp_path):
    target = farm.target("cgo", variant)
    graph = Graph(target)
    check_top(graph)
    check_stripped(target, graph, tmp_path)
    farm.forget("cgo")

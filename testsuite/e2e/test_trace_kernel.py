# SPDX-License-Identifier: Apache-2.0
"""goref trace PID kernel: kernel objects of known number, until they are
freed."""

import os
import signal
import subprocess
import sys

import pytest

from session import GOREF, environment
from targets import start, unshared
from toolchains import Variant, build
from traces import MIB, PAGE, Trace, skip_unless_traced

CENTRAL = Variant("go1.24", "default")
N = 400
THREADS = 20
# A machine under load may miss some. Each is counted, and goref says so.
MOST_MISSED = N // 50
BLIND = "frees by kfree_rcu() or in bulk are not seen"

# A process that opens and closes files until its input ends.
OTHER = """
import os, select, sys
while not select.select([sys.stdin], [], [], 0)[0]:
    for _ in range(100):
        os.close(os.eventfd(0))
"""


class Objects:
    """The program testsuite/programs/descriptors. process: that has its input
    and output; pid: if its number is another one."""

    def __init__(self, process=None, pid=None):
        self.process = process or start(build("descriptors", *CENTRAL))
        self.pid = pid or self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def make(self, kind, count):
        """Make so many, or give back, and wait until that is done."""
        self.process.popen.stdin.write(f"{kind} {count}\n".encode())
        self.process.popen.stdin.flush()
        assert int(self.process.read_line()) == count


def functions_have_names():
    with open("/proc/kallsyms") as file:
        return int(file.readline().split()[0], 16) != 0


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()
    if not functions_have_names():
        pytest.skip("kernel.kptr_restrict hides the names of functions")


@pytest.fixture
def objects():
    with Objects() as program:
        yield program


def traced(objects, *changes, overhead="100"):
    """The trace in which the objects changed, and its document."""
    words = "kernel", "--every", "0.2", "--for", "10m"
    with Trace(objects.pid, *words, "--max-overhead", overhead) as trace:
        trace.interval()
        for kind, count in changes:
            objects.make(kind, count)
        trace.interval()
        trace.interval()
        return trace, trace.end(signal.SIGINT)


def rows(document, class_name, *functions):
    """The stacks of a class that have all these functions, without what the
    slab allocator takes for itself."""
    for stack in document["stacks"]:
        calls = [call["function"] for call in stack["frames"]]
        if (
            stack["class"] == class_name
            and set(functions) <= set(calls)
            and "allocate_slab" not in calls
        ):
            yield stack


def blocks(document, class_name, *functions):
    return sum(s["blocks"] for s in rows(document, class_name, *functions))


def is_near(count, wanted, document):
    """Is it the number, as far as all frees were seen?"""
    reasons = {lost["reason"] for lost in document["losses"]}
    assert reasons <= {"missed"}
    more = MOST_MISSED if reasons else 0
    return wanted <= count <= wanted + more


# Kind, class, and functions of a stack that has one block for each object.
SINGLE = [
    ("event", "kmalloc", ["do_eventfd"], 1),
    ("event", "slab", ["alloc_empty_file"], 2),  # with a block for security
    ("socket", "slab", ["sk_alloc"], 1),
    ("pipe", "pages", ["vfs_write"], 1),
]


@pytest.mark.parametrize("kept", [N, N // 2, 0])
@pytest.mark.parametrize(
    "kind, class_name, functions, most_each",
    SINGLE,
    ids=[f"{row[0]}-{row[1]}" for row in SINGLE],
)
def test_what_is_kept(objects, kind, class_name, functions, most_each, kept):
    changes = [(kind, N)]
    if kept < N:
        changes.append((kind, kept - N))
    _, document = traced(objects, *changes)
    found = [
        stack["blocks"]
        for stack in rows(document, class_name, *functions)
    ]  # fmt: skip
    if not kept:
        assert sum(found) <= MOST_MISSED
        return
    assert found and len([n for n in found if n >= kept]) <= most_each
    assert any(is_near(n, kept, document) for n in found)


def test_bytes_of_pages(objects):
    """Each pipe has a page with its data."""
    _, document = traced(objects, ("pipe", N))
    pages = list(rows(document, "pages", "vfs_write"))
    assert [stack["bytes"] for stack in pages] == [N * PAGE]


def test_threads(objects):
    """Each thread has a task of the slab."""
    _, document = traced(objects, ("thread", THREADS))
    found = rows(document, "slab", "kernel_clone")
    largest = max(found, key=lambda stack: stack["bytes"])
    # The runtime may start some of its own, or have some to spare.
    assert THREADS - 4 <= largest["blocks"] <= THREADS + 8


def test_no_memory_counts_twice(objects):
    """Pages of the slab allocator are beside the sums."""
    _, document = traced(objects, ("socket", N))
    for stack in document["stacks"]:
        calls = {call["function"] for call in stack["frames"]}
        assert stack["class"] != "pages" or "allocate_slab" not in calls
    kernel = document["kernel"]
    assert kernel["allocator_bytes"] >= N * 1000
    assert kernel["bytes"] == sum(s["bytes"] for s in document["stacks"])
    for kind in kernel["kinds"]:
        stacks = list(rows_of(document, kind["name"]))
        assert kind["bytes"] == sum(s["bytes"] for s in stacks)
        assert kind["blocks"] == sum(s["blocks"] for s in stacks)


def rows_of(document, class_name):
    return (s for s in document["stacks"] if s["class"] == class_name)


def test_pages_of_the_process_are_not_the_kernels(objects):
    """The heap of Go grows here, which rss explains."""
    _, document = traced(objects, ("heap", 64))
    growth = document["rss_after_bytes"] - document["rss_before_bytes"]
    assert growth >= 64 * MIB
    assert document["kernel"]["bytes"] < 4 * MIB


def test_frees_in_bulk(objects):
    """The kernel frees what an epoll watches by kfree_rcu()."""
    trace, document = traced(objects, ("watched", N), ("watched", -N // 2))
    found = max(
        stack["blocks"]
        for stack in rows(document, "slab", "do_epoll_ctl")
        if stack["bytes"] >= 100 * stack["blocks"]
    )
    if BLIND in trace.said:
        assert N // 2 <= found <= N
    else:
        assert is_near(found, N // 2, document)


def test_another_process_is_not_seen(objects):
    with subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=subprocess.PIPE
    ) as other:
        _, document = traced(objects)
        other.stdin.close()
    assert blocks(document, "kmalloc", "do_eventfd") == 0
    assert document["kernel"]["other_events"] > 1000


def test_a_process_of_another_namespace():
    """There its number is 1, by which the kernel's programs know it."""
    with unshared(build("descriptors", *CENTRAL)) as (process, pid):
        _, document = traced(Objects(process, pid), ("socket", N))
    found = [stack["blocks"] for stack in rows(document, "slab", "sk_alloc")]
    assert is_near(max(found), N, document)


def test_over_budget(objects):
    """Each allocation that is not seen is counted."""
    _, document = traced(
        objects, *[("event", N), ("event", -N)] * 40, overhead="0.01"
    )
    losses = {row["reason"]: row["count"] for row in document["losses"]}
    assert losses["over_budget"] > N
    assert document["unattributed_bytes"] is None
    assert document["events_with_stack"] is None
    assert document["partial"] and document["dropped"] >= losses["over_budget"]


def test_as_text(objects):
    objects.make("event", N)
    done = subprocess.run(
        [GOREF, "trace", str(objects.pid), "kernel", "--for", "0.3"],
        capture_output=True, text=True, env=environment(), timeout=100,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    assert "kernel memory that was allocated during the trace" in done.stdout
    assert "runs of the probes for other memory" in done.stdout
    assert "probes also run in all other processes" in done.stderr


def test_a_process_that_ends():
    """Its files are closed before its end is told."""
    with Objects() as objects:
        words = "kernel", "--every", "0.2", "--for", "10m"
        with Trace(objects.pid, *words, "--max-overhead", "100") as trace:
            trace.interval()
            objects.make("socket", N)
            trace.interval()
            os.kill(objects.pid, signal.SIGKILL)
            document = trace.end()
    assert "ended" in document["ended"]
    assert blocks(document, "slab", "sk_alloc") <= MOST_MISSED

# SPDX-License-Identifier: Apache-2.0
"""goref trace PID go against a program that knows its allocations
(programs/allocating). At a rate of 1 the runtime samples each of them."""

import json
import signal

import pytest

from targets import start
from toolchains import Variant, build, variant_id, variants
from tracers import Tracer, facts_of
from traces import Trace, skip_unless_traced

CENTRAL = Variant("go1.24", "default")
WORDS = ("go", "--every", "0.5s", "--for", "10m")
JOBS = {"small": (300, 1024), "large": (40, 49152), "dropped": (50, 8192)}
OUR = "main.allocate"


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


class Allocating:
    """The program, and what it has told of each job."""

    def __init__(self, variant, rate=1):
        exe = build("allocating", variant.release, variant.flavour)
        self.process = start(exe, [str(rate)])
        self.pid = self.process.pid
        self.truth = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def say(self, text):
        self.process.popen.stdin.write(text.encode() + b"\n")
        self.process.popen.stdin.flush()
        return json.loads(self.process.read_line())

    def run(self):
        for name, (count, size) in JOBS.items():
            self.truth[name] = self.say(f"{name} {count} {size}")


def rate_of(variant):
    """The rate has a symbol, and no other mark."""
    return None if variant.flavour == "stripped" else 1


@variants("default", newest=("stripped", "cgo"))
def test_each_allocation_is_a_sample(variant):
    """By its address, size and goroutine."""
    with Allocating(variant) as program:
        lines, facts = facts_of(program.pid)
        probe = facts.probe
        tracer = Tracer(
            program.pid,
            "budget 0",
            *lines,
            f"sample_probe {probe.addr:#x} {probe.pointer_register} "
            f"{probe.size_register}",
            mode="go",
        )
        program.run()
        answer = tracer.tick()
        tracer.close()
    assert facts.profile_rate == rate_of(variant) and not answer.lost()
    ours = [s for s in answer.samples if OUR in tracer.stacks[s.stack]]
    for name, (count, size) in JOBS.items():
        truth = program.truth[name]
        mine = [s for s in ours if s.goid == truth["goroutine"]]
        assert len(mine) == count
        assert {s.address for s in mine} == {*truth["addresses"]}
        assert {s.bytes for s in mine} == {size}
        assert all(s.labels for s in mine)
        # Nothing is collected meanwhile.
        assert len({s.sweepgen for s in mine}) == 1
        assert mine[0].sweepgen < 1 << 32
    assert len(ours) == sum(count for count, _ in JOBS.values())
    for sample in ours:
        assert tracer.finished[sample.stack]
        assert tracer.stacks[sample.stack][-1] == "runtime.goexit"


def by_label(document):
    """{label: [bytes, blocks, goroutines]} of what main.allocate has made."""
    found = {}
    for stack in document["stacks"]:
        functions = [call["function"] for call in stack["frames"]]
        if OUR not in functions:
            continue
        assert functions[-1] == "runtime.goexit" and stack["finished"]
        name = dict(stack["labels"])["job"]
        row = found.setdefault(name, [0, 0, []])
        row[0] += stack["bytes"]
        row[1] += stack["blocks"]
        row[2] += stack["goroutines"]
    return found


@pytest.mark.parametrize(
    "variant",
    [CENTRAL, Variant("go1.19", "default"), Variant("go1.27", "stripped")],
    ids=variant_id,
)
def test_survivors(variant):
    """All is there, but for what was dropped and collected."""
    with Allocating(variant) as program:
        with Trace(program.pid, *WORDS, "--max-overhead", "100") as trace:
            trace.interval()
            program.run()
            trace.interval()
            trace.interval()  # the labels of all samples were read
            program.say("drop dropped")
            trace.interval()
            document = trace.end(signal.SIGINT)
    assert document["mode"] == "go"
    assert document["unattributed_bytes"] is None
    assert {i["unattributed_bytes"] for i in trace.intervals} == {None}
    assert document["sample_rate_bytes"] == rate_of(variant)
    assert document["dropped"] == 0, trace.said
    assert document["samples_without_labels"] == 0
    assert by_label(document) == {
        name: [count * size, count, [program.truth[name]["goroutine"]]]
        for name, (count, size) in JOBS.items()
        if name != "dropped"
    }


CHANGES = 3000


def changed(document):
    """[(labels, bytes, blocks)] of what main.allocateOne has made."""
    return [
        (stack["labels"], stack["bytes"], stack["blocks"])
        for stack in document["stacks"]
        if "main.allocateOne" in [c["function"] for c in stack["frames"]]
    ]


@pytest.mark.parametrize(
    "variant",
    [CENTRAL, Variant("go1.19", "default"), Variant("go1.27", "stripped")],
    ids=variant_id,
)
@pytest.mark.parametrize("each", [0, 100])
def test_labels_that_change(variant, each):
    """Each label is that of its block, or is not known: its memory may be
    another's after a collection. Without one, all are known."""
    with Allocating(variant) as program:
        with Trace(program.pid, *WORDS, "--max-overhead", "100") as trace:
            trace.interval()
            program.say(f"change {CHANGES} {each}")
            trace.interval()
            document = trace.end(signal.SIGINT)
    rows = changed(document)
    assert document["dropped"] == 0, trace.said
    assert sum(blocks for *_, blocks in rows) == CHANGES
    known = [row for row in rows if row[0] is not None]
    assert known or each
    for labels, size, blocks in known:
        assert size == int(labels["size"]) * blocks
    unknown = CHANGES - sum(blocks for *_, blocks in known)
    assert document["samples_without_labels"] >= unknown
    assert each or document["samples_without_labels"] == 0


def test_estimate_at_a_rate():
    """One sample for about 16 KiB: the sum of many is near the truth."""
    with Allocating(CENTRAL, rate=16 << 10) as program:
        with Trace(program.pid, *WORDS, "--max-overhead", "100") as trace:
            trace.interval()
            program.say("many 40000 1024")
            trace.interval()
            document = trace.end(signal.SIGINT)
    size, blocks, _ = by_label(document)["many"]
    # 2,400 samples: four standard deviations are 8 %.
    assert size == pytest.approx(40000 * 1024, rel=0.09)
    assert blocks == pytest.approx(40000, rel=0.09)


def test_sampling_was_switched_off():
    """By the linker: one line, and the page faults instead."""
    process = start(build("changing", "go1.24", "cgo"))
    try:
        with Trace(process.pid, *WORDS) as trace:
            trace.interval()
            document = trace.end(signal.SIGINT)
    finally:
        process.stop()
    assert document["mode"] == "rss"
    assert trace.said.count("samples no allocations") == 1
    assert "tracing rss instead" in trace.said

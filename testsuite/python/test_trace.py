# SPDX-License-Identifier: Apache-2.0
"""goref trace: the plan of the command line, and what the helper says."""

import ctypes
import math
import os
import random
import select
import socket
import struct

import pytest
import rows

from goref import args
from goref.errors import Error
from goref.render.traced_stack import TracedFrame, TracedStack
from goref.trace import (
    cgroup,
    facts,
    findings,
    gathered as gathered_module,
    labels as labels_module,
    outside,
    plan,
    sockets,
    watch,
    written,
)
from goref.trace.gathered import Gathered
from goref.trace.helper import RECORD_BYTES, Damaged, Decoder, Message
from goref.trace.labels import LabelSets, Word
from goref.trace.stacks import UNSEEN, Frame, Stacks
from goref.verbs import STANDALONE


def planned(*words):
    parser = args.Parser(
        "goref trace", STANDALONE["trace"].options, path=str, has_quotes=False
    )
    return plan.of(parser.parse(words))


# ------------------------------------------------------------------- the plan


def test_defaults():
    found = planned("4711")
    assert found.pid == 4711 and found.mode == "rss"
    assert (found.seconds, found.every_s) == (60, 10)
    assert found.overhead == 1 and found.intervals() == 6


@pytest.mark.parametrize(
    "words, seconds, every_s, intervals",
    [
        (["--for", "25s"], 25, 10, 3),
        (["--for", "5"], 5, 5, 1),
        (["--for", "1m", "--every", "500ms"], 60, 0.5, 120),
        (["--count", "3"], 30, 10, 3),
        (["--count", "3", "--for", "2h"], 30, 10, 3),
        (["--count", "9", "--for", "20s"], 20, 10, 2),
        (["--every", "0.1", "--for", "0.3"], 0.3, 0.1, 3),
    ],
)
def test_times(words, seconds, every_s, intervals):
    found = planned("1", *words)
    assert found.seconds == pytest.approx(seconds)
    assert found.every_s == every_s
    assert found.intervals() == intervals
    assert found.end_s(intervals) == found.seconds
    assert found.end_s(1) == every_s


def test_a_command():
    found = planned("go", "--every", "1s", "--", "./server", "--for", "-v")
    assert found.pid is None and found.mode == "go"
    assert found.command == ("./server", "--for", "-v")
    assert math.isinf(found.seconds) and found.every_s == 1
    assert planned("--for", "5s", "--", "true").seconds == 5


SHARE = "--max-overhead: must be above 0 % and at most 100 %"


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "no PID given"),
        (["rss"], "PID comes first"),
        (["0"], "PID comes first"),
        (["1", "heap"], "there is no mode heap (rss, go, kernel, native)"),
        (["1", "rss", "go"], "only one mode"),
        (["1", "rss", "heap"], "there is no mode heap"),
        (["1", "kernel", "--look", "none"], "--look has no meaning in the mode kernel"),
        (["1", "kernel", "--max-pause", "9"], "--max-pause has no meaning"),
        (["--"], "no COMMAND"),
        (["1", "--", "true"], "give a PID or `-- COMMAND', not both"),
        (["x", "--", "true"], "there is no mode x"),
        (["1", "--every", "0.01"], "--every: at least 0.1s"),
        (["1", "--for", "900h"], "at most a month"),
        (["1", "--for", "0"], "not a time"),
        (["1", "--for", "1w"], "not a time"),
        (["1", "--max-overhead", "0%"], SHARE),
        (["1", "--max-overhead", "101%"], SHARE),
        (["1", "--max-overhead", "2000"], SHARE),
        (["1", "--max-overhead", "half"], "not a percentage: half"),
        (["1", "--look", "none", "--max-pause", "5"], "--max-pause"),
        (["1", "--look", "later"], "later"),
    ],
)
def test_refusals(words, said):
    with pytest.raises(args.UsageError) as problem:
        planned(*words)
    assert said in str(problem.value)


# ----------------------------------------------------------------- the helper

STREAM = (
    b"probe page faults\nready\nevents 2\n" + b"\n" * 48
    + b"stack 1 0 1 7\nsamples 0\ntick 1\nsamples 1\n" + bytes(56) + b"end\n"
)  # fmt: skip
MESSAGES = [
    Message("probe", "page faults"),
    Message("ready", ""),
    Message("events", "2", b"\n" * 48),
    Message("stack", "1 0 1 7"),
    Message("samples", "0"),
    Message("tick", "1"),
    Message("samples", "1", bytes(56)),
    Message("end", ""),
]


def test_messages_in_any_pieces():
    """Records may have the bytes of lines."""
    chance = random.Random(1)
    for _ in range(200):
        decoder, found, left = Decoder(), [], STREAM
        while left:
            size = chance.randint(1, 40)
            found += decoder.feed(left[:size])
            left = left[size:]
        assert found == MESSAGES


@pytest.mark.parametrize(
    "said", ["events x", "events -1", "samples 99999999", "x" * (1 << 17)]
)
def test_a_damaged_message(said):
    with pytest.raises(Damaged):
        list(Decoder().feed(said.encode() + b"\n" * (len(said) < 99)))


class Program:
    """A scan, and the growth of its process."""

    def __init__(self):
        self.events, self.asked = [], []

    def name_frames(self, pcs):
        self.asked += pcs
        return [
            [("main.inner", "m.go", 3, True), ("main.f", "m.go", 9, False)]
            if pc == 0x10
            else [("x_cgo_mmap", None, 0, False)] * (pc == 0x50)
            for pc in pcs
        ]

    def add_events(self, records):
        self.events.append(records)

    def labels_at(self, address):
        return [("step", f"{address:#x}")]


PLACES = (
    "file 1 /lib/lib c.so",
    "place 1 0x10 0x10 1 main.f",
    "place 2 0x20 0x120 1 operator new(unsigned long)",
    "place 3 0x30 0x130 1",
    "place 4 0x40 0x0 0",
    "place 5 0x50 0x0 0",
    "stack 1 0 2 2 1",
    "stack 4 0 1 5",
    "stack 2 1 2 3 4",
)


def take(gathered, lines):
    for line in lines:
        name, _, rest = line.partition(" ")
        gathered.take(Message(name, rest))


def test_stacks():
    gathered, program = Gathered(), Program()
    gathered.open(program, program)
    take(gathered, PLACES)
    gathered.take(Message("events", "1", bytes(RECORD_BYTES["events"])))
    assert gathered.stacks[1] == (
        (
            Frame("operator new(unsigned long)", "/lib/lib c.so"),
            Frame("main.inner", "m.go", 3),
            Frame("main.f", "m.go", 9),
        ),
        True,
    )
    assert gathered.stacks[2] == (
        (Frame("lib c.so+0x130", "/lib/lib c.so"), Frame("0x40")),
        False,
    )
    assert gathered.stacks[3] is UNSEEN
    assert program.events == [bytes(24)]
    gathered.take(Message("events", "0", b""))
    assert program.asked == [0x10, 0x20, 0x30, 0x40, 0x50]  # once
    # Go's linker took in code of C, of which no file is known.
    assert gathered.stacks[4].frames == (Frame("x_cgo_mmap"),)


def test_events_before_the_program():
    gathered, program = Gathered(), Program()
    record = struct.pack("<QIIQ", 0x1000, 1, 0, 0)
    gathered.take(Message("events", "1", record))
    assert not program.events
    gathered.open(program, program)
    assert program.events == [record]


SAMPLE = struct.Struct("<QQQQQQII").pack


def test_samples():
    """The latest sample of an address counts; labels are those of its
    sweepgen, none, or not known."""
    gathered, program = Gathered(), Program()
    gathered.open(program, program, LabelSets(program, lambda: 6))
    rows = [(16, 100, 0x99, 6), (16, 200, 0x99, 6), (32, 8, 0, 6),
            (48, 8, 0x99, 4), (64, 8, 0x99, (1 << 64) - 1)]  # fmt: skip
    records = b"".join(
        SAMPLE(at, size, 7, labels, 1, sweepgen, 1, 4)
        for at, size, labels, sweepgen in rows
    )
    gathered.take(Message("samples", "5", records))
    step = (("step", "0x99"),)
    assert [(s.bytes, s.labels) for s in gathered.samples.values()] == [
        (200, step), (8, ()), (8, None), (8, None),
    ]  # fmt: skip


def test_the_first_samples_leave(monkeypatch):
    monkeypatch.setattr(gathered_module, "_MOST_SAMPLES", 3)
    gathered, program = Gathered(), Program()
    gathered.open(program, program)
    records = b"".join(SAMPLE(i, 8, 7, 0, 1, 6, 1, 4) for i in range(5))
    gathered.take(Message("samples", "5", records))
    assert [*gathered.samples] == [2, 3, 4]
    assert gathered.all_lost == {"table_full": 2}


class Labelled:
    """A program whose labels are read. changing: the sweepgen changes as they
    are."""

    def __init__(self):
        self.sweepgen, self.changing, self.read, self.text = 6, False, 0, "v"

    def labels_at(self, address):
        self.read += 1
        self.sweepgen += 2 * self.changing
        return [("step", self.text)] if address != 0x77 else []


def test_labels_are_proven():
    program = Labelled()
    sets = LabelSets(program, lambda: program.sweepgen)
    first = (("step", "v"),)
    sets.learn([(0x99, 6), (0x99, 6), (0x99, 4), (0x77, 6)])
    assert program.read == 2
    assert sets.at(0x99, 6) == first
    assert sets.at(0x99, 4) is None and sets.at(0x77, 6) is None
    # The address is used again, and a sample of before comes late.
    program.sweepgen, program.text = 8, "w"
    sets.learn([(0x99, 8), (0x99, 6)])
    assert sets.at(0x99, 8) == (("step", "w"),)
    assert sets.at(0x99, 6) == first
    program.changing = True
    sets.learn([(0x55, 8), (0x66, 8)])
    assert sets.at(0x55, 8) is None and sets.at(0x66, 8) is None


def test_labels_without_a_sweepgen():
    """The memory of the process cannot be read."""
    program = Labelled()
    sets = LabelSets(program, lambda: None)
    sets.learn([(0x99, 6)])
    assert sets.at(0x99, 6) is None and not program.read


def test_labels_of_a_process_that_ends():
    """Its memory goes between the look at the sweepgen and the labels."""
    program = Labelled()
    sets = LabelSets(program, lambda: program.sweepgen)
    program.labels_at = ended
    sets.learn([(0x99, 6)])
    assert sets.at(0x99, 6) is None


def ended(address):
    raise Error("there is no process 1")


def test_labels_have_a_limit(monkeypatch):
    monkeypatch.setattr(labels_module, "_MOST_BYTES", 1000)
    program = Labelled()
    sets = LabelSets(program, lambda: program.sweepgen)
    for at in range(8):
        program.text = str(at % 4)
        sets.learn([(at, 6)])
    known = [sets.at(at, 6) for at in range(8)]
    assert known[0] == known[4] == (("step", "0"),)
    assert known[2:4] == [None, None]
    monkeypatch.setattr(labels_module, "_MOST_CACHED", 8)
    sets.learn([(9, 6)])
    assert sets.at(0, 6) is None


def test_a_word_of_memory():
    number = ctypes.c_uint32(4711)
    assert Word(os.getpid(), ctypes.addressof(number)).read() == 4711
    assert Word(os.getpid(), 0).read() is None
    assert Word(os.getpid(), 1 << 63).read() is None
    assert Word(1 << 30, 16).read() is None


def test_losses_and_costs():
    gathered = Gathered()
    take(gathered, ["lost ring_full 3", "cost 10 2000 500", "lost ring_full 1"])
    cost = gathered.take_cost()
    assert (cost.events, cost.bpf_ns, cost.lost["ring_full"]) == (10, 2000, 4)
    assert gathered.take_cost().events == 0
    assert gathered.all_lost == {"ring_full": 4}
    take(gathered, ["off 1200", "off 34"])
    assert gathered.take_cost().off_ms == 1234
    take(gathered, ["off 6"])
    assert (gathered.take_cost().off_ms, gathered.all_off_ms) == (6, 1240)
    take(gathered, ["gone process 7 has ended"])
    assert gathered.gone == "process 7 has ended"


# --------------------------------------------------------------------- numbers


@pytest.mark.parametrize("size", [1, 96, 4096, 1 << 20, 1 << 30])
def test_weight_of_a_sample(size):
    """Bytes are sampled as a Poisson process of one event in `rate` bytes."""
    rate = 512 << 10
    chance = 1 - math.exp(-size / rate)
    assert findings.weight(size, rate) == pytest.approx(1 / chance)
    assert findings.weight(size, 1) == 1
    assert findings.weight(size, 0) == 1


def stacks():
    call = TracedFrame("main.f", "m.go", 3), TracedFrame("main.main", "m.go", 9)
    return [
        TracedStack(call, 8192, 2, "go_heap", "", "main.T", None, "main.x",
                    rss_class="go_heap_live"),
        TracedStack(call[1:], 4096),
        TracedStack([TracedFrame("a;b c", "lib.so", 0)], 1, None, "c_heap"),
        TracedStack([], 5),
    ]  # fmt: skip


def test_folded():
    assert written.folded(stacks()).splitlines() == [
        "main.main;main.f;[go_heap_live] 8192",
        "main.main 4096",
        "a:b c;[c_heap] 1",
        "[no stack] 5",
    ]


def test_tree():
    """Each stack is a path from the outermost call, once for its labels."""
    tree = written._Tree()
    for stack in [*stacks(), *stacks()]:
        tree.add(stack)
    assert sum(node[4] for node in tree.nodes) == 2 * (8192 + 4096 + 1 + 5)
    assert all(node[0] < at for at, node in enumerate(tree.nodes))
    assert len(tree.nodes) == 5 and len(tree.sets) == 3


# ------------------------------------------------- beside the resident pages


def written_under(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


V2 = "25 1 0:24 {} /cg rw - cgroup2 cgroup2 rw\n"
V1 = "30 1 0:29 {} /v1 rw - cgroup cgroup rw,memory\n"


def test_group_of_version_2(tmp_path):
    written_under(tmp_path, {
        "proc/self/mountinfo": "1 2 0:1 / / rw - ext4 x rw\n" + V2.format("/"),
        "proc/7/cgroup": "0::/app/one\n",
        "cg/app/one/memory.current": "9000\n",
        "cg/app/one/memory.stat": "anon 5000\nsock 70\nslab 800\nslab_x 1\n",
    })  # fmt: skip
    found = cgroup.find(7, f"{tmp_path}/proc", str(tmp_path))
    assert found == (f"{tmp_path}/cg/app/one", "/app/one", True)
    counts = cgroup.read(found)
    assert counts.bytes == 9000 and counts.parts == {"sock": 70, "slab": 800}


def test_group_of_version_1_below_a_root(tmp_path):
    """A container mounts a part of the hierarchy. That of version 2 counts no
    memory beside it."""
    written_under(tmp_path, {
        "proc/self/mountinfo": V2.format("/") + V1.format("/docker/x"),
        "proc/7/cgroup": "4:memory,cpu:/docker/x/app\n0::/\n",
        "v1/app/memory.usage_in_bytes": "500\n",
        "v1/app/memory.stat": "cache 100\nrss 3\n",
        "v1/app/memory.kmem.usage_in_bytes": "60\n",
    })  # fmt: skip
    found = cgroup.find(7, f"{tmp_path}/proc", str(tmp_path))
    assert found == (f"{tmp_path}/v1/app", "/docker/x/app", False)
    assert cgroup.read(found).parts == {"cache": 100, "kernel": 60}


@pytest.mark.parametrize("name", ["/../x", "x", ""])
def test_a_group_that_is_not_seen(tmp_path, name):
    written_under(tmp_path, {
        "proc/self/mountinfo": V2.format("/") + "damaged\n - a b\n",
        "proc/7/cgroup": f"0::{name}\n:\n",
        "memory.current": "1\n",
    })  # fmt: skip
    assert cgroup.find(7, f"{tmp_path}/proc", str(tmp_path)) is None
    assert cgroup.find(8, f"{tmp_path}/proc", str(tmp_path)) is None


def test_sockets_of_a_process():
    """Data that nobody has received yet is memory of the kernel."""
    one, other = socket.socketpair()
    with one, other:
        if sockets.bytes_of(os.getpid()) is None:
            pytest.skip("the kernel has no sock_diag, or not all of it")
        before = sockets.bytes_of(os.getpid())
        one.send(b"x" * 50000)
        grown = sockets.bytes_of(os.getpid()) - before
        if not grown:
            pytest.skip("the kernel has no unix_diag")
        assert 50000 <= grown < 200000
        while other.recv(1 << 20, socket.MSG_DONTWAIT) and _is_readable(other):
            pass
        assert sockets.bytes_of(os.getpid()) - before < grown / 2


def _is_readable(one):
    return bool(select.select([one], [], [], 0)[0])


def test_a_damaged_answer_of_the_kernel():
    for answer in (b"", b"\0" * 3, b"\0" * 8, b"\xff" * 8, b"\4\0\5\0" * 9):
        assert sockets.memory_of(answer, 0, 5) is None


class Link:
    """A netlink socket: the request `refused' has an error, and the last one
    has a socket with the inode 7 and 800 bytes."""

    def __init__(self, refused):
        self.refused = refused
        self.requests = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def settimeout(self, seconds):
        pass

    def send(self, data):
        self.requests += 1

    def recv(self, most):
        done = sockets._HEAD.pack(16, 3, 0, 1, 0)
        if self.requests == self.refused:
            return sockets._HEAD.pack(36, 2, 0, 1, 0) + bytes(20)
        if self.requests < 4:
            return done
        body = struct.pack("=II8x", 0, 7) + struct.pack("=HH8I", 36, 5, 800, *[0] * 7)
        return sockets._HEAD.pack(16 + len(body), 20, 0, 1, 0) + body + done


@pytest.mark.parametrize(
    "inodes, refused, size",
    [({7}, None, 800), ({7}, 0, 800), ({7}, 4, None), ({7, 8}, 0, None), (set(), 4, 0)],
)
def test_a_refusal_of_the_kernel(monkeypatch, inodes, refused, size):
    """Sockets that nobody counts make the sum unknown."""
    monkeypatch.setattr(sockets, "_inodes", lambda pid: inodes)
    monkeypatch.setattr(sockets.socket, "socket", lambda *_: Link(refused))
    assert sockets.bytes_of(os.getpid()) == size


def test_sockets_of_a_namespace_that_does_not_answer(monkeypatch):
    """The trace goes on without their number."""

    def hang(*_, timeout, **__):
        raise sockets.subprocess.TimeoutExpired("python3", timeout)

    monkeypatch.setattr(sockets.os.path, "samestat", lambda *_: False)
    monkeypatch.setattr(sockets.subprocess, "run", hang)
    assert sockets.bytes_of(os.getpid()) is None


def test_sockets_that_cannot_be_listed():
    """No sockets are not known to be none."""
    assert sockets.bytes_of(0) is None


def test_changes_beside_the_pages():
    def at(group, *levels):
        return outside.Outside(group, 1, levels)

    before = at("/a", outside.Level("sockets", "s", "process", 10),
                outside.Level("slab", "t", "cgroup", 7))  # fmt: skip
    after = at("/a", outside.Level("sockets", "s", "process", 30),
               outside.Level("slab", "t", "cgroup", 5))  # fmt: skip
    found = outside.changes(before, after)
    assert [row.growth_bytes for row in found] == [20, -2]
    moved = outside.changes(before, after._replace(group="/b"))
    assert [row.name for row in moved] == ["sockets"]
    assert outside.read(os.getpid()).levels[0].bytes > 0


def test_rows_that_read_alike():
    """Two code addresses of one line are one row."""
    rows = [row._replace(frames=[*row.frames]) for row in stacks() * 2]
    found = findings._merged(rows)
    assert [row.bytes for row in found] == [16384, 8192, 10, 2]
    assert [row.blocks for row in found] == [4, 0, 0, 0]


@pytest.mark.parametrize("words", [[], ["--for", "5"], ["--for", "1h"]])
def test_budget_of_the_whole_trace(words):
    """With what is there at the start, it is four fifths of the limit."""
    found = planned("1", *words)
    spent = facts.budget_ppm(found) / 1e6 * (found.seconds + 10)
    assert spent == pytest.approx(0.008 * found.seconds, rel=1e-3)
    assert facts.budget_ppm(planned("--", "x")) == 8000


# ---------------------------------------------------------------- the findings


class Watched:
    """The outcome of a trace, as far as losses are counted."""

    def __init__(self, by_helper, by_scanner):
        self.gathered = Gathered()
        self.gathered.all_lost.update(by_helper)
        self.after = rows.make("GrowthTick", lost_events=by_scanner)


def test_losses_of_all():
    """Those of the helper, and those of the scanner's tables."""
    lost = findings.losses(Watched({"no_stack": 3, "table_full": 4}, 5))
    assert [(row.reason, row.count) for row in lost] == [("table_full", 9)]
    assert findings.losses(Watched({"no_stack": 3}, 0)) == []


def test_losses_of_an_interval():
    before, after = (rows.make("GrowthTick", lost_events=n) for n in (2, 7))
    it = watch.Interval(1, 0.0, 1.0, before, after, 9, {"missed": 1}, 0.0)
    assert findings.interval(it, "rss").dropped == 6

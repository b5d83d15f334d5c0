# SPDX-License-Identifier: Apache-2.0
"""goref export: other tools read the files, and find in them what the program
says of itself and what the walk has counted."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter, defaultdict

import pytest

import hprof
import hprof_format
from devtools import DevTools
from session import GOREF, TIMEOUT, environment, one_line, run_cli
from targets import attach_reason, skip_if
from toolchains import Variant, variants
from waiting import comes, has_file_in

CENTRAL = Variant("go1.24", "default")
SESSIONS = 300


def export(target, format_, path):
    done = run_cli(
        ["core", *target.gdb_args, "export", "--format", format_, path]
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{path}: ")
    return path


def reached(target):
    done = run_cli(["core", *target.gdb_args, "scan", "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["reached"]


def read_lines(path):
    """The objects of a file of JSON lines, by address."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {int(row["address"], 16): row for row in rows}


@pytest.fixture(scope="module")
def exported(farm, tmp_path_factory):
    """exported(variant): the target, and its objects as JSON lines."""
    made = {}

    def make(variant):
        if variant not in made:
            target = farm.target("leaky", variant, args=[str(SESSIONS)])
            folder = tmp_path_factory.mktemp("export")
            path = export(target, "jsonl", folder / "objects.jsonl")
            made[variant] = target, read_lines(path)
        return made[variant]

    return make


# --------------------------------------------------------------------- jsonl


def add_up(objects, bytes_of):
    """The retained bytes of each object: all below it in the dominator tree."""
    below = defaultdict(list)
    for address, row in objects.items():
        above = row["dominator"]
        below[int(above, 16) if above else None].append(address)
    order = list(below[None])
    for address in order:  # grows
        order += below[address]
    assert len(order) == len(objects)
    sums = {address: bytes_of(address) for address in order}
    for address in reversed(order):
        above = objects[address]["dominator"]
        if above:
            sums[int(above, 16)] += sums[address]
    return sums


@variants(newest=("default",))
def test_json_lines_add_up(exported, variant):
    target, objects = exported(variant)
    told = reached(target)
    assert len(objects) == told["objects"]
    assert sum(r["slot_bytes"] for r in objects.values()) == told["bytes"]
    assert list(objects) == sorted(objects)
    types = Counter(row["type"] for row in objects.values())
    assert types["main.Session"] == target.truth["sessions"] == SESSIONS
    assert types["main.page"] == target.truth["pages"]
    sums = add_up(objects, lambda a: objects[a]["slot_bytes"])
    assert sums == {a: r["retained_bytes"] for a, r in objects.items()}
    for row in objects.values():
        for reference in row["references"]:
            assert int(reference["address"], 16) in objects


@variants("default", releases=("go1.24",))
def test_names_are_those_of_the_fields(farm, variant, tmp_path):
    """The program says over which field each of its leaves is reached."""
    target = farm.target("hops", variant)
    objects = read_lines(export(target, "jsonl", tmp_path / "o.jsonl"))
    leading = defaultdict(set)
    for row in objects.values():
        for reference in row["references"]:
            leading[int(reference["address"], 16)].add(reference["name"])
    # Those without a referrer here are fields of package variables.
    wanted = {
        int(hop["target"], 16): {*hop["name"].split("|"), hop.get("instead")}
        for hop in target.truth["hops"]
        if hop["name"].startswith(".") and '"' not in hop["name"]
        and int(hop["target"], 16) in leading
    }  # fmt: skip
    assert len(wanted) > 20
    wrong = {
        a: (leading[a], wanted[a]) for a in wanted if not leading[a] & wanted[a]
    }
    assert wrong == {}


def test_no_values(farm, tmp_path):
    """Keys of maps, texts and numbers stay out of all files."""
    target = farm.target("rest", CENTRAL)
    for format_ in ("jsonl", "hprof"):
        data = export(target, format_, tmp_path / format_).read_bytes()
        for secret in (b"session3", b"user17", b"event2", b"value9"):
            assert secret not in data


# --------------------------------------------------------------------- hprof


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    skip_if(hprof.reason())
    return hprof.Reader(tmp_path_factory.mktemp("java"))


def differences(objects, dump):
    """Objects whose references are others in the dump."""
    return [
        hex(address)
        for address, row in objects.items()
        if sorted(int(r["address"], 16) for r in row["references"])
        != sorted(number for _, number in dump.objects[address]["references"])
    ]


def miscounted(objects, dump):
    """VisualVM counts an object that a root holds for its referrer, too, if it
    has only one (TreeObject.checkInstance() does not ask for roots): the
    objects whose retained sizes may have that."""
    referrers = defaultdict(set)
    for address, row in objects.items():
        for reference in row["references"]:
            referrers[int(reference["address"], 16)].add(address)
    rooted = {r["to"] for r in dump.roots if r["to"] in objects}
    found = set()
    for address in rooted:
        above = list(referrers[address])
        if len(above) != 1:
            continue
        [at] = above
        while at is not None and at not in found:
            found.add(at)
            dominator = objects[at]["dominator"]
            at = int(dominator, 16) if dominator else None
    return found


def check_retained(objects, dump):
    """Sizes are those of the reader, what they add up to is ours."""
    sums = add_up(objects, lambda a: dump.objects[a]["bytes"])
    doubtful = miscounted(objects, dump)
    assert len(doubtful) < len(objects) / 10
    wrong = {
        hex(a): (sums[a], dump.objects[a]["retained"]) for a in objects
        if a not in doubtful and sums[a] != dump.objects[a]["retained"]
    }  # fmt: skip
    assert wrong == {}


def frame_of(dump, root):
    """Package and function of the frame that holds a local variable."""
    return dump.threads[root["thread"]]["frames"][root["frame"]][:2]


@variants(newest=("default",))
def test_java_heap_dump(exported, java, tmp_path, variant):
    target, objects = exported(variant)
    path = export(target, "hprof", tmp_path / "heap.hprof")
    hprof_format.Dump(path)
    dump = java.read(path)
    truth = target.truth
    assert dump.instances("main.Session") == truth["sessions"] == SESSIONS
    assert dump.instances("main.page") == truth["pages"]
    # All references, and what is alive because of what.
    assert set(objects) <= set(dump.objects)
    assert differences(objects, dump) == []
    check_retained(objects, dump)
    # Sizes are those of the slots, where the headers of Java leave room.
    for address, row in objects.items():
        found = dump.objects[address]
        slot = row["slot_bytes"]
        if found["length"] < 0:
            assert found["bytes"] == slot
        else:
            assert slot <= found["bytes"] <= slot + 24 or slot < 24
    # Package variables.
    statics = dump.statics("main")
    assert dump.objects[statics["sessionsByToken"]]["type"].startswith(
        "map[string]*main.Session"
    )
    # Those of the runtime have names, too, and are roots of their own kind.
    statics = dump.statics("runtime")
    unknown = {root["to"] for root in dump.roots if root["root"] == "unknown"}
    assert {"allm", "allp", "allgs"} <= set(statics)
    assert {statics["allm"], statics["allp"]} <= unknown
    # Goroutines, and the locals of their frames.
    waiting = [
        t for t in dump.threads.values()
        if ["main", "handle"] in [frame[:2] for frame in t["frames"]]
    ]  # fmt: skip
    assert len(waiting) == truth["goroutines"]
    assert all(t["name"].startswith("goroutine ") for t in waiting)
    held = [
        root for root in dump.roots
        if root["root"] == "Java frame"
        and dump.objects[root["to"]]["type"] == "main.request"
    ]  # fmt: skip
    assert len({root["thread"] for root in held}) == truth["goroutines"]
    assert {tuple(frame_of(dump, root)) for root in held} == {
        ("main", "handle")
    }


@variants("default", releases=("go1.24",), newest=("stripped",))
def test_references_of_other_roots(farm, java, tmp_path, variant):
    """Finalizers, timers, closures; and a program without debug
    information."""
    target = farm.target("roots", variant)
    objects = read_lines(export(target, "jsonl", tmp_path / "o.jsonl"))
    path = export(target, "hprof", tmp_path / "heap.hprof")
    hprof_format.Dump(path)
    dump = java.read(path)
    assert differences(objects, dump) == []
    check_retained(objects, dump)


def held_at(objects, address):
    """The object that a root holds, and that an object hangs on alone."""
    while objects[address]["dominator"]:
        address = int(objects[address]["dominator"], 16)
    return address


@variants(newest=("default", "noopt"))
def test_roots_have_their_kinds(farm, variant, tmp_path):
    """Objects are held by a local variable, for a timer, for a finalizer
    and for a cleanup; and each record of the file is as its format says."""
    target = farm.target("roots", variant)
    objects = read_lines(export(target, "jsonl", tmp_path / "o.jsonl"))
    path = export(target, "hprof", tmp_path / "heap.hprof")
    dump = hprof_format.Dump(path)
    kinds = {"holdReceive": "Java frame", "holdSend": "Java frame",
             "holdPanic": "Java frame", "holdRecovered": "Java frame",
             "goClosure": "Java frame", "timer.leaf": "monitor used",
             "cleanup.leaf": "JNI global"}  # fmt: skip
    for name in kinds.keys() & target.places.keys():
        at = held_at(objects, int(target.places[name], 16))
        found = {k for k in dump.kinds() if at in dump.rooted(k)}
        assert kinds[name] in found, (name, found)
    # The variable belongs to its own call.
    at = held_at(objects, int(target.places["holdReceive"], 16))
    calls = {
        dump.call(thread, frame) for kind, key, more in dump.roots
        if key == at and kind == "Java frame" for thread, frame in [more]
    }  # fmt: skip
    assert calls == {"holdReceive"}
    # The finalizers of three objects are closures.
    finalizers = {
        a for a, row in objects.items()
        if (row["type"] or "").endswith("main.finalizeWith.func1")
    }  # fmt: skip
    assert len(finalizers) == 3 and finalizers <= dump.rooted("JNI global")


@pytest.mark.parametrize("damage", ("torn", "dangling", "twice"))
def test_the_format_is_checked(exported, tmp_path, damage):
    """The checker sees what is wrong."""
    target, objects = exported(CENTRAL)
    path = export(target, "hprof", tmp_path / "heap.hprof")
    hprof_format.Dump(path)
    data = path.read_bytes()
    wanted = next(
        int(row["references"][0]["address"], 16) for row in objects.values()
        if row["type"] == "main.Session"
    ).to_bytes(8, "big")  # fmt: skip
    other = next(iter(objects)).to_bytes(8, "big")
    path.write_bytes({
        "torn": data[: len(data) // 2],
        "dangling": data.replace(wanted, b"\0\1" + wanted[2:], 1),
        "twice": data.replace(wanted, other),
    }[damage])  # fmt: skip
    with pytest.raises(AssertionError):
        hprof_format.Dump(path)


@variants("default", releases=("go1.24",))
def test_calls_are_those_of_the_goroutines(farm, java, tmp_path, variant):
    target = farm.target("waits", variant)
    dump = java.read(export(target, "hprof", tmp_path / "heap.hprof"))
    done = run_cli(
        ["core", *target.gdb_args, "goroutines", "--system", "--exec", "bt",
         "--json", "--limit", "0"]
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = {g["id"]: g for g in json.loads(done.stdout)["goroutines"]}
    threads = {t["goid"]: t for t in dump.threads.values() if t["goid"]}
    assert set(threads) == set(told)
    for number, thread in threads.items():
        assert [
            (f"{package}.{method}", file, line)
            for package, method, file, line in thread["frames"]
        ] == [(c["function"].replace("/", "."), c["file"], c["line"])
              for c in told[number]["frames"]]  # fmt: skip


# -------------------------------------------------------------- heapsnapshot


@pytest.fixture(scope="module")
def devtools():
    reader = DevTools()
    yield reader
    reader.end()


@variants(newest=("default",))
def test_snapshot(exported, tmp_path, devtools, variant):
    """Objects come behind the top, in the order of addresses."""
    target, objects = exported(variant)
    path = export(target, "heapsnapshot", tmp_path / "heap.heapsnapshot")
    top, *nodes = devtools.read(path)
    assert top["retained"] == reached(target)["bytes"]
    ids = {address: node["id"] for address, node in zip(objects, nodes)}
    for (address, row), node in zip(objects.items(), nodes):
        assert node["bytes"] == row["slot_bytes"]
        assert node["retained"] == row["retained_bytes"], hex(address)
        assert [edge[2] for edge in node["edges"]] == [
            ids[int(r["address"], 16)] for r in row["references"]
        ]
    found = Counter(node["name"] for node in nodes)
    assert found["main.Session"] == target.truth["sessions"]
    assert found["main.page"] == target.truth["pages"]
    fields = {
        name for node in nodes if node["name"] == "main.Session"
        for kind, name, _ in node["edges"] if kind == "property"
    }  # fmt: skip
    assert fields == {
        reference["name"].removeprefix(".")
        for row in objects.values() if row["type"] == "main.Session"
        for reference in row["references"]
    }  # fmt: skip
    roots = {node["name"]: node for node in nodes[len(objects) :]}
    assert {"main.sessionsByToken", "package variables"} <= set(roots)


@variants("default", releases=("go1.24",))
def test_merged_snapshot(farm, tmp_path, request, variant):
    """More nodes than its tools can deal with: one for each type."""
    count = 550000
    target = farm.target("counter", variant, args=[str(2 * count)])
    path = tmp_path / "heap.heapsnapshot"
    done = run_cli(
        ["core", *target.gdb_args, "export", "--format", "heapsnapshot", path]
    )
    assert done.returncode == 0, done.stderr
    assert "more than a million nodes: merged into " in done.stdout
    document = json.loads(path.read_text())
    names, rows = document["strings"], document["nodes"]
    nodes = [rows[i : i + 7] for i in range(0, len(rows), 7)]
    assert len(nodes) == document["snapshot"]["node_count"] < 1000
    [link] = [n for n in nodes if names[n[1]] == "main.Link"]
    assert link[3] == count * 24
    assert sum(n[3] for n in nodes) == reached(target)["bytes"]
    [top, *_] = request.getfixturevalue("devtools").read(path)
    assert top["retained"] == reached(target)["bytes"]


# -------------------------------------------------------------- folded, dot


@variants("default", releases=("go1.24",))
def test_folded(exported, tmp_path, variant):
    target, _ = exported(variant)
    path = export(target, "folded", tmp_path / "stacks")
    lines = [x.rpartition(" ") for x in path.read_text().splitlines()]
    assert sum(int(size) for _, _, size in lines) == reached(target)["bytes"]
    stacks = [stack for stack, _, _ in lines]
    assert len(stacks) == len({*stacks})
    environment = {**os.environ, "LC_ALL": "C"}
    subprocess.run(["sort", "-c", path], env=environment, check=True)


@variants("default", releases=("go1.24",))
def test_dot(exported, tmp_path, variant):
    target, _ = exported(variant)
    path = export(target, "dot", tmp_path / "graph.dot")
    text = path.read_text()
    assert "main.sessionsByToken" in text and "main.Session" in text
    assert "(0.0 %)" not in text
    boxes = {*re.findall(r"^  (n\d+\w*|top\w*) \[", text, re.M)}
    edges = re.findall(r"^  (\w+) -> (\w+)", text, re.M)
    assert boxes == {"top"} | {to for _, to in edges}
    assert {at for at, _ in edges} <= boxes
    if not shutil.which("dot"):
        pytest.skip("no dot: apt-get install graphviz")
    subprocess.run(["dot", "-Tsvg", "-O", path], check=True)


# -------------------------------------------------------------------- errors


@pytest.mark.parametrize("format_", ["hprof", "jsonl"])
def test_nothing_is_left_of_a_failure(exported, tmp_path, format_):
    """A limit of the size of files stands for a full disk."""
    target, _ = exported(CENTRAL)
    path = tmp_path / "out"
    path.write_text("before")
    line = [GOREF, "core", *target.gdb_args, "export", "--format", format_,
            path]  # fmt: skip
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 16; trap "" XFSZ; exec "$@"', "sh", *line],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
    )
    one_line(done, 1, f"cannot write {path}: File too large")
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]


def test_interrupt(farm, tmp_path):
    """Ctrl-C while the file is being written: nothing is left of it."""
    target = farm.target("counter", CENTRAL, args=["1100000"])
    path = tmp_path / "out"
    goref = subprocess.Popen(
        [GOREF, "core", *target.gdb_args, "export", "--format", "jsonl", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert comes(lambda: has_file_in(goref.pid, tmp_path, 1))
    assert os.listdir(tmp_path) == []
    goref.send_signal(signal.SIGINT)
    goref.communicate(timeout=TIMEOUT)
    assert goref.returncode in (1, -signal.SIGINT)
    assert os.listdir(tmp_path) == []


def test_process(farm, java, tmp_path):
    skip_if(attach_reason())
    target = farm.target("leaky", CENTRAL, "live", args=[str(SESSIONS)])
    path = tmp_path / "heap.hprof"
    done = run_cli(
        ["attach", target.process.pid, "export", "--format", "hprof", path]
    )
    assert done.returncode == 0, done.stderr
    dump = java.read(path)
    assert dump.instances("main.Session") == target.truth["sessions"]

# SPDX-License-Identifier: Apache-2.0
"""goref leaks: by Go's own tests, by the runtime's own verdict, and by a plain
mark."""

import json
import os
import re
import shutil
import subprocess

import pytest

import mutate
from heapgraph import Graph
from leaksuite import PROFILES, build_suite, expected
from asking import SCANNER
from session import run_cli, run_goref
from targets import GDB, Target, attach_reason, kernel_core, kernel_cores_reason
from targets import skip_if, start
from toolchains import RELEASES, Variant, variants

CENTRAL = Variant("go1.24", "default")
SETTINGS = {"GOMAXPROCS": "1", "GODEBUG": "asyncpreemptoff=1"}


def asked(exe, core, *words):
    """The document, and the ids of what has leaked."""
    done = run_cli(["core", exe, core, "leaks", "--json", *words])
    assert done.returncode == 0, done.stderr
    return Document(done.stdout)


class Document(dict):
    def __init__(self, text):
        super().__init__(json.loads(text))
        self.ids = [i for group in self["groups"] for i in group["ids"]]
        assert len(self.ids) == len(set(self.ids)) == self["leaked"]
        for group in self["groups"]:
            assert group["count"] == len(group["ids"])


@pytest.fixture(scope="module")
def suite():
    """suite(release, when): a process in which Go's own cases have leaked, and
    the runtime has said what it finds `before', if ever."""
    skip_if(kernel_cores_reason())
    processes = []

    def begin(release, when):
        arguments = [when, *expected()]
        process = start(build_suite(release), arguments, SETTINGS)
        processes.append(process)
        process.rest()
        return process

    yield begin
    for process in processes:
        process.stop()


def reasons(group):
    """As the newest release writes them."""
    if group["wait_reason"] != "semacquire":
        return [group["wait_reason"]]
    return {
        "Mutex": ["sync.Mutex.Lock"],
        "RWMutex": ["sync.RWMutex.RLock", "sync.RWMutex.Lock"],
        "WaitGroup": ["sync.WaitGroup.Wait"],
    }[group["awaited"]]


def leak_lines(groups, all_names):
    """`FUNCTION( [REASON]', for each way to write it."""
    return [
        [
            f"{name}( [{reason}]"
            for name in all_names[group["ids"][0]]
            for reason in reasons(group)
        ]
        for group in groups
    ]


def calls_of(exe, core, groups):
    ids = [group["ids"][0] for group in groups]
    commands = [f"goref goroutine {i} --depth 0 --json" for i in ids]
    run = run_goref(Target("core", exe, {}, core=core), commands)
    found = {}
    for at, number in enumerate(ids):
        calls = [frame["function"] for frame in run.json(at)["frames"]]
        mine = [name for name in calls if not name.startswith("runtime.")]
        found[number] = [name.removeprefix("main.") for name in mine[-2:]]
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_go_suite(suite, release):
    """Leaks that Go's own tests expect, and no others. The runtime has not
    looked for leaks before."""
    process = suite(release, "never")
    core = kernel_core(process)
    ran = set(process.truth["Ran"])
    assert len(ran) > 40
    wanted = {leak for case in ran for leak in expected()[case]}
    document = asked(process.exe, core)
    assert document["unproven"] == 0 and document["leaked"] > 2000
    groups = document["groups"]
    all_lines = leak_lines(groups, calls_of(process.exe, core, groups))
    found = set()
    for lines in all_lines:
        matching = {
            leak for leak in wanted for line in lines if re.search(leak, line)
        }
        assert matching, lines
        found |= matching
    assert found == wanted


def runtime_leaks(process):
    """The leaks that the runtime found. Go 1.26 counts a main() that ends with
    an empty select; Go 1.27 and goref do not."""
    return set(map(int, process.truth["Leaked"])) - {1}


@pytest.mark.parametrize("release", [r for r in RELEASES if r in PROFILES])
def test_runtime_verdict(suite, release, tmp_path):
    """The same goroutines as in the runtime's own profile: while the runtime
    looks for leaks again, when it hides pointers from its mark, and behind that,
    when those goroutines have a status of their own."""
    skip_if(attach_reason())
    process = suite(release, "before")
    during = tmp_path / "during"
    asks = [
        "break runtime.findGoroutineLeaks",
        f"shell echo > /proc/{process.pid}/fd/0",
        "continue",
        f"gcore {during}",
        "delete",
        "detach",
    ]
    gdb = [GDB, "-nx", "-batch", "-iex", "set auto-load python-scripts off",
           "-iex", "set debuginfod enabled off", "-p", str(process.pid)]  # fmt: skip
    for command in asks:
        gdb += ["-ex", command]
    done = subprocess.run(gdb, capture_output=True, text=True, timeout=100)
    assert "hit Breakpoint 1" in done.stdout, done.stdout + done.stderr
    subprocess.run(["fallocate", "-d", during], check=False)
    process.rest()
    for core in during, kernel_core(process):
        assert runtime_leaks(process) == set(asked(process.exe, core).ids)


@variants("default", "stripped", newest=["noopt"])
def test_leaks(farm, variant):
    target = farm.target("leaks", variant, args=["leaked"])
    document = asked(target.exe, target.core)
    groups = {group["function"]: group for group in document["groups"]}
    assert len(groups) == len(document["groups"]) == len(target.truth)
    assert document["unproven"] == 0
    for fact in target.truth:
        group = groups[fact["Function"]]
        assert group["count"] == fact["Count"]
        assert group["created_by"] == "main.begin"
        assert group["file"].endswith("leaked.go") and group["line"] > 0
        # The channel in which a goroutine waits is freed with it.
        assert group["retained_bytes"] >= fact["Count"] * fact["Bytes"]
    assert groups["main.sendForever"]["element_type"] == "*main.payload"
    assert groups["main.selectForever"]["awaited_count"] == 40
    # Memory that two groups share is in neither, but in the total.
    parts = sum(group["retained_bytes"] for group in document["groups"])
    assert 60000 < document["retained_bytes"] - parts < 100000


@variants("default")
def test_bytes(farm, variant):
    """To the byte what a plain mark loses without the groups."""
    target = farm.target("leaks", variant, args=["leaked"])
    document = asked(target.exe, target.core)
    graph = Graph(target)
    vertex = {
        int(number): graph.others[int(at)]
        for at, number in map(
            str.split, graph.walked("--vertices").splitlines()
        )
    }
    sets = [[vertex[i] for i in g["ids"]] for g in document["groups"]]
    lost = graph.lost([*sets, [vertex[i] for i in document.ids]])
    assert lost == [
        *(group["retained_bytes"] for group in document["groups"]),
        document["retained_bytes"],
    ]


@variants("default", "stripped", newest=["cgo"])
def test_quiet(farm, variant):
    """Goroutines that can still be woken, by whatever."""
    target = farm.target("leaks", variant, args=["quiet"])
    document = asked(target.exe, target.core)
    assert document["groups"] == document["unproven_groups"] == []
    assert (document["leaked"], document["unproven"]) == (0, 0)
    assert len(target.truth) > 20 and document["blocked"] > 30
    run = run_goref(target, ["goref leaks"])
    assert run.parts[0].startswith("no goroutine has leaked\n")


def test_text_and_status(farm):
    leaked = farm.target("leaks", CENTRAL, args=["leaked"])
    count = sum(fact["Count"] for fact in leaked.truth)
    ask = ["core", *leaked.gdb_args, "leaks"]
    done = run_cli([*ask, "--fail-on-leaks"])
    assert done.returncode == 4
    assert done.stderr == f"goref: leaks: {count} goroutines have leaked\n"
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        f"{count} leaked goroutines in 10 groups retain"
    )
    assert len(lines) < 40
    assert "and 6 more groups" in done.stdout
    assert run_cli([*ask, "--top", "0"]).stdout.count("\n   created by") == 10
    assert run_cli(ask).returncode == 0
    quiet = farm.target("leaks", CENTRAL, args=["quiet"])
    ask = ["core", *quiet.gdb_args, "leaks", "--fail-on-leaks"]
    assert run_cli(ask).returncode == 0


def test_torn_core(farm, tmp_path):
    """A goroutine that the missing part may wake is no leak."""
    target = farm.target("leaks", CENTRAL, args=["leaked"])
    torn = tmp_path / "torn"
    shutil.copy(target.core, torn)
    os.truncate(torn, torn.stat().st_size - (64 << 10))
    done = run_cli(["core", target.exe, torn, "leaks", "--fail-on-leaks"])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stdout.startswith(
        "in what could be read: no goroutine is known to have leaked; "
    )
    assert "may lie in the memory that is missing" in done.stdout
    done = run_cli(["core", target.exe, torn, "leaks", "--json"])
    document = Document(done.stdout)
    assert document["groups"] == [] and document["unproven"] > 0


class Records:
    """A core that may be changed, and the records of its goroutines."""

    def __init__(self, target, path):
        mutate.copy_sparse(target.core, path)
        points = mutate.Points(SCANNER, target.exe, path)
        self.core = mutate.Core(path)
        self.layout = points.layout
        self.gs = {self.word(g, "g.goid"): g for g in points.gs}

    def place(self, record, field):
        return record + self.layout[field][0]

    def word(self, record, field):
        return self.core.u64(self.place(record, field))

    def put(self, record, field, value):
        self.core.put(self.place(record, field), value)


def ids_of(document, function):
    (ids,) = [
        group["ids"]
        for group in document["groups"]
        if group["function"] == function
    ]
    return ids


def test_lost_case(farm, tmp_path):
    """A select whose second case is lost may have waited for anything."""
    target = farm.target("leaks", CENTRAL, args=["leaked"])
    first, second = ids_of(
        asked(target.exe, target.core), "main.selectForever"
    )[:2]
    records = Records(target, tmp_path / "core")
    sudog, other = (
        records.word(records.gs[i], "g.waiting") for i in (first, second)
    )
    records.put(sudog, "sudog.waitlink", other)
    records.core.close()
    done = run_cli(["core", target.exe, tmp_path / "core", "leaks", "--json"])
    assert done.returncode == 3
    document = Document(done.stdout)
    assert first not in document.ids and document["unproven"] > 0
    assert any("sudogs of a goroutine" in line for line in document["partial"])


def test_about_to_run(farm, tmp_path):
    """A goroutine that was taken out of the queue of its channel, and is not
    yet runnable, does not wait any more."""
    target = farm.target("leaks", CENTRAL, args=["leaked"])
    before = asked(target.exe, target.core)
    woken = ids_of(before, "main.receiveNothing")[0]
    records = Records(target, tmp_path / "core")
    g = records.gs[woken]
    sudog = records.word(g, "g.waiting")
    channel = hex(records.word(sudog, "sudog.chan"))
    records.put(g, "g.param", sudog)
    records.core.close()
    after = asked(target.exe, tmp_path / "core")
    assert sorted([*after.ids, woken]) == sorted(before.ids)
    run = run_goref(
        Target("core", target.exe, {}, core=tmp_path / "core"),
        [f"goref goroutine {woken} wait", "goref waits --json"],
    )
    assert "It has been woken, and is about to run." in run.parts[0]
    groups = run.json(1)["waits"]
    assert channel not in {group["primitive"] for group in groups}


def run_leaks(target, *words):
    """The status, the output, and the last line of the errors."""
    done = run_cli(["core", target.exe, target.core, "leaks", *words])
    lines = done.stderr.splitlines() or [""]
    return done.returncode, done.stdout, lines[-1]


@pytest.fixture(scope="module")
def apart(farm):
    """Leaks `count' goroutines in main.reply, and as many in main.hidden."""
    return farm.target("apart", CENTRAL)


def test_baseline(apart, tmp_path):
    """A known leak is none, line by line of the file that goref wrote."""
    count, file = apart.truth["count"], tmp_path / "known"
    status, text, _ = run_leaks(apart, "--write-baseline", file)
    assert status == 0 and f"baseline: 2 places written to {file}" in text
    written = file.read_text()
    rows = [
        f"{count}\tchan receive\tmain.{function}\tmain.startAll\n"
        for function in ("hidden", "reply")
    ]
    assert written.endswith("".join(rows)) and written.startswith("# ")
    gate = ("--fail-on-leaks", "--baseline", file)
    assert run_leaks(apart, *gate)[0] == 0
    file.write_text(written.replace(rows[1], rows[1][1:]))
    known = int(rows[1][1:].split()[0])
    status, text, error = run_leaks(apart, *gate)
    new = count - known
    assert status == 4 and error == (
        f"goref: leaks: {new} goroutines have leaked that {file} does not know"
    )
    assert f"baseline: {new} new, {count + known} known to {file}" in text
    assert "in      main.reply at " in text and "main.hidden at" not in text
    assert run_leaks(apart, "--fail-on-leaks")[0] == 4
    file.write_text("<<<<<<< HEAD\n" + written)
    status, text, error = run_leaks(apart, *gate)
    assert (status, text) == (1, "") and "is no baseline of leaks" in error


@pytest.mark.parametrize(
    "pattern, blocked, leaked",
    [
        ("main.reply", 1, 1),
        ("top:main.re*", 1, 1),
        ("main.startAll", 0, 0),
        ("created-by:main.startAll", None, 2),
        ("created-by:main.main", 0, 0),
        # As a list for goleak has it: the innermost call.
        ("runtime.gopark", None, 2),
        ("any:main.(*session).*", 0, 0),
        ("any:main.hidden", 1, 1),
    ],
)
def test_ignored(apart, pattern, blocked, leaked, tmp_path):
    """Goroutines that a pattern takes are in no other number, whether it is
    an option or a line of a file."""
    count, file = apart.truth["count"], tmp_path / "patterns"
    file.write_text(f"# known\n{pattern}\n")
    found = asked(apart.exe, apart.core, "--ignore", pattern)
    assert found == asked(apart.exe, apart.core, "--ignore-file", file)
    (row,) = found["ignored"]
    assert row["leaked"] == leaked * count
    assert row["blocked"] == (
        found["blocked"] if blocked is None else blocked * count
    )
    assert found["leaked"] == (2 - leaked) * count
    left = sum(place["count"] for place in found["blocked_places"])
    assert left == found["blocked"] - row["blocked"]
    functions = {place["function"] for place in found["blocked_places"]}
    assert leaked == 0 or pattern.split(":")[-1] not in functions


def test_blocked_places(apart):
    """Those that can still be woken count, too; others do not: who sleeps or
    waits for a signal."""
    count = apart.truth["count"]
    found = asked(apart.exe, apart.core)["blocked_places"]
    assert {p["function"]: (p["count"], p["leaked"]) for p in found} == {
        "main.use": (2 * count, 0),
        "main.watch": (count, 0),
        "main.finish": (count, 0),
        "main.hidden": (count, count),
        "main.either": (count, 0),
        "main.reply": (count, count),
        "main.buy": (6, 0),
        "main.serve": (6, 0),
        "main.startAll.func1": (3, 0),
    }
    status, text, error = run_leaks(apart, "--fail-above-blocked", str(count))
    assert status == 4
    line = f"{2 * count} goroutines are blocked in main.use at "
    assert f"more than {count} in one place: {line}" in text
    assert text.count("in one place") == 1
    assert error.startswith(f"goref: leaks: {line}")
    ignore = ("--ignore", "main.use")
    limit = ("--fail-above-blocked", str(count))
    assert run_leaks(apart, *limit, *ignore)[0] == 0
    assert run_leaks(apart, "--fail-above-blocked", str(2 * count))[0] == 0
    assert run_leaks(apart, "--fail-above-blocked", "0")[0] == 0

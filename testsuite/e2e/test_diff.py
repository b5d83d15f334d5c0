# SPDX-License-Identifier: Apache-2.0
"""goref diff, on a program that says what it has added and dropped."""

import functools
import json
import os
import shutil
import signal
import subprocess

import pytest

from pprof import Profile
from session import (
    GOREF,
    environment,
    one_line,
    run_cli,
    run_gdb,
    run_goref,
    run_python,
)
from targets import (
    Target,
    attach_reason,
    gdb_core,
    kernel_core,
    kernel_cores_reason,
    skip_if,
)
from toolchains import Variant, go_environment, pprof_binary, variants
from waiting import comes, has_file_in

CENTRAL = Variant("go1.24", "default")
BYTES = {"order": 64, "session": 128, "item": 256, "page": 512,
         "buffer": 4096}  # fmt: skip

SITES = {"order": "addOrders", "session": "addSessions", "item": "addItems",
         "page": "addPages", "buffer": "newBuffer"}  # fmt: skip


class Story:
    """A process at two moments: cores of both, and what it said."""

    def __init__(self, farm, variant, mode, folder):
        skip_if(kernel_cores_reason() or attach_reason())
        process = farm.process("grown", variant, [mode])
        process.rest()
        self.exe = process.exe
        self.before = process.truth
        old = gdb_core(process, stays=True)
        self.old = shutil.move(old, folder / "old")
        process.popen.stdin.write(b"\n")
        process.popen.stdin.flush()
        self.after = json.loads(process.read_line())
        process.rest()
        self.lives = ask(self.exe, self.old, process.pid, "--survivors")
        self.new = shutil.move(kernel_core(process), folder / "new")

    @property
    def cores(self):
        return (self.exe, self.old, self.exe, self.new)

    @functools.cached_property
    def documents(self):
        """The answers about a core and the process, and about two cores."""
        return self.lives, ask(*self.cores, "--survivors")

    def growth(self):
        """The number that was added of each."""
        before, after = self.before["held"], self.after["held"]
        found = {
            key.lower().removesuffix("s"): after[key] - before[key]
            for key in after
        }
        return found | {"buffer": found["worker"] + found["cleaner"]}


def ask(*words):
    done = run_cli(["diff", *words, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(document, by):
    return {row["key"]: row for row in document["by"][by]["rows"]}


@pytest.fixture(scope="module")
def story(farm, tmp_path_factory):
    told = {}

    def tell(variant, mode):
        if (variant, mode) not in told:
            folder = tmp_path_factory.mktemp("story")
            told[variant, mode] = Story(farm, variant, mode, folder)
        return told[variant, mode]

    return tell


MODES = pytest.mark.parametrize("mode", ["plain", "collected"])


@MODES
@variants("default")
def test_what_was_added_and_dropped(story, variant, mode):
    """By type, root, site, package and goroutine function, to the byte; of a
    core and the process, and of two cores."""
    told = story(variant, mode)
    growth = told.growth()
    for document in told.documents:
        assert document["one_program"] and document["one_process"]
        types = rows_of(document, "type")
        for name, size in BYTES.items():
            row = types[f"main.{name}"]
            assert row["growth_objects"] == growth[name], name
            assert row["growth_bytes"] == growth[name] * size
        roots = rows_of(document, "root")
        for name in ("order", "session", "item", "page"):
            row = roots[f"main.{name}s"]
            assert row["growth_bytes"] == growth[name] * BYTES[name]
            kept = (row["new"]["retained_bytes"], row["old"]["retained_bytes"])
            assert kept[0] - kept[1] == row["growth_bytes"]
        groups = rows_of(document, "goroutine")
        for name in ("worker", "cleaner"):
            row = groups[f"goroutines of main.{name}"]
            number = row["new"]["goroutines"] - row["old"]["goroutines"]
            assert number == row["growth_objects"] == growth[name]
            assert row["growth_bytes"] == growth[name] * BYTES["buffer"]
        whole = sum(growth[name] * size for name, size in BYTES.items())
        main = rows_of(document, "package")["main"]
        assert main["growth_bytes"] == whole
        assert main["growth_objects"] == sum(growth[name] for name in BYTES)
        # Every allocation is sampled.
        for name, function in SITES.items():
            rows = [
                row
                for row in document["by"]["site"]["rows"]
                if row["key"].startswith(f"main.{function} main.go:")
            ]
            sums = [
                sum(row[f"growth_{what}"] for row in rows)
                for what in ("objects", "bytes")
            ]
            assert sums == [growth[name], growth[name] * BYTES[name]]
        # Every path is below the root that it belongs to.
        paths = document["by"]["path"]["rows"]
        for name in ("order", "session", "item", "page"):
            assert growth[name] == sum(
                row["growth_objects"]
                for row in paths
                if row["key"].split(" -> ")[0] == f"main.{name}s"
            )


@variants(newest=("default",))
def test_tables_add_up(story, variant):
    document = story(variant, "plain").documents[1]
    for by in ("type", "package", "goroutine", "path"):
        rows = document["by"][by]["rows"]
        for what in ("objects", "bytes"):
            total = sum(row[f"growth_{what}"] for row in rows)
            assert total == document[f"growth_{what}"], by
        keys = [row["growth_bytes"] for row in rows]
        assert keys == sorted(keys, reverse=True)


@variants(newest=("default",))
def test_suspects(story, variant):
    found = {
        row["name"]: (row["change"], row["old_bytes"], row["new_bytes"])
        for row in story(variant, "plain").lives["suspects"]
    }
    assert found["main.items"] == ("new", None, 20000 * BYTES["item"])
    assert found["main.pages"] == ("vanished", 20000 * BYTES["page"], None)


@MODES
@variants("default")
def test_survivors(story, variant, mode):
    told = story(variant, mode)
    kept = told.after["survivors"]
    kept = {
        "main.order": kept["Orders"],
        "main.session": kept["Sessions"],
        "main.buffer": kept["Workers"] + kept["Cleaners"],
    }
    for document in told.documents:
        survivors = document["survivors"]
        types = {row["type"]: row["objects"] for row in survivors["types"]}
        # The names are those of the table by type, and so are the numbers.
        numbers = {
            row["type"]: (row["old_objects"], row["new_objects"])
            for row in survivors["types"]
        }
        for key, row in rows_of(document, "type").items():
            sides = row["old"]["objects"], row["new"]["objects"]
            assert numbers[key] == sides, key
        has_collected = told.after["num_gc"] > told.before["num_gc"]
        assert survivors["exact"] != has_collected
        assert has_collected == (mode == "collected")
        for name, number in kept.items():
            assert types[name] >= number
            assert types[name] == number or has_collected
        # The memory of dropped sessions has new ones in it.
        if has_collected:
            assert types["main.session"] > kept["main.session"]


@variants("default", releases=("go1.24",))
def test_two_processes_have_no_survivors(story, variant):
    """Two processes of one program, which do the same."""
    one, other = story(variant, "plain"), story(variant, "collected")
    words = (one.exe, one.old, other.exe, other.old, "--survivors")
    document = ask(*words)
    assert document["one_program"] and not document["one_process"]
    assert document["survivors"] is None
    assert "no survivors" in run_cli(["diff", *words]).stdout


def pprof(variant, *words):
    done = subprocess.run(
        [pprof_binary(variant.release), *map(str, words)],
        env=go_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@variants(newest=("default",))
def test_profile(story, variant, tmp_path):
    """It is what pprof makes of the profiles of both sides."""
    told = story(variant, "plain")
    out, tags = tmp_path / "diff.pb.gz", ["--label", "env=prod"]
    ask(*told.cores, "-o", out, *tags, "--time", "1782907200")
    sides = []
    for core in (told.old, told.new):
        sides.append(tmp_path / f"{core.name}.pb.gz")
        place = ["core", told.exe, core, "scan", "--max-samples", "0"]
        assert run_cli([*place, "-o", sides[-1]]).returncode == 0
    for index in ("inuse_objects", "inuse_space"):
        options = ["-top", "-nodecount=0", f"-sample_index={index}"]
        theirs = pprof(variant, *options, f"-diff_base={sides[0]}", sides[1])
        ours = pprof(variant, *options, out)
        begin = "Showing nodes"
        assert begin in theirs
        assert theirs.partition(begin)[2] == ours.partition(begin)[2]
    profile = Profile.load(out)
    assert profile.time_nanos == 1782907200 * 10**9
    assert all(s.labels["env"] == "prod" for s in profile.samples)
    grown = profile.total(lambda path: path[0] == "main.orders")
    assert grown == (2000, 2000 * BYTES["order"])


@variants("default", releases=("go1.24",))
def test_text(story, variant):
    told = story(variant, "plain")
    first, again = (run_cli(["diff", *told.cores]).stdout for _ in "ab")
    assert first == again
    assert len(first.splitlines()) < 60
    lines = first.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("By type"))
    assert lines[at + 2].split()[:2] == ["+4.9", "MiB"]
    assert lines[at + 2].endswith("main.item")
    only = run_cli(["diff", *told.cores, "--by", "root", "--top", "2"]).stdout
    assert "By root" in only and "By type" not in only
    assert only.splitlines()[-2].endswith("main.items")
    assert only.splitlines()[-1].endswith("main.worker.b")
    document = ask(*told.cores, "--min-bytes", "1M")
    names = {row["key"] for row in document["by"]["type"]["rows"]}
    assert names == {"main.item", "main.page"}


@variants("default", releases=("go1.24",))
def test_fail_above(story, variant):
    told = story(variant, "plain")
    old, new = told.cores[:2], told.cores[2:]
    for words, status in (
        ((*new, *old, "--fail-above", "1M"), 4),
        ((*old, *new, "--by", "type", "--fail-above", "4900k"), 4),
        ((*old, *new, "--by", "type", "--fail-above", "5100k"), 0),
    ):
        done = run_cli(["diff", *words])
        assert done.returncode == status, (words, done.stderr)
        assert "By type" in done.stdout
        assert ("has grown by more" in done.stderr) == (status == 4)


def saved(source, file, *options):
    done = run_cli([*source, "save", *options, file])
    assert done.returncode == 0, done.stderr
    return file


@MODES
@variants(newest=("default",))
def test_saved(story, variant, mode, tmp_path):
    """A saved file is as good as the core that it was made of, also for the
    survivors: it tells which process it is."""
    told = story(variant, mode)
    old = saved(["core", told.exe, told.old], tmp_path / "old.goref")
    new = saved(["core", told.exe, told.new], tmp_path / "new.goref")
    again = saved(["open", new], tmp_path / "again.goref")
    of_cores = told.documents[1]
    for sides in ((old, told.exe, told.new), (told.exe, told.old, new),
                  (old, again)):  # fmt: skip
        document = ask(*sides, "--survivors")
        for by in ("type", "root", "path", "package", "goroutine", "site"):
            assert document["by"][by] == of_cores["by"][by], (by, sides)
        for key in ("growth_objects", "growth_bytes", "suspects",
                    "one_program", "one_process", "survivors"):  # fmt: skip
            assert document[key] == of_cores[key], (key, sides)
        assert document["survivors"]["exact"] == (mode == "plain")


def test_saved_process(farm, tmp_path):
    """The file of a process that goes on is compared with the process itself,
    and never with another one as if it were this one."""
    skip_if(attach_reason())
    process, other = (farm.process("grown", CENTRAL) for _ in range(2))
    process.rest()
    other.rest()
    attach = ["attach", str(process.pid)]
    file = saved(attach, tmp_path / "one.goref")
    copy = saved([*attach, "--snapshot"], tmp_path / "two.goref")
    theirs = saved(["attach", str(other.pid)], tmp_path / "theirs.goref")
    for sides in ((file, process.pid), (copy, file), (process.pid, copy)):
        document = ask(*sides, "--survivors")
        assert document["one_process"], sides
        survivors = document["survivors"]
        assert survivors["exact"]
        assert survivors["objects"] == survivors["old_objects"] > 20000
    for sides in ((theirs, process.pid), (theirs, file), (copy, theirs)):
        document = ask(*sides, "--survivors")
        assert document["one_program"] and not document["one_process"]
        assert document["survivors"] is None


@variants("default", releases=("go1.24",))
def test_another_program(story, variant, farm):
    told = story(variant, "plain")
    other = farm.target("suspects", variant, args=["hello"])
    done = run_cli(["diff", *told.cores[:2], *other.gdb_args])
    assert done.returncode == 0, done.stderr
    assert "two programs (the build ids differ)" in done.stdout


@variants("default", releases=("go1.24",))
def test_partial(story, variant, tmp_path):
    told = story(variant, "plain")
    cut = tmp_path / "cut"
    shutil.copy(told.new, cut)
    os.truncate(cut, os.stat(cut).st_size - (1 << 20))
    alone = run_cli(["core", told.exe, cut, "scan"])
    done = run_cli(["diff", *told.cores[:2], told.exe, cut, "--survivors"])
    assert done.returncode == alone.returncode
    if alone.returncode == 3:
        assert "PARTIAL: NEW: " in done.stdout
        assert "(no collection" not in done.stdout
    else:
        one_line(done, 1, f"NEW, {cut}: ")


@variants("default", releases=("go1.24",))
def test_errors(story, variant, tmp_path):
    told = story(variant, "plain")
    exe, old = told.exe, told.old
    (tmp_path / "text").write_text("no core")
    (tmp_path / "packed.gz").write_bytes(b"\x1f\x8b" + bytes(20))
    for words, status, reason in (
        ([], 2, "no OLD given"),
        ([old], 2, "no NEW given"),
        ([exe], 2, "is an executable: add its core"),
        ([exe, "text"], 2, "is an executable, and text is not a core"),
        ([exe, old], 2, "no NEW given: "),
        ([old, old, "--snapshot"], 2, "--snapshot is about a process"),
        ([old, old, "--max-pause", "9"], 2, "--max-pause is about a pr"),
        ([old, old, "--threads", "2"], 2, "--threads is about a process"),
        ([old, "none"], 2, "NEW: none: No such file or directory"),
        ([exe, old, "text"], 1, "goref: NEW: text is not a file"),
        ([old, old, old], 2, "one too many"),
        (["packed.gz", old], 1, "goref: OLD: packed.gz is compressed"),
        ([exe, old, "999999999999"], 2, "NEW: 999999999999 is not a process"),
        ([exe, old, "4194304"], 1, "NEW: not attached to process 4194304: "),
        ([exe, old, exe, old, "--label", "a=b"], 2, "add --out"),
        ([exe, old, exe, old, "-o", old], 1, "it is compared"),
        ([exe, old, exe, old, "-o", "no/x"], 1, "no/x"),
    ):
        done = run_cli(["diff", *words], cwd=tmp_path)
        one_line(done, status, reason)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["packed.gz", "text"]
    done = run_cli(["core", exe, old, "diff", "text"])
    one_line(done, 2, f"write `goref diff {exe} {old} ...'")
    done = run_cli(["open", "a b", "--json", "diff", "text", "--survivors"])
    one_line(done, 2, "write `goref diff 'a b' ...', without `open'")
    run = run_gdb([], ["goref open file diff other"])
    assert run.error_lines() == [
        "goref open: diff is about two heaps: write `goref diff file ...'"
    ]


@variants("default", releases=("go1.24",))
def test_in_gdb(story, variant, tmp_path):
    """The same answers as in a shell, and gdb looks at what it did before."""
    told = story(variant, "plain")
    old = saved(["core", told.exe, told.old], tmp_path / "old.goref")
    loaded = Target("core", told.exe, {}, core=told.new)
    out = tmp_path / "grown.pb.gz"
    run = run_goref(
        loaded,
        [f"goref diff {told.exe} {told.old} --survivors --json",
         f"goref diff {old} --survivors --json -o {out}",
         f"goref diff {old} {told.exe} {told.new} --survivors --json",
         f"goref diff {old} --by type", "info goref"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    expected = told.documents[1]
    for i in range(3):
        document = run.json(i)
        if i:  # a file without values lacks two checks of waste
            assert "no values" in document["by"]["waste"]["note"]
            document["by"]["waste"] = expected["by"]["waste"]
        for key in ("by", "survivors", "growth_bytes", "suspects",
                    "one_process"):  # fmt: skip
            assert document[key] == expected[key], (key, i)
    assert run.json(1)["new"]["source"] == str(told.new)
    assert Profile(out.read_bytes()).samples
    lines = run_cli(["diff", old, told.exe, told.new, "--by", "type"]).stdout
    assert run.parts[3].splitlines()[2:] == lines.splitlines()[2:]
    assert str(told.new) in run.parts[4]


def test_in_gdb_without_a_program(tmp_path):
    run = run_gdb([], ["goref diff old", "goref diff /nowhere /nowhere"])
    assert "goref: gdb looks at no program to compare with" in run.stderr
    assert "OLD: /nowhere: No such file" in run.stderr


@variants("default", releases=("go1.24",))
def test_both_sides_are_the_same(story, variant, tmp_path):
    """A file on both sides has not grown."""
    told = story(variant, "plain")
    file = saved(["core", told.exe, told.new], tmp_path / "new.goref")
    for sides in ((told.new, told.new), (file, file), (file, told.new)):
        document = ask(*sides, "--survivors")
        assert document["one_process"] and not document["growth_objects"]
        for by in ("type", "root", "goroutine"):
            rows = document["by"][by]["rows"]
            assert not any(row["growth_bytes"] for row in rows), (by, sides)
        survivors = document["survivors"]
        assert survivors["objects"] == survivors["old_objects"] > 20000


PRIVATE = """
import os, sys
from goref import cli
from goref.sources import core
def private():
    with open("/proc/self/smaps_rollup") as file:
        rows = dict(line.split()[:2] for line in file if "kB" in line)
    return int(rows["Private_Dirty:"])
def opened(self, *words, _old=core.Core.open):
    print(private(), file=sys.stderr)
    return _old(self, *words)
core.Core.open = opened
def ended(status):
    print(private(), file=sys.stderr)
    os.kill(os.getpid(), 9)
os._exit = ended
cli.main(sys.argv[1:])
"""


def grown_kb(words):
    """By how much goref has more memory of its own later than before OLD."""
    done = run_python(PRIVATE, words)
    before, between, after = map(int, done.stderr.split())
    return max(between, after) - before


def test_one_heap_in_memory_at_a_time(farm):
    """That of OLD is gone before NEW is opened: goref needs no more for both
    than for one."""
    target = farm.target("counter", CENTRAL, args=("1000000",))
    side = [target.exe, target.core]
    words = ["diff", *side, *side, "--json"]
    heap_kb = 1_000_000 * 16 // 1024  # of a million objects, 16 bytes each
    # malloc may keep what threads have freed; a heap would be there each time.
    least = min(grown_kb(words) for _ in range(3))
    assert least < heap_kb


@variants("default", releases=("go1.24",))
@pytest.mark.parametrize("which", [0, 1])
def test_the_side_that_ends(story, variant, which):
    """Ctrl-C and --timeout while either side is asked: one line, no answer."""
    told = story(variant, "plain")
    hook = """
import sys
import goref.commands.diff as d
from goref import cli
asked = []
def totals(side, what, *words, _old=d._totals):
    asked.append(what)
    if len(asked) == {which} + 1:
        {do}
    return _old(side, what, *words)
d._totals = totals
cli.main(sys.argv[1:])
"""
    interrupt = hook.format(which=which, do="raise KeyboardInterrupt")
    done = run_python(interrupt, ["diff", *told.cores])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "goref: interrupted\n"
    # The command has begun long ago: its time is over, whatever the clock says.
    late = hook.format(which=which, do="d.current.command_begin -= LIMIT")
    late = late.replace("LIMIT", "2000")
    done = run_python(late, ["diff", *told.cores, "--timeout", "1000"])
    side, core = (("OLD", told.old), ("NEW", told.new))[which]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"goref: {side}, {core}: timed out\n"


@variants("default", releases=("go1.24",))
def test_both_sides_share_the_time(story, variant):
    """The time of a side is not taken off twice: what OLD has used up leaves
    the rest for NEW."""
    told = story(variant, "plain")
    hook = """
import sys
import goref.commands.diff as d
from goref import cli
def totals(side, what, *words, _old=d._totals):
    if what == "NEW":
        d.current.command_begin -= 600
    return _old(side, what, *words)
d._totals = totals
cli.main(sys.argv[1:])
"""
    done = run_python(hook, ["diff", *told.cores, "--timeout", "1000"])
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupted(farm, tmp_path):
    """The process goes on, and nothing is left."""
    skip_if(attach_reason())
    process = farm.process("grown", CENTRAL)
    process.rest()
    command = [GOREF, "diff", str(process.pid), str(process.pid)]
    env = {**environment(), "TMPDIR": str(tmp_path)}
    popen = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert comes(
        lambda: has_file_in(popen.pid, tmp_path) or popen.poll() is not None
    )
    assert popen.poll() is None
    assert not list(tmp_path.iterdir())
    popen.send_signal(signal.SIGINT)
    _, said = popen.communicate(timeout=60)
    assert popen.returncode == 1 and said == "goref: interrupted\n"
    assert not list(tmp_path.iterdir())
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()
    assert json.loads(process.read_line())["held"]["Items"] == 20000

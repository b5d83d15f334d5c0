# SPDX-License-Identifier: Apache-2.0
"""The command line: what it takes, what it prints, its exit status."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import mutate
from pprof import Profile
from session import GOREF, TOP, environment, run_cli, run_gdb, run_goref
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
SCANNER = Path(environment()["GOREF_BUILD_DIR"]) / "goref-scan"


@pytest.fixture(scope="module")
def core(farm):
    return farm.target("values", CENTRAL)


def one_line(done, status, *words):
    """It failed with one line that has these words."""
    assert done.returncode == status, (done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("goref"), lines
    for word in words:
        assert word in lines[0], lines


@variants("default")
def test_core(farm, variant, tmp_path):
    target = farm.target("values", variant)
    out = tmp_path / "refs.pb"
    done = run_cli(["core", target.exe, target.core, "--json", "-o", out])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["complete"] and told["partial"] == []
    roots = {r["name"]: r["objects"] for r in told["roots"]}
    for name, held in target.held.items():
        if held["objects"]:
            assert roots.get(name) == held["objects"], name
    objects = Profile.load(out).total()[0]
    assert objects == told["reached"]["objects"]


def test_same_tables_as_in_gdb(core):
    by_gdb = run_goref(core, ["goref scan --top 3"]).parts[0]
    by_cli = run_cli(["core", core.exe, core.core, "--top=3"]).stdout

    def without_times(text):
        return re.sub(r"^took .*", "", text, flags=re.M)

    assert without_times(by_cli) == without_times(by_gdb)


def test_names_with_blanks_and_quotes(core, tmp_path):
    """Relative, and with all that a shell or gdb would take apart."""
    folder = tmp_path / "it's \"a\" fold\\er  of $HOME; (x) [*]"
    folder.mkdir()
    shutil.copy(core.exe, folder / "my exe'")
    os.link(core.core, folder / "my core \"1\"")
    done = run_cli(
        ["core", "my exe'", "my core \"1\"", "-o", "re fs'.pb", "--json"],
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["out"] == "re fs'.pb"
    assert Profile.load(folder / "re fs'.pb").samples


def test_through_a_link(tmp_path):
    """The script may be linked to from a folder of the PATH."""
    if not (TOP / "build").is_dir():
        pytest.skip("no build in the tree")
    (tmp_path / "goref").symlink_to(TOP / "goref")
    done = run_cli(
        ["--version"],
        command=tmp_path / "goref",
        cwd="/",
        env={"GOREF_BUILD_DIR": ""},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", [(), ("--",)])
def test_expressions(core, end):
    name = max(core.held, key=lambda n: core.held[n]["objects"])
    done = run_cli(["core", "--json", *end, core.exe, core.core, name])
    assert done.returncode == 0, done.stderr
    roots = json.loads(done.stdout)["roots"]
    assert [r["name"] for r in roots if r["objects"]] == [name]
    assert roots[0]["objects"] >= core.held[name]["objects"]


def test_why(core):
    place, address = next(iter(core.places.items()))
    done = run_cli(["core", core.exe, core.core, "--json", "--why", address])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reachable"], place


def test_verify(farm):
    rest = farm.target("rest", CENTRAL)
    done = run_cli(["core", rest.exe, rest.core, "--verify"])
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout


def test_abbreviated_options(core):
    done = run_cli(["core", core.exe, core.core, "--js", "--attr=first"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["attribution"] == "first"


def test_torn_core_is_partial(core, tmp_path):
    torn = tmp_path / "torn"
    shutil.copy(core.core, torn)
    os.truncate(torn, torn.stat().st_size * 3 // 4)
    done = run_cli(["core", core.exe, torn])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(["core", core.exe, torn, "--json"])
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert not told["complete"] and "truncated" in told["partial"][0]


@pytest.fixture
def torn_core(core, tmp_path):
    torn = tmp_path / "torn"
    shutil.copy(core.core, torn)
    os.truncate(torn, torn.stat().st_size // 2)
    return torn


def test_why_of_a_torn_core(core, torn_core):
    place = next(iter(core.places.values()))
    done = run_cli(["core", core.exe, torn_core, "--why", place])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "not known" in done.stdout
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(
        ["core", core.exe, torn_core, "--json", "--why", place]
    )
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert not told["complete"] and "truncated" in told["partial"][0]


def skip_goroutine(core, points):
    """Its stack ends before it begins; of one that the runtime keeps."""
    high = points.layout["g.stack_hi"][0]
    core.put(points.gs[1] + high, 8)


def spoil_span(core, points):
    core.put(points.in_use[-1] + points.layout["mspan.npages"][0], 0)


def loop_threads(core, points):
    link = points.layout["m.alllink"][0]
    core.put(points.ms[-1] + link, points.ms[0])


def empty_spans(core, points):
    """No release keeps fewer than a few hundred."""
    spans = points.layout["mheap.allspans"][0]
    core.put(points.variable("mheap_") + spans + 8, 0)


@pytest.mark.parametrize(
    "damage, said",
    [
        (skip_goroutine, "1 goroutine could not be read"),
        (spoil_span, "1 span of the heap makes no sense"),
        (loop_threads, "lists and tables (runtime.allm) makes no sense"),
        (empty_spans, "lists and tables (mheap_.allspans) makes no sense"),
    ],
)
def test_why_of_a_core_with_gaps(core, tmp_path, damage, said):
    """Whatever a scan is partial for, an answer about one object is, too."""
    copy = tmp_path / "core"
    mutate.copy_sparse(core.core, copy)
    points = mutate.Points(SCANNER, core.exe, core.core)
    damaged = mutate.Core(copy)
    damage(damaged, points)
    damaged.close()
    place = next(iter(core.places.values()))
    line = ["core", core.exe, copy]
    scan = json.loads(run_cli([*line, "--json"]).stdout)
    assert len(scan["partial"]) == 1 and said in scan["partial"][0]
    done = run_cli([*line, "--why", place])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert f"PARTIAL: {scan['partial'][0]}: " in done.stdout
    done = run_cli([*line, "--json", "--why", place, "--why", "0x10"])
    assert done.returncode == 3
    for told in json.loads(done.stdout):
        assert not told["complete"] and told["partial"] == scan["partial"]


def test_verify_of_a_torn_core(core, torn_core):
    done = run_cli(["core", core.exe, torn_core, "--verify"])
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1].startswith("not verified: ")
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(["core", core.exe, torn_core, "--verify", "--json"])
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert not told["complete"] and "truncated" in told["partial"][0]
    assert told["tool_version"]


def test_several_whys_are_one_document(core):
    asked = list(core.places.values())[:2]
    words = [w for address in asked for w in ("--why", address)]
    done = run_cli(["core", core.exe, core.core, "--json", *words])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [a["address"] for a in told] == [
        f"{int(str(a), 0):#x}" for a in asked
    ]


@pytest.mark.parametrize("name", ["\u00fc", os.fsdecode(b"\xff\xfe")])
def test_names_whatever_the_locale(core, tmp_path, name):
    exe = tmp_path / name
    os.link(core.exe, exe)
    done = run_cli(
        ["core", exe, core.core, "--json"], env={"LC_ALL": "C", "LANG": "C"}
    )
    if name.isprintable():
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["target"]["exe"] == str(exe)
    else:
        one_line(done, 1, "\\xff\\xfe", "not UTF-8", "rename")


@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
@pytest.mark.parametrize("words", ["core {0} {1} --json", "core --help"])
def test_output_that_cannot_be_written(core, where, words):
    line = f"{TOP}/goref {words.format(core.exe, core.core)} {where}"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment()
    )
    one_line(done, 1, "goref: cannot write: ")


@pytest.mark.parametrize("command", ["core", "attach"])
def test_help(command):
    done = run_cli([command, "--help"])
    assert done.returncode == 0 and not done.stderr
    for option in ("--out", "--max-depth", "--why", "--json"):
        assert option in done.stdout


def test_version_and_help():
    assert re.search(r"goref-gdb \d", run_cli(["--version"]).stdout)
    assert "Usage: goref core" in run_cli(["--help"]).stdout


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "nothing to do"),
        (["frobnicate"], "frobnicate"),
        (["core"], "no EXE"),
        (["core", "exe"], "no CORE"),
        (["attach"], "no PID"),
        (["attach", "12x"], "12x"),
        (["attach", "99999999999999999999"], "99999999999999999999"),
        (["core", "exe", "core", "--nonsense"], "--nonsense"),
        (["core", "exe", "core", "--top", "many"], "many"),
        (["core", "exe", "core", "--out"], "--out"),
        (["core", "exe", "core", "--attribution", "best"], "best"),
        (["core", "exe", "core", "--why", "0x1", "--verify"], "--verify"),
        (["core", "exe", "core", "--verify", "-o", "x"], "--out"),
        (["core", "exe", "core", "--why", "0x1", "-o", "x"], "--out"),
        (["core", "exe", "core", "main.v", "--verify"], "main.v"),
        (["core", "exe", "core", "main.v", "--why", "0x1"], "main.v"),
        (["core", "exe", "core", "--verify", "--top", "3"], "--top"),
        (["core", "exe", "core", "--verify", "--timeout", "3"], "--timeout"),
        (["attach", "1", "--why", "0x1", "--max-depth", "3"], "--max-depth"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_wrong_usage(words, said):
    one_line(run_cli(words), 2, said, "--help")


@pytest.mark.parametrize("which", ["exe", "core"])
def test_no_such_file(core, which):
    names = {"exe": core.exe, "core": core.core, which: "/nowhere at all"}
    done = run_cli(["core", names["exe"], names["core"]])
    one_line(done, 1, "/nowhere at all", "No such file")


def test_not_a_core(core):
    done = run_cli(["core", core.exe, core.exe])
    one_line(done, 1, str(core.exe), "core")


def test_not_writable(core, tmp_path):
    done = run_cli(["core", core.exe, core.core, "-o", tmp_path / "no" / "x"])
    one_line(done, 1, "no/x")


def test_no_such_process():
    child = subprocess.Popen(["true"])
    child.wait()
    one_line(run_cli(["attach", child.pid]), 1, f"process {child.pid}")


def test_closed_output(core):
    """As with `| head`: no traceback, no core of gdb."""
    line = f"{TOP}/goref core {core.exe} {core.core} | :"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment()
    )
    assert "Traceback" not in done.stderr
    assert "nternal" not in done.stderr


@variants("default")
def test_attach(farm, variant):
    skip_if(attach_reason())
    target = farm.target("values", variant, "live")
    done = run_cli(["attach", target.process.pid, "--json"])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["complete"]
    assert told["target"]["pid"] == target.process.pid
    roots = {r["name"]: r["objects"] for r in told["roots"]}
    for name, held in target.held.items():
        if held["objects"]:
            assert roots.get(name) == held["objects"], name


# ------------------------------------------------------- a part of the walk

# What Ctrl-C, a time-out and a memory limit have in common: the poll ends the
# walk. Here it does so at its first look at a walk.
_END = """
import goref.progress as p
def look(self, done=0, total=0, look=p.Progress.__call__):
    if done:
        self.reason = {reason!r}
        raise KeyboardInterrupt
p.Progress.__call__ = look
"""


@pytest.mark.parametrize("reason", ["", "the time is over"])
def test_partial_is_marked_everywhere(farm, tmp_path, reason):
    target = farm.target("counter", CENTRAL, args=("3000000",))
    hook, out = tmp_path / "hook.py", tmp_path / "refs.pb"
    hook.write_text(_END.format(reason=reason))
    run = run_goref(
        target,
        [f"source {hook}", f"goref scan --json --out {out}", "goref scan"],
    )
    assert run.rc == 0, run.stderr
    said = reason or "interrupted"
    told = run.json(1)
    assert not told["complete"] and told["partial"] == [said]
    reached, allocated = told["reached"], told["heap"]
    assert 0 < reached["objects"] < allocated["allocated_objects"]
    assert (
        told["unreached"]["objects"]
        == allocated["allocated_objects"] - reached["objects"]
    )
    assert sum(r["objects"] for r in told["roots"]) == reached["objects"]
    assert sum(t["bytes"] for t in told["types"]) == reached["bytes"]
    profile = Profile.load(out)
    assert profile.total() == (reached["objects"], reached["bytes"])
    assert f"PARTIAL: {said}: sizes are lower bounds" in profile.comments
    assert f"PARTIAL: {said}: sizes are lower bounds" in run.parts[2]


def test_whole_profile_is_not_marked(core, tmp_path):
    out = tmp_path / "refs.pb"
    run_cli(["core", core.exe, core.core, "-o", out])
    assert not [c for c in Profile.load(out).comments if "PARTIAL" in c]


def ended(command, delays, end):
    """Run a command that is ended in different moments, until it has a part
    of the result. A start of gdb that is interrupted has gdb's own words."""
    for delay in delays:
        goref = subprocess.Popen(
            [str(GOREF), *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        end(goref, delay)
        out, err = goref.communicate(timeout=120)
        assert goref.returncode in (-signal.SIGINT, 0, 1, 3), err
        assert "Traceback" not in err or "/goref" not in err, err
        if goref.returncode == 3:
            return out
    pytest.skip("it never came in the walk")


def test_interrupt(farm):
    target = farm.target("counter", CENTRAL, args=("3000000",))

    def interrupt(goref, delay):
        time.sleep(delay)
        goref.send_signal(signal.SIGINT)

    # Before that it is gdb that starts, and is interrupted in its way.
    delays = [0.1 + 0.02 * i for i in range(40)]
    out = ended(["core", target.exe, target.core], delays, interrupt)
    assert "PARTIAL: interrupted: sizes are lower bounds" in out


def test_interrupt_at_the_end():
    """When everything is said, it says nothing more."""
    script = (
        "python import atexit, os; "
        "atexit.register(lambda: (os.kill(os.getpid(), 2), os.getpid())); "
        "os.environ.update(GOREF_ARGC='1', GOREF_ARG0='--version'); "
        "from goref import cli; cli.main()"
    )
    run = run_gdb([], [script])
    assert run.rc == 0 and "goref-gdb" in run.stdout, run.stderr
    assert "KeyboardInterrupt" not in run.stderr, run.stderr


def test_timeout(farm):
    target = farm.target("counter", CENTRAL, args=("3000000",))
    for centiseconds in range(2, 40, 2):
        done = run_cli(
            ["core", target.exe, target.core,
             "--timeout", centiseconds / 100]
        )  # fmt: skip
        assert done.returncode in (0, 1, 3), done.stderr
        if done.returncode == 1:
            assert "the time is over" in done.stderr
        if done.returncode == 3:
            break
    else:
        pytest.skip("it never came in the walk")
    assert "PARTIAL: the time is over: sizes are lower bounds" in done.stdout


@variants("c-shared", "external")
def test_attach_to_libraries(farm, variant):
    """Go code beside the executable: of that gdb is told nothing."""
    skip_if(attach_reason())
    target = farm.target("rest", variant, "live")
    done = run_cli(["attach", target.process.pid, "--json"])
    assert done.returncode == 0, done.stderr
    types = {t["type"]: t["objects"] for t in json.loads(done.stdout)["types"]}
    assert types["main.Event"] == 28000
    done = run_cli(["attach", target.process.pid, "--verify"])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "program, word",
    [("sleep", "not a Go program"), (None, "has no executable")],
)
def test_attach_to_what_is_no_go_program(program, word):
    """It is not even stopped. None: it has ended, and nobody asked for its
    exit status."""
    line = [program, "60"] if program else ["true"]
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    try:
        if not program:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        one_line(run_cli(["attach", child.pid]), 1, word)
    finally:
        child.kill()
        child.wait()


_KILL = """#!/bin/sh
exec gdb "$@" -iex 'python
import os, signal, goref.live as l
def copy(self, copy=l.Look.copy):
    os.kill(self.pid, signal.SIGKILL)
    return copy(self)
l.Look.copy = copy'
"""


def test_attach_to_what_ends_meanwhile(farm, tmp_path):
    skip_if(attach_reason())
    gdb = tmp_path / "gdb"
    gdb.write_text(_KILL)
    gdb.chmod(0o755)
    pid = farm.target("leaky", CENTRAL, "live").process.pid
    done = run_cli(["attach", pid], env={"GDB": str(gdb)})
    assert done.returncode == 1, done.stdout
    said = done.stderr.splitlines()
    assert "to copy" in said[0]
    assert said[1:] == [f"goref: process {pid} ended meanwhile"]


def test_incomplete_installation(tmp_path):
    script = tmp_path / "goref"
    script.write_text(GOREF.read_text().replace("@LOADER@", "/no/goref.py", 1))
    script.chmod(0o755)
    done = run_cli(["--version"], command=script)
    one_line(done, 1, "/no/goref.py", "installation is incomplete")


# -------------------------------------------------------------------- memory


def test_core_needs_memory(core):
    done = run_cli(["core", core.exe, core.core, "--memory-limit", "10M"])
    one_line(done, 1, "not enough memory", "the limit is 10.0 MB")


def test_needed_memory_is_more_than_the_limit(core):
    """Also where only the smallest tree does not fit in. What the symbols
    take is measured, which differs by a little."""

    def needed(limit):
        done = run_cli(["core", core.exe, core.core, "--memory-limit", limit])
        one_line(done, 1, "not enough memory", "the limit is", "--memory-lim")
        return float(re.search(r"([\d.]+) MB are needed", done.stderr)[1])

    limit = needed("1M") - 1.2
    assert needed(f"{limit:.1f}M") > limit


def test_memory_limit_below_a_byte(core):
    done = run_cli(["core", core.exe, core.core, "--memory-limit", "0.5"])
    one_line(done, 2, "less than a byte")


def test_tables_in_the_missing_part(core, torn_core):
    said = run_cli(["core", core.exe, torn_core]).stdout
    assert "spans of the heap lay in that part" in said
    assert "make no sense" not in said


def test_memory_limit_while_opening(core):
    """It is opened all the same, if that takes not much more, so that what
    is needed can be told."""
    done = run_cli(["core", core.exe, core.core, "--memory-limit", "1k"])
    one_line(done, 1, "are needed", "the limit is 1.0 kB", "--memory-limit")


def test_needed_memory_is_no_fixed_sum(farm):
    """A small heap of a small program needs little, and is scanned with what
    was told to be needed."""
    small = farm.target("generics", CENTRAL)
    words = ["core", small.exe, small.core, "--memory-limit"]
    done = run_cli([*words, "1M"])
    needed = float(re.search(r"([\d.]+) MB are needed", done.stderr)[1])
    assert needed < 20, done.stderr
    done = run_cli([*words, f"{needed + 1.2:.1f}M"])
    assert done.returncode == 0, done.stderr


def test_memory_is_said_before(core):
    run = run_goref(
        core,
        ["python import goref.commands; goref.commands.MENTIONED_BYTES = 0",
         "goref scan --json"],
    )  # fmt: skip
    assert re.search(r"^up to .* of memory needed, .* free", run.stderr, re.M)
    assert run.json(1)["complete"]

# SPDX-License-Identifier: Apache-2.0
"""The command line: what it takes, what it prints, its exit status."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from asking import STEPS, count_looks, run_by_steps, run_goref
from pprof import Profile
from session import GOREF, TOP, environment, one_line
from session import run_python
from session import start_cli as run_cli  # each is a start
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")


@pytest.fixture(scope="module")
def core(farm):
    return farm.target("values", CENTRAL)


@variants(newest=("default",))
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


def test_names_with_blanks_and_quotes(core, tmp_path):
    """Relative, and with all that a shell or gdb would take apart."""
    folder = tmp_path / 'it\'s "a" fold\\er  of $HOME; (x) [*]'
    folder.mkdir()
    shutil.copy(core.exe, folder / "my exe'")
    os.link(core.core, folder / 'my core "1"')
    done = run_cli(
        ["core", "my exe'", 'my core "1"', "-o", "re fs'.pb", "--json"],
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


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
def test_notes_that_cannot_be_written(farm, where):
    """The answer comes, and nothing of it is where an error would be."""
    skip_if(attach_reason())
    target = farm.target("values", CENTRAL, "live")
    line = f"{TOP}/goref attach {target.process.pid} scan --json {where}"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["complete"]


@pytest.mark.parametrize("command", ["core", "attach"])
def test_help(command):
    done = run_cli([command, "--help"])
    assert done.returncode == 0 and not done.stderr
    for option in ("--out", "--max-depth", "--why", "--json"):
        assert option in done.stdout


def test_no_words():
    """As with kubectl and dlv: help is the answer, not an error."""
    done = run_cli([])
    assert done.returncode == 0 and not done.stderr
    assert done.stdout == run_cli(["--help"]).stdout


def test_version_and_help():
    assert re.search(r"goref-gdb \d", run_cli(["--version"]).stdout)
    assert "Usage: goref core" in run_cli(["--help"]).stdout


@pytest.mark.parametrize(
    "words, said",
    [
        ([""], "no command given"),
        (["frobnicate"], "frobnicate"),
        (["core"], "no CORE"),
        (["core", "/bin/sh"], "no CORE"),
        (["core", "/bin/sh", "native"], "no CORE before native"),
        (["core", "/bin/sh", "native", "leaks"], "no CORE before native"),
        (["core", "/bin/sh", "native", "--values"], "no CORE before native"),
        (["core", "/bin/sh", "core", "verfy"], "is it verify?"),
        (["core", "/bin/sh", "core", "why"], "no ADDRESS"),
        (["core", "/bin/sh", "core", "verify", "0x1"], "0x1"),
        (["core", "/bin/sh", "core", "verify", "--top", "3"], "--top"),
        (["core", "/bin/sh", "core", "scan", "--why", "x"], "--why"),
        (["core", "/bin/sh", "core", "overview", "-o", "x"], "-o"),
        (["scan"], "goref core [EXE] CORE scan"),
        (["help", "nonsense"], "nonsense"),
        (["attach"], "no PID"),
        (["attach", "0"], "not a process number: 0"),
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
        (["attach", "1", "overview", "--max-depth", "3"], "--max-depth"),
        (["attach", "1", "--why", "0x1", "--max-depth", "3"], "--max-depth"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_wrong_usage(words, said):
    one_line(run_goref(*words), 2, said, "--help")


def test_forgotten_source(core, tmp_path):
    """The files are there: a word before them is not."""
    exe, file = core.exe, core.core
    text = tmp_path / "heap.goref"
    text.write_text("a saved file")
    for words, whole in (
        ([exe, file, "save", "x"], f"goref core {exe} {file} save x"),
        ([file, "scan"], f"goref core {file} scan"),
        ([text, "scan"], f"goref open {text} scan"),
        (["4711", "scan"], "goref attach 4711 scan"),
    ):
        done = run_cli(words)
        one_line(done, 2, "is missing: write `" + whole + "'")


@pytest.mark.parametrize("which", ["exe", "core"])
def test_no_such_file(core, which):
    names = {"exe": core.exe, "core": core.core, which: "/nowhere at all"}
    done = run_cli(["core", names["exe"], names["core"]])
    one_line(done, 1, "/nowhere at all", "No such file")


@pytest.mark.parametrize("words", [[], ["native"], ["why", "main.v"]])
def test_neither_core_nor_executable(tmp_path, words):
    """The file is named, and not a verb behind it that is no file."""
    file = tmp_path / "rnd"
    file.write_bytes(b"\x9d" * 5000)
    done = run_cli(["core", file, *words], cwd=tmp_path)
    one_line(done, 1, f"goref: {file} is neither a core nor an executable")
    help_of = run_cli(["core", file, *words, "--help"], cwd=tmp_path)
    assert help_of.returncode == 0
    nowhere = run_cli(["core", "/nowhere", *words], cwd=tmp_path)
    one_line(nowhere, 1, "goref: /nowhere: No such file or directory")


def test_core_with_the_name_of_a_verb(core, tmp_path):
    (tmp_path / "native").symlink_to(core.core)
    done = run_cli(["core", core.exe, "native", "goroutines"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


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
    """As with `| head`: no traceback."""
    line = f"{TOP}/goref core {core.exe} {core.core} | :"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment()
    )
    assert not done.stderr


@variants(newest=("default",))
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

# Ctrl-C, a time-out and a memory limit have this in common: the poll ends the
# walk. Here it does so at its first look at a walk.
_END = """
import sys
import goref.progress as p
from goref import cli
def look(self, step="", done=0, total=0, look=p.Progress.__call__):
    if done and step == "walking the heap":
        self.reason = {reason!r}
        raise KeyboardInterrupt
p.Progress.__call__ = look
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize("reason", ["", "timed out"])
def test_partial_is_marked_everywhere(farm, tmp_path, reason):
    target = farm.target("counter", CENTRAL, args=("3000000",))
    out, hook = tmp_path / "refs.pb", _END.format(reason=reason)
    words = ["core", target.exe, target.core]
    done = run_python(hook, [*words, "--json", "-o", out])
    assert done.returncode == 3, done.stderr
    said = reason or "interrupted"
    told = json.loads(done.stdout)
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
    text = run_python(hook, [*words, "scan"]).stdout
    assert f"PARTIAL: {said}: sizes are lower bounds" in text


def test_whole_profile_is_not_marked(core, tmp_path):
    out = tmp_path / "refs.pb"
    run_cli(["core", core.exe, core.core, "-o", out])
    assert not [c for c in Profile.load(out).comments if "PARTIAL" in c]


MISSING = (
    "sizes are lower bounds",
    "no object graph",
    "no search for suspects",
    "no search for finalizers",
    "no search for leaks",
    "no search for the cause of waits",
    "no retained sizes of roots",
    "no search for waste",
)


def different(ask, first, last):
    """The answers between two numbers, both included, where those to a range
    of numbers are the same. An answer may be that to the next number: where
    they change, both numbers are asked several times."""
    known = {number: ask(number) for number in (first, last)}
    ranges = [(first, last)]
    answers = set()
    while ranges:
        low, high = ranges.pop()
        if known[low] == known[high]:
            continue
        if high - low > 1:
            middle = (low + high) // 2
            known[middle] = ask(middle)
            ranges += [(low, middle), (middle, high)]
        else:
            answers.update(ask(number) for number in 3 * (low, high))
    return answers | {*known.values()}


def test_interrupt(farm):
    """Each phase of the overview says what is missing when it is ended."""
    target = farm.target("counter", CENTRAL, args=("300000",))
    words = ["core", target.exe, target.core]

    def missing(look):
        status, out, err, *_ = run_by_steps(*words, interrupt_at=look)
        assert status in (0, 1, 3) and "Traceback" not in err, (status, err)
        if status == 1:
            return "everything"
        return "".join(re.findall(r"^PARTIAL: interrupted: (.*)$", out, re.M))

    looks = count_looks(*words)
    assert missing(0) == ""
    assert different(missing, 1, looks) | {""} == {"everything", *MISSING, ""}


def test_interrupt_at_the_end():
    """When everything is said, it says nothing more."""
    done = run_python(
        """
import os
from goref import cli
end = os._exit
os._exit = lambda status: (os.kill(os.getpid(), 2), os.getpid(), end(status))
cli.main(["--version"])
"""
    )
    assert done.returncode == 0 and "goref-gdb" in done.stdout, done.stderr
    assert not done.stderr


def test_timeout(farm):
    """Between too early and too late, as a clock that moves by steps tells, a
    part of the answer comes."""
    target = farm.target("counter", CENTRAL, args=("300000",))
    early, late = 1, STEPS[-1]
    status = None
    while status != 3 and late - early > 1:
        seconds = (early + late) // 2
        status, out, err, *_ = run_by_steps(
            "core", target.exe, target.core, "--timeout", seconds
        )
        assert status in (0, 3) or "timed out" in err, err
        early, late = (seconds, late) if status == 1 else (early, seconds)
    assert "PARTIAL: timed out: " in out


@variants(newest=("c-shared", "external"))
def test_attach_to_libraries(farm, variant):
    """Go code beside the executable."""
    skip_if(attach_reason())
    target = farm.target("rest", variant, "live")
    done = run_cli(["attach", target.process.pid, "--json"])
    assert done.returncode == 0, done.stderr
    types = {t["type"]: t["objects"] for t in json.loads(done.stdout)["types"]}
    assert types["main.Event"] == 7000
    done = run_cli(["attach", target.process.pid, "--verify"])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "program, word",
    [("sleep", "not a Go program"), (None, "it has ended")],
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


_KILL = """
import os, signal, sys
import goref.live as l
from goref import cli
def copy(self, copy=l.Look.copy):
    os.kill(self.pid, signal.SIGKILL)
    return copy(self)
l.Look.copy = copy
cli.main(sys.argv[1:])
"""


def test_attach_to_what_ends_meanwhile(farm):
    skip_if(attach_reason())
    pid = farm.target("leaky", CENTRAL, "live").process.pid
    done = run_python(_KILL, ["attach", pid])
    assert done.returncode == 1, done.stdout
    said = done.stderr.splitlines()
    assert "to copy" in said[0]
    assert said[1:] == [f"goref: process {pid} ended meanwhile"]


def test_incomplete_installation(tmp_path):
    script = tmp_path / "goref"
    script.write_text(GOREF.read_text().replace("@PYTHON_DIR@", "/no/python"))
    script.chmod(0o755)
    done = run_cli(["--version"], command=script)
    one_line(done, 1, "/no/python", "installation is incomplete")


@pytest.mark.parametrize("words", [["core", "../x"], ["open", "../x"]])
def test_current_folder_is_gone(words, tmp_path):
    """A relative name is an error in one line."""
    done = run_without_folder(words, tmp_path)
    assert done.returncode == 1 and not done.stdout
    assert "Traceback" not in done.stderr
    # The shell says so, too.
    lines = [x for x in done.stderr.splitlines() if x.startswith("goref: ")]
    assert lines == ["goref: ../x: No such file or directory"], done.stderr


def test_absolute_names_need_no_current_folder(farm, tmp_path):
    target = farm.target("rest", CENTRAL)
    words = ["core", target.core, "goroutines", "--limit", "1"]
    done = run_without_folder(words, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Goroutine" in done.stdout and "Traceback" not in done.stderr


def run_without_folder(words, tmp_path):
    gone = tmp_path / "gone"
    script = 'mkdir "$1" && cd "$1" && rmdir "$1" && shift && exec "$@"'
    return subprocess.run(
        ["sh", "-c", script, "sh", gone, GOREF, *map(str, words)],
        capture_output=True, text=True, env=environment(), timeout=300,
    )  # fmt: skip

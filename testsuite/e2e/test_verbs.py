# SPDX-License-Identifier: Apache-2.0
"""The same verbs in gdb and on the command line; a core by itself; the first
look."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from mutate import copy_sparse
from session import one_line, run_cli, run_gdb, run_goref
from targets import attach_reason, kernel_cores_reason, skip_if, start
from toolchains import RELEASES, Variant, build, variants

CENTRAL = Variant("go1.24", "default")


@pytest.fixture(scope="module")
def core(farm):
    return farm.target("values", CENTRAL)


def without_times(text):
    return re.sub(r"^took .*\n", "", text, flags=re.M)


# --------------------------------------------------------------- the same verbs


def test_same_answers_as_in_gdb(core):
    place = next(iter(core.places.values()))
    name = max(core.held, key=lambda n: core.held[n]["objects"])
    asked = [
        "scan --top 3",
        f"scan -top=2 --attribution first -- {name}",
        "verify --max-differences 2",
        f"why {place}",
        f"why --attr first {place}",
    ]
    by_gdb = run_goref(core, [f"goref {question}" for question in asked])
    for question, part in zip(asked, by_gdb.parts):
        done = run_cli(["core", core.exe, core.core, *question.split()])
        assert part, (question, by_gdb.stderr)
        assert without_times(done.stdout) == without_times(part), question


def test_objects(core, tmp_path):
    line = ["core", core.exe, core.core, "objects", "--addresses"]
    done = run_cli([*line, "--out", tmp_path / "list"])
    assert done.returncode == 0, done.stderr
    listed = run_cli(line).stdout
    assert listed == (tmp_path / "list").read_text()
    scan = run_cli(["core", core.exe, core.core, "scan", "--json"])
    told = json.loads(scan.stdout)
    assert len(listed.splitlines()) == told["reached"]["objects"]


def test_objects_of_a_torn_core(core, tmp_path):
    torn = tmp_path / "torn"
    copy_sparse(core.core, torn)
    os.truncate(torn, torn.stat().st_size * 3 // 4)
    line = ["core", core.exe, torn, "objects", "--addresses"]
    done = run_cli([*line, "-o", tmp_path / "list"])
    assert done.returncode == 3, done.stderr
    assert "PARTIAL: the core file is truncated" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["{exe}", "{core}", "scan", "--json", "--top", "1"],
        ["--json", "{exe}", "--top", "1", "{core}", "scan"],
        ["{exe}", "--top", "1", "{core}", "--json", "scan"],
        ["{exe}", "{core}", "--json", "--top=1"],
        ["{core}", "scan", "--json", "--top=1"],
        ["--top", "1", "{core}", "--json"],
    ],
    ids=" ".join,
)
def test_options_anywhere(core, words):
    done = run_cli(
        ["core", *(w.format(exe=core.exe, core=core.core) for w in words)]
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["roots"]) == 1


def test_verb_behind_two_dashes_is_an_expression(core):
    done = run_cli(["core", "--json", "--", core.exe, core.core, "scan"])
    one_line(done, 2, "scan")


def test_files_named_like_verbs(core, tmp_path):
    """The first words name files, whatever they are called."""
    os.link(core.exe, tmp_path / "scan")
    os.link(core.core, tmp_path / "why")
    done = run_cli(["core", "scan", "why", "verify", "--json"], cwd=tmp_path)
    assert json.loads(done.stdout)["heap_alloc"], done.stderr


@variants(newest=("default",))
def test_attach_with_a_verb(farm, variant):
    skip_if(attach_reason())
    target = farm.target("values", variant, "live")
    pid = target.process.pid
    place = next(iter(target.places.values()))
    for words in (
        [pid, "why", place, "--json"],
        ["--max-pause", "60000", pid, "why", "--json", place],
        [pid, "why", "--json", "--threads", "1", place],
    ):
        done = run_cli(["attach", *words])
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reachable"]


@pytest.mark.parametrize("verb", ["overview", "why 0xc000000000", "verify"])
def test_time_and_memory_are_limited(core, verb):
    line = ["core", core.exe, core.core, *verb.split()]
    done = run_cli([*line, "--timeout", "0.000001"])
    one_line(done, 1, "timed out")
    done = run_cli([*line, "--memory-limit", "1k"])
    if verb == "overview":
        one_line(done, 1, "--memory-limit")


# -------------------------------------------------------------- a core by itself


@pytest.fixture
def moved(core, tmp_path):
    """The executable is not where the core says, which is never ours here."""
    skip_if(kernel_cores_reason())
    folder = tmp_path / "built"
    folder.mkdir()
    exe = folder / core.exe.name
    shutil.copy(core.exe, exe)
    process = start(exe)
    process.popen.send_signal(6)
    process.popen.wait(timeout=60)
    made = next(process.folder.glob("core*"))
    (tmp_path / "cores").mkdir()
    shutil.move(made, tmp_path / "cores" / "core")
    process.stop()
    return exe, tmp_path / "cores" / "core"


@variants(newest=("default", "pie", "external"))
def test_core_alone(farm, variant):
    target = farm.target("rest", variant)
    done = run_cli(["core", target.core, "scan", "--json"])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"]["exe"] == str(target.exe)
    assert told["complete"]


def test_core_alone_of_gcore(farm):
    target = farm.target("rest", CENTRAL, "gcore")
    done = run_cli(["core", target.core, "scan", "--json"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"]["exe"] == str(target.exe)


@pytest.mark.parametrize("how", ["beside", "here"])
def test_executable_moved_with_its_core(moved, tmp_path, how):
    exe, core = moved
    one = run_cli(["core", core, "verify"], cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    folder = core.parent if how == "beside" else tmp_path
    shutil.move(exe, folder / exe.name)
    done = run_cli(["core", core, "verify", "--json"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"]["exe"] == str(folder / exe.name)
    (folder / exe.name).unlink()
    done = run_cli(["core", core, "verify"], cwd=tmp_path)
    one_line(done, 1, str(exe), "is not there", f"goref core EXE {core}")


@pytest.mark.parametrize("how", ["in its place", "beside", "here"])
def test_executable_of_another_build(moved, tmp_path, how):
    """It is neither taken nor run."""
    exe, core = moved
    exe.unlink()
    folder = {"in its place": exe.parent, "beside": core.parent}
    other = folder.get(how, tmp_path) / exe.name
    shutil.copy(build("values", CENTRAL.release, "noopt"), other)
    done = run_cli(["core", core], cwd=tmp_path)
    one_line(done, 1, str(other), "is not the program of", "build ids")
    # Nor if it is given.
    done = run_cli(["core", other, core], cwd=tmp_path)
    one_line(done, 1, str(other), "is not the program of", "build ids")


def test_a_library_is_no_program(moved, tmp_path):
    """A library is one, with the name of what it stands in for. That libc can
    be run makes it no program; and a program of another name is not ours."""
    exe, core = moved
    libc = next(line.split()[-1] for line in
                Path("/proc/self/maps").read_text().splitlines()
                if "/libc.so" in line)  # fmt: skip
    done = run_cli(["core", libc, core])
    one_line(done, 1, f"{libc} is a shared library, and not the program of",
             "the program is ", f"/{exe.name}")  # fmt: skip
    other = tmp_path / "other"
    shutil.copy(build("values", CENTRAL.release, "noopt"), other)
    done = run_cli(["core", other, core])
    one_line(done, 1, f"{other} is not the program of", "build ids",
             "; the program is ", f"/{exe.name}")  # fmt: skip


def test_what_lies_beside_is_not_run(moved, tmp_path):
    exe, core = moved
    exe.unlink()
    trap = core.parent / exe.name
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    (core.parent / f"{exe.name}-gdb.py").write_text(
        f"open('{tmp_path}/ran', 'w')"
    )
    one_line(run_cli(["core", core], cwd=core.parent), 1, "is not there")
    assert not (tmp_path / "ran").exists()


def test_exe_behind_core(core):
    done = run_cli(["core", core.core, core.exe])
    one_line(done, 2, "EXE comes before CORE", str(core.exe))


@pytest.mark.parametrize("tool, ending", [("zstd", "zst"), ("xz", "xz"),
                                          ("gzip", "gz")])  # fmt: skip
@pytest.mark.parametrize("words", [[], ["why", "0x1"]])
def test_packed_core(tmp_path, core, tool, ending, words):
    """Refused with the command that unpacks it."""
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")
    packed = tmp_path / f"my core.{ending}"
    with open("/bin/sh", "rb") as some, open(packed, "wb") as out:
        subprocess.run([tool, "-c"], stdin=some, stdout=out, check=True)
    for files in ([packed], [core.exe, packed]):
        done = run_cli(["core", *files, *words])
        one_line(done, 1, "is compressed with", shlex.quote(str(packed)))
    command = done.stderr.partition("unpack it first: ")[2]
    subprocess.run(["sh", "-c", command], check=True, stderr=subprocess.PIPE)
    assert (tmp_path / "my core").exists()


@pytest.mark.parametrize("name", ["empty", "text"])
def test_no_core_at_all(tmp_path, name):
    path = tmp_path / name
    path.write_text("" if name == "empty" else "some text")
    done = run_cli(["core", path])
    said = "empty" if name == "empty" else "neither a core nor an executable"
    one_line(done, 1, f"goref: {path} is {said}")


# ---------------------------------------------------------------- the first look


@variants(newest=("default",))
def test_overview(farm, variant):
    target = farm.target("values", variant)
    done = run_cli(["core", target.core])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("nothing stands out: no deadlock found; ")
    assert lines[2] == f"core {target.core} of {target.exe}"
    assert re.match(rf"{variant.release}\S*, no collection running$", lines[3])
    assert re.search(r"^heap: [\d,]+ objects, .* reached 100.0 %", done.stdout,
                     re.M)  # fmt: skip
    assert re.search(r"^goroutines: \d+ \(1 .*, \d+ of the runtime\)$",
                     done.stdout, re.M)  # fmt: skip
    assert len(lines) < 40
    commands = [line for line in lines if line.startswith("  goref core ")]
    assert len(commands) >= 2
    for line in commands:
        words = re.split(r"\s{2,}", line.strip())[0].split()
        assert run_cli(words[1:]).returncode == 0, line


def test_overview_agrees_with_scan(core):
    run = run_goref(
        core,
        ["goref overview --json", "goref scan --json --top 5 --retained"],
    )
    overview, scan = run.json(0), run.json(1)
    assert overview["schema"] == 1
    assert overview["partial"] == [] and overview["complete"]
    for key in ("tool_version", "go_version", "target", "roots", "types",
                "gaps", "warnings"):  # fmt: skip
        assert overview[key] == scan[key], key
    heap, reached = overview["heap"], scan["reached"]
    assert heap["reached"]["objects"] == reached["objects"]
    assert heap["unreached"] == scan["unreached"]
    assert "goref scan" in overview["next"]
    by_cli = run_cli(["core", core.core, "overview", "--json"])
    told = json.loads(by_cli.stdout)
    assert told.keys() == overview.keys()
    assert told["roots"] == overview["roots"]
    assert f"goref core {core.core} scan" in told["next"]


def test_overview_needs_no_second_walk(core):
    run = run_goref(
        core,
        ["goref overview", "python import goref.session as s",
         "python walk = s.current.scan.walk",
         "python results = len(s.current.results)",
         "goref scan --json",
         "python print(results, len(s.current.results))"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert run.parts[5].split() == ["1", "1"]


def test_rows_of_the_overview(core):
    words = ["core", core.core, "overview", "--json", "--top"]
    assert len(json.loads(run_cli([*words, "2"]).stdout)["types"]) == 2
    assert len(json.loads(run_cli([*words, "0"]).stdout)["types"]) > 5


@pytest.mark.parametrize("how", ["panic", "fault"])
@pytest.mark.parametrize("release", RELEASES[-1:])
def test_what_stopped_it(farm, how, release):
    skip_if(kernel_cores_reason())
    process = farm.process("crash", Variant(release, "default"), (how,))
    process.popen.stdin.write(b"\n")
    process.popen.stdin.flush()
    process.popen.wait(timeout=60)
    made = next(process.folder.glob("core*"))
    done = run_cli(["core", made, "overview", "--json"])
    assert done.returncode == 0, done.stderr
    stopped = json.loads(done.stdout)["stopped_by"]
    assert stopped["signal"] == "SIGABRT"
    assert stopped["sent_by"] == process.pid
    assert stopped["goroutine_id"] == 1, stopped
    farm.forget("crash")


def test_fault_of_a_process_in_gdb():
    """gdb sees the signal before the program does."""
    exe = build("crash", CENTRAL.release)
    run = run_gdb(
        [exe], ["run fault </dev/null >/dev/null", "goref overview --json"]
    )
    stopped = run.json(1)["stopped_by"]
    assert stopped["signal"] == "SIGSEGV"
    assert stopped["address"] is not None
    assert stopped["goroutine_id"] == 1


def test_process_that_is_only_looked_at(farm):
    """A debugger's own stop is no signal; what goes on was not stopped."""
    skip_if(attach_reason())
    target = farm.target("values", CENTRAL, "live")
    questions = ["goref overview --json", "goref overview"]
    run = run_goref(target, questions, in_gdb=True)
    stopped = run.json(0)["stopped_by"]
    assert stopped["signal"] is None and stopped["thread"]
    assert "stopped by a debugger" in run.parts[1]
    done = run_cli(["attach", target.process.pid, "overview", "--json"])
    told = json.loads(done.stdout)
    assert told["stopped_by"] is None
    assert f"goref attach {target.process.pid} scan" in told["next"]


def test_partial_overview(core, tmp_path):
    torn = tmp_path / "torn"
    copy_sparse(core.core, torn)
    os.truncate(torn, torn.stat().st_size * 3 // 4)
    done = run_cli(["core", core.exe, torn])
    assert done.returncode == 3, done.stderr
    assert re.search(r"^PARTIAL: .*truncated", done.stdout, re.M)
    done = run_cli(["core", core.exe, torn, "overview", "--json"])
    assert done.returncode == 3
    assert "truncated" in json.loads(done.stdout)["partial"][0]


def test_overview_of_a_stripped_program(farm):
    target = farm.target("rest", Variant("go1.24", "nodwarf"))
    done = run_cli(["core", target.core])
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("debug inf") == 1
    assert "debug inf" not in done.stdout


# -------------------------------------------------------------------------- help


@pytest.mark.parametrize(
    "words",
    [
        ["why", "--help"],
        ["core", "why", "--help"],
        ["attach", "1", "why", "-h"],
    ],
    ids=" ".join,
)
def test_help_of_a_verb(words):
    done = run_cli(words)
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("Usage: goref core [EXE] CORE why ")


def test_help_in_full():
    short = run_cli(["attach", "--help"]).stdout
    full = run_cli(["help", "attach"]).stdout
    assert "SIGKILL" in full and "SIGKILL" not in short


def test_statuses_are_in_help():
    text = run_cli(["--help"]).stdout
    for number in range(5):
        assert re.search(rf"^  {number}  ", text, re.M)

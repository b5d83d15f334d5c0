# SPDX-License-Identifier: Apache-2.0
"""goref trace on the command line: the files that it writes, and what it
refuses in one line."""

import json
import os
import re
import signal
import subprocess

import pytest

from pprof import Profile
from session import run_cli, run_gdb
from targets import start
from toolchains import Variant, build, build_c
from traces import MIB, Growing, Trace, skip_unless_traced

CENTRAL = Variant("go1.24", "cgo")
SHORT = ["--every", "0.2", "--count", "2", "--look", "none"]


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "no PID given"),
        (["rss"], "PID comes first"),
        (["1", "heap"], "there is no mode heap"),
        (["1", "--for", "soon"], "not a time: soon"),
        (["1", "--max-overhead", "0"], "must be above 0 % and at most 100 %"),
        (["1", "--", "ls"], "give a PID or `-- COMMAND', not both"),
        (["1", "rss", "go"], "only one mode"),
        (["1", "--format", "folded"], "--format needs --out"),
        (["1", "--out", "x", "--html", "./x"], "name the same file"),
        (["1", "--"], "no COMMAND after"),
        (["1", "--timeout", "3"], "unrecognized arguments"),
    ],
)
def test_wrong_words(words, said, tmp_path):
    done = run_cli(["trace", *words], cwd=tmp_path)
    assert done.returncode == 2 and not done.stdout
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert "goref trace --help" in done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        (["999999999"], "cannot trace process 999999999: "),
        (["1", "--out", "none/x"], "none/x"),
        (["--", "no-such-command"], "there is no such command"),
    ],
)
def test_what_cannot_be(words, said, tmp_path):
    done = run_cli(["trace", *words], cwd=tmp_path)
    assert done.returncode == 1 and not done.stdout
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_program_of_c():
    exe = build_c("#include <unistd.h>\nint main(void) { pause(); }\n")
    with subprocess.Popen([exe]) as target:
        try:
            done = run_cli(["trace", target.pid])
        finally:
            target.kill()
    assert done.returncode == 1
    assert "Go" in done.stderr and done.stderr.count("\n") == 1


def test_behind_attach():
    done = run_cli(["attach", str(os.getpid()), "trace"])
    assert done.returncode == 2
    assert f"write `goref trace {os.getpid()} ...'" in done.stderr


def test_in_gdb():
    run = run_gdb([], ["goref trace 1", "help goref trace"])
    assert "does not grow" in run.stderr and "in a shell" in run.stderr
    assert "Ctrl-C ends the trace early" in run.parts[1]


# ----------------------------------------------------------------------- files


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A trace that has written all files, their folder, and its intervals."""
    skip_unless_traced()
    folder = tmp_path_factory.mktemp("trace")
    words = ["--every", "0.2", "--for", "10m", "--look", "none", "--idle",
             "--max-overhead", "100"]  # fmt: skip
    words += ["--out", folder / "out", "--html", folder / "page"]
    with Growing(CENTRAL) as program:
        with Trace(program.pid, *words) as trace:
            trace.interval()
            program.grow("sessions", 4 * MIB)
            program.grow("plain", 4 * MIB)
            trace.interval()
            trace.interval()
            yield trace.end(2), folder, trace.intervals


def test_profile(grown):
    """All stacks are in the profile, with their bytes."""
    document, folder, _ = grown
    profile = Profile.load(folder / "out")
    assert sum(s.values[-1] for s in profile.samples) == sum(
        stack["bytes"] for stack in document["stacks"]
    )
    names = {name for s in profile.samples for name in s.path}
    assert {"main.openSessions", "plain_grow", "main.main"} <= names


def test_page(grown):
    """Each class that has changed has a band, also if it changed back."""
    _, folder, intervals = grown
    page = (folder / "page").read_text()
    changed = {
        row["name"]
        for interval in intervals
        for row in interval["classes"]
        if row["growth_bytes"]
    }
    assert page.count("<polygon") == len(changed)
    assert "main.openSessions" in page and "plain_grow in plain" in page


def test_idle(grown):
    document, *_ = grown
    rows = document["idle"]
    assert sum(row["rss_bytes"] for row in rows) >= 8 * MIB
    assert all(row["idle_bytes"] <= row["rss_bytes"] for row in rows)


def test_folded(tmp_path):
    skip_unless_traced()
    out = tmp_path / "stacks"
    with Growing(CENTRAL) as program:
        words = ["--out", out, "--format", "folded", "--look", "none"]
        words += ["--every", "0.2", "--for", "10m", "--max-overhead", "100"]
        with Trace(program.pid, *words) as trace:
            trace.interval()
            program.grow("table", 4 * MIB)
            trace.interval()
            document = trace.end(2)
    lines = [line.rsplit(" ", 1) for line in out.read_text().splitlines()]
    assert sum(int(size) for _, size in lines) == sum(
        stack["bytes"] for stack in document["stacks"]
    )
    largest = max(lines, key=lambda line: int(line[1]))[0]
    assert largest.startswith("runtime.goexit;runtime.main;main.main;")
    assert largest.endswith("[modules]") and "grow_table" in largest


def test_text():
    """The text has a line an interval, and ends with what it rests on."""
    skip_unless_traced()
    with Growing(CENTRAL) as program:
        done = run_cli(["trace", program.pid, *SHORT])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["time", "resident", "change", "largest",
                                "changes"]  # fmt: skip
    assert lines[1].split()[:2] == ["0.2", "s"]
    assert "memory that was there before the start" in done.stdout
    assert f"process {program.pid}: probes:\n  page faults" in done.stderr
    forecast = re.search(
        r"^forecast: the probes add about (\d+\.\d) us to a page fault; there "
        r"are ([\d,]+) a second now, so about (\d+\.\d\d) % of a processor "
        r"if none repeats the call of another; the limit is 1 %",
        done.stderr,
        re.M,
    )
    assert forecast and float(forecast[1]) > 0, done.stderr


@pytest.mark.parametrize(
    "mode, said",
    [
        ("go", "forecast: the program takes a sample for about "),
        ("kernel", "forecast: neither how often the kernel will allocate"),
    ],
)
def test_forecast_of_a_mode(mode, said):
    skip_unless_traced()
    exe = build("allocating", "go1.24", "default")
    process = start(exe, [str(64 << 10)])
    words = [*SHORT[:4], *(SHORT[4:] if mode == "go" else [])]
    try:
        done = run_cli(["trace", process.pid, mode, *words])
    finally:
        process.stop()
    assert done.returncode in (0, 3), done.stderr
    assert said in done.stderr and "the limit is 1 %" in done.stderr
    if mode == "go":
        assert "64.0 KiB allocated, which is 16,384 for each GiB" in done.stderr


def test_json_is_one_document_a_line():
    skip_unless_traced()
    with Growing(CENTRAL) as program:
        done = run_cli(["trace", program.pid, "--json", *SHORT])
    first, second, last = map(json.loads, done.stdout.splitlines())
    assert second["begin_s"] == first["end_s"]
    assert last["look"] == "--look none" and last["pid"] == program.pid
    assert last["exe"].endswith("/traced")


def test_a_full_disk():
    """The answer is printed: what happened cannot be measured again."""
    skip_unless_traced()
    with Growing(CENTRAL) as program:
        for option in ("--out", "--html"):
            words = [*SHORT, option, "/dev/full"]
            done = run_cli(["trace", program.pid, *words])
            assert done.returncode == 1
            assert f"process {program.pid} (traced):" in done.stdout
            assert "/dev/full" not in done.stdout
            assert "cannot write /dev/full" in done.stderr.splitlines()[-1]


def test_a_script_that_becomes_the_program(tmp_path):
    """All programs before the one of Go are its beginning."""
    skip_unless_traced()
    exe = build("traced", CENTRAL.release, CENTRAL.flavour)
    os.mkfifo(tmp_path / "input")
    to = f"0<>{tmp_path}/input >/dev/null 2>&1"
    script = f"exec {to}; exec sh -c 'exec {exe}'"
    words = [*SHORT, "--json", "--", "sh", "-c", script]
    done = run_cli(["trace", *words])
    document = json.loads(done.stdout.splitlines()[-1])
    os.kill(document["pid"], signal.SIGKILL)
    assert document["ended"] is None and document["rss_before_bytes"] == 0
    assert document["exe"] == str(exe) and document["rss_after_bytes"] > MIB

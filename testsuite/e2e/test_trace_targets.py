# SPDX-License-Identifier: Apache-2.0
"""goref trace of processes that change: they fork, load and unload libraries,
have many threads, begin another program or end; commands; and readers of the
answer that end."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from session import GOREF, environment
from targets import start, unshared
from toolchains import build, build_c
from traces import MIB, PAGE, Trace, library, skip_unless_traced
from waiting import LONGEST_S, comes

WORDS = ("--every", "0.5s", "--for", "10m", "--max-overhead", "100")


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


@pytest.fixture
def exe():
    return build("changing", "go1.24", "cgo")


@pytest.fixture
def program(exe):
    process = start(exe)
    yield process
    process.stop()


def do(process, *words):
    """Have it do something, and wait until it has."""
    say(process, *words)
    assert process.read_line() == "done"


def say(process, *words):
    process.popen.stdin.write(" ".join(map(str, words)).encode() + b"\n")
    process.popen.stdin.flush()


def touched(document, function):
    """The bytes of the stacks with a function, which are all finished."""
    stacks = [
        stack
        for stack in document["stacks"]
        if any(call["function"] == function for call in stack["frames"])
    ]
    assert all(stack["finished"] for stack in stacks), stacks
    return sum(stack["bytes"] for stack in stacks)


def growth(document):
    return document["rss_after_bytes"] - document["rss_before_bytes"]


def test_a_child_does_not_count(program):
    with Trace(program.pid, *WORDS) as trace:
        trace.interval()
        do(program, "child", 16 * MIB)
        do(program, "heap", 8 * MIB)
        trace.interval()
        document = trace.end(signal.SIGINT)
    assert touched(document, "touch_in_child") == 0
    assert touched(document, "main.touchHeap") == pytest.approx(
        8 * MIB, rel=0.03
    )
    assert 8 * MIB <= growth(document) < 10 * MIB


def test_libraries_that_come_and_go(program):
    """The second one may lie where the first one was."""
    with Trace(program.pid, *WORDS) as trace:
        trace.interval()
        for name in ("framed", "plain"):
            do(program, "load", library(name), f"{name}_grow")
            do(program, "call", 4 * MIB)
            trace.interval()
            trace.interval()
            do(program, "unload")
            trace.interval()
        document = trace.end(signal.SIGINT)
    for name in ("framed", "plain"):
        assert touched(document, f"{name}_grow") == pytest.approx(
            4 * MIB, rel=0.03
        )


def test_five_hundred_threads(program):
    """Each touches 16 pages, and all are seen."""
    size = 500 * 16 * PAGE
    with Trace(program.pid, *WORDS) as trace:
        trace.interval()
        do(program, "threads", 500, size)
        trace.interval()
        document = trace.end(signal.SIGINT)
    assert touched(document, "touch_in_thread") == size
    assert document["dropped"] == 0


def test_another_program(program):
    """The trace ends there, and does not mix up the two."""
    with Trace(program.pid, *WORDS) as trace:
        do(program, "heap", 8 * MIB)
        before = trace.interval()
        say(program, "exec")
        assert program.read_line() == "{}"
        document = trace.end()
    assert document["ended"] == "the process began another program"
    assert document["rss_after_bytes"] == trace.intervals[-1]["rss_bytes"]
    assert document["rss_after_bytes"] >= before["rss_bytes"] >= 8 * MIB
    assert not document["complete"] and trace.popen.returncode == 3
    assert any("is not known" in line for line in document["partial"])
    do(program, "heap", MIB)


def test_the_process_ends(program):
    """The answer is about the time until then."""
    with Trace(program.pid, *WORDS) as trace:
        trace.interval()
        do(program, "heap", 8 * MIB)
        trace.interval()
        trace.interval()
        say(program, "exit", 3)
        document = trace.end()
    assert document["ended"] == "the process has ended"
    assert touched(document, "main.touchHeap") == pytest.approx(
        8 * MIB, rel=0.03
    )
    assert trace.popen.returncode == 3


def test_a_stopped_process(program):
    """It cannot fork for a snapshot; goref says how it can be copied."""
    os.kill(program.pid, signal.SIGSTOP)
    try:
        for way, said in (("snapshot", "use --look attach"), ("attach", None)):
            words = ("--every", "0.2s", "--count", "1", "--look", way)
            with Trace(program.pid, *words) as trace:
                look = trace.end()["look"]
            assert said in look if said else look is None
    finally:
        os.kill(program.pid, signal.SIGCONT)
    do(program, "heap", MIB)


# ------------------------------------------------------------------- commands


def goref(*words, **options):
    """A run of goref trace."""
    return subprocess.run(
        ["env", "--default-signal=INT", GOREF, "trace", *map(str, words)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LONGEST_S,
        **options,
    )


class Commanded(Trace):
    """goref trace of a command that reads lines from us."""

    def __init__(self, *words):
        self.reads, self.writes = os.pipe()
        super().__init__(*words, stdin=self.reads)
        os.close(self.reads)

    def say(self, *words):
        os.write(self.writes, " ".join(map(str, words)).encode() + b"\n")

    def interval(self):
        """Lines of the command are among ours."""
        while True:
            line = self.popen.stdout.readline()
            assert line, self.popen.communicate()[1]
            if line.startswith('{"'):
                self.intervals.append(json.loads(line))
                return self.intervals[-1]

    def end(self, number=None):
        if number is not None:
            self.popen.send_signal(number)
        out, self.said = self.popen.communicate()
        os.close(self.writes)
        lines = [json.loads(x) for x in out.splitlines() if x[:2] == '{"']
        self.intervals += lines[:-1]
        return lines[-1]


@pytest.mark.parametrize("mode", ["rss", "go"])
def test_command(exe, mode):
    """It is traced from its start until it ends, and all of it is growth."""
    with Commanded(mode, "--every", "0.5s", "--max-overhead", "100", "--",
                   exe) as trace:  # fmt: skip
        trace.interval()
        trace.say("heap", 8 * MIB)
        trace.interval()
        trace.interval()
        trace.say("exit", 5)
        document = trace.end()
    assert document["rss_before_bytes"] == 0
    assert document["mode"] == "rss"  # the program has no profiler
    assert growth(document) > 10 * MIB
    assert touched(document, "main.touchHeap") == pytest.approx(
        8 * MIB, rel=0.03
    )
    has_note = "samples no allocations" in trace.said
    assert has_note == (mode == "go")


def test_stacks_from_the_first_moment(exe):
    """Those of Go are whole, also before anybody could read its tables."""
    with Commanded("--every", "0.5s", "--max-overhead", "100", "--",
                   exe, f"heap,{4 * MIB}") as trace:  # fmt: skip
        trace.interval()
        trace.say("exit", 0)
        document = trace.end()
    assert touched(document, "main.touchHeap") == pytest.approx(
        4 * MIB, rel=0.05
    )


def goref_alone(folder, *words):
    """Status and standard error of a run that leaves a command, which has its
    files."""
    with (
        open(folder / "out", "w") as out,
        open(folder / "err", "w+") as err,
        subprocess.Popen(
            [GOREF, "trace", *map(str, words)],
            stdin=subprocess.PIPE, stdout=out, stderr=err, env=environment(),
        ) as popen,
    ):  # fmt: skip
        status = popen.wait(LONGEST_S)
        err.seek(0)
        return status, err.read()


GOES_ON = re.compile(r"the command goes on as process (\d+)\n")


def test_command_goes_on(tmp_path, exe):
    status, said = goref_alone(
        tmp_path, "--every", "0.5s", "--count", "1", "--look", "none", "--", exe
    )
    assert status == 0, said
    assert GOES_ON.search(said)  # and ends with its input


NOT_GO = "int main(void) { for (;;) __builtin_ia32_pause(); }\n"


@pytest.mark.parametrize(
    "words, said",
    [
        (["/nowhere/server"], "/nowhere/server: there is no such command"),
        ([""], "the name of the command is empty"),
        (["/etc/passwd"], "/etc/passwd: it is not executable"),
        (["/etc/passwd/x"], "/etc/passwd/x: there is no such command"),
        (["/tmp"], "/tmp: it is a folder, not a command"),
    ],
    ids=["none", "empty", "not executable", "not a folder", "folder"],
)
def test_commands_that_cannot_be(words, said):
    """Nothing is probed for them."""
    done = goref("--", *words)
    assert done.returncode == 1
    assert done.stderr == f"goref: {said}\n"


def end_of(done):
    """The lines after the forecast."""
    before, found, after = done.stderr.partition("forecast: ")
    assert found and "\n  page faults in user mode\n" in before
    return after.partition("\n")[2]


@pytest.mark.parametrize("words", [["true"], ["sh", "-c", "exit 7"]])
def test_commands_that_end_at_once(words):
    done = goref("--", *words)
    assert done.returncode == 1
    assert re.fullmatch(
        f"goref: {words[0]} ended before it could be read"
        "(: .* is not a Go program.*)?\n",
        end_of(done),
    ), done.stderr


def test_a_command_without_a_format(tmp_path):
    path = tmp_path / "x"
    path.write_text("hello\n")
    path.chmod(0o755)
    done = goref("--", path)
    assert done.returncode == 1
    assert end_of(done) == f"goref: {path}: Exec format error\n"


def test_a_command_that_ends_before_its_trace(exe):
    """In the mode go the trace begins when the program is there; it ends with
    its input."""
    done = goref("go", "--", exe, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert re.search(
        f"goref: {exe} ended before (it could be read|its trace began)\n$",
        done.stderr,
    ), done.stderr


def test_a_command_that_is_not_go(tmp_path):
    """It goes on, and its number is said."""
    exe = build_c(NOT_GO)
    status, said = goref_alone(tmp_path, "--", exe)
    assert status == 1
    assert said.splitlines()[-1].startswith(f"goref: {exe} is not a Go program")
    os.kill(int(GOES_ON.search(said)[1]), signal.SIGKILL)


# -------------------------------------------------------------------- signals


def helpers_of(pid):
    """The processes goref-trace that trace a process."""
    done = subprocess.run(
        ["pgrep", "-f", f"goref-trace {pid}$"], capture_output=True, text=True
    )
    return done.stdout.split()


def test_terminated(program):
    """It ends by the signal, and leaves no helper."""
    with Trace(program.pid, *WORDS) as trace:
        trace.interval()
        assert helpers_of(program.pid)
        trace.popen.send_signal(signal.SIGTERM)
        trace.popen.communicate()
        assert trace.popen.returncode == -signal.SIGTERM
    assert comes(lambda: not helpers_of(program.pid))
    do(program, "heap", MIB)


def test_ctrl_c_twice(program):
    """The second one ends the look, or comes too late for it. The answer is
    printed in any case."""
    with Trace(program.pid, *WORDS) as trace:
        trace.interval()
        trace.popen.send_signal(signal.SIGINT)
        document = trace.end(signal.SIGINT)
        assert trace.popen.returncode in (0, 3), trace.said
    assert document["ended"] == "Ctrl-C"
    assert document["look"] in (None, "Ctrl-C")
    assert comes(lambda: not helpers_of(program.pid))


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_nobody_reads_the_answer(program, form):
    """As with `| head -1`: it ends at the next line."""
    with subprocess.Popen(
        [GOREF, "trace", *form, *WORDS, str(program.pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as popen:
        assert popen.stdout.readline()
        popen.stdout.close()
        assert popen.wait(LONGEST_S) != 0
        assert "Traceback" not in popen.stderr.read()
    assert comes(lambda: not helpers_of(program.pid))
    do(program, "heap", MIB)


# ----------------------------------------------------------------- containers


def check_growth(process, pid):
    """A trace in which the process grows by a known amount."""
    with Trace(pid, *WORDS) as trace:
        trace.interval()
        do(process, "heap", 8 * MIB)
        trace.interval()
        document = trace.end(signal.SIGINT)
    assert touched(document, "main.touchHeap") == pytest.approx(
        8 * MIB, rel=0.03
    )
    return document


def test_container(exe, tmp_path):
    """A process in a pid namespace of its own, with a deleted executable."""
    copy = tmp_path / "server"
    shutil.copy(exe, copy)
    with unshared(copy) as (process, pid):
        copy.unlink()
        document = check_growth(process, pid)
    assert document["look"] is None


def test_another_root(tmp_path):
    """A process with a root of its own, in which its program lies."""
    static = build("changing", "go1.24", "static")
    with unshared(static, root=tmp_path) as (process, pid):
        check_growth(process, pid)

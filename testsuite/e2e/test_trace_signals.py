# SPDX-License-Identifier: Apache-2.0
"""SIGINT, SIGTERM and SIGHUP to goref trace, at known steps and at any moment:
it prints what it has, or one line; the process goes on, and nothing is left but
a command that has begun, whose number is said."""

import json
import os
import random
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from session import GOREF, environment
from signalled import living
from test_trace_moments import Stepped, Target
from toolchains import Variant, build
from traces import Growing, skip_unless_traced
from waiting import LONGEST_S, comes

CENTRAL = Variant("go1.24", "cgo")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
NO_RESULT = "goref: a signal has ended the trace, which has no result"
GOES_ON = re.compile(r"the command goes on as process (\d+)\n")
MOMENTS = int(os.environ.get("GOREF_KILLS", "20")) // 5
SEED = 11


@pytest.fixture(scope="module")
def target():
    skip_unless_traced()
    with Growing(CENTRAL) as program:
        yield Target(program)


class Told:
    """goref trace, with what it says in files, and its marked processes."""

    count = 0

    def __init__(self, folder, *words):
        Told.count += 1
        self.folder = folder
        self.mark = f"GOREF_TEST_TOLD={os.getpid()}.{Told.count}"
        name, _, value = self.mark.partition("=")
        (folder / "tmp").mkdir(exist_ok=True)
        self.popen = subprocess.Popen(
            ["env", "--default-signal=INT", GOREF, "trace",
             "--every", "0.2s", "--for", "10m", *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=open(folder / "out", "w"),
            stderr=open(folder / "err", "w"),
            env={**environment(), name: value, "TMPDIR": str(folder / "tmp")},
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdin.close()
        end_all(self.mark)

    def said(self):
        return (self.folder / "err").read_text()

    def answer(self):
        return (self.folder / "out").read_text()

    def has_intervals(self):
        return self.answer().count("\n") > 2

    def is_pending(self, number):
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        found = re.search(r"ShdPnd:\s*(\w+)", status)[1]
        return bool(int(found, 16) >> number - 1 & 1)

    def end(self, number):
        self.popen.send_signal(number)
        return self.popen.wait(LONGEST_S)


def end_all(mark):
    """End the command that a run has left."""
    for pid in living(mark):
        os.kill(int(pid), signal.SIGKILL)


def check_left(mark, said):
    """Nothing runs but a command whose number is said."""
    found = GOES_ON.findall(said)
    assert len(found) < 2, said
    assert comes(lambda: {*living(mark)} == {*found}), (living(mark), said)


@pytest.mark.parametrize("number", SIGNALS)
def test_in_an_interval(target, tmp_path, number):
    """Ctrl-C prints what there is. The others end it, with one line."""
    with Told(tmp_path, target.pid) as run:
        assert comes(run.has_intervals)
        status = run.end(number)
        check_left(run.mark, run.said())
    is_interrupt = number == signal.SIGINT
    assert status == (0 if is_interrupt else -number)
    assert ("ended early: Ctrl-C" in run.answer()) == is_interrupt
    assert run.said().endswith(f"{NO_RESULT}\n") == (not is_interrupt)
    assert not os.listdir(tmp_path / "tmp")
    target.check()


@contextmanager
def stopped_helper(run):
    """The helper does not go on."""
    (pid,) = (
        pid
        for pid in living(run.mark)
        if Path(f"/proc/{pid}/comm").read_text() == "goref-trace\n"
    )
    os.kill(int(pid), signal.SIGSTOP)
    yield
    assert comes(lambda: not living(run.mark))


def test_helper_that_hangs(target, tmp_path):
    """Ctrl-C waits for it, and once more does not."""
    with Told(tmp_path, "--json", target.pid) as run:
        assert comes(run.has_intervals)
        with stopped_helper(run):
            run.popen.send_signal(signal.SIGINT)
            # goref takes the first one before the second one comes.
            assert comes(lambda: not run.is_pending(signal.SIGINT))
            assert run.end(signal.SIGINT) == 3
    found = json.loads(run.answer().splitlines()[-1])
    assert found["ended"] == found["look"] == "goref-trace does not answer"
    assert found["overhead_percent"] is None
    (reason,) = found["partial"]
    assert reason.startswith("goref-trace does not answer, so the stacks")
    target.check()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_while_the_helper_hangs(target, tmp_path, number):
    with Told(tmp_path, target.pid) as run:
        assert comes(run.has_intervals)
        with stopped_helper(run):
            assert run.end(number) == -number
    assert run.said().endswith(f"{NO_RESULT}\n")
    target.check()


def ended_alone(run, number):
    """A signal ends goref and leaves the command, whose number goref prints:
    the exit status, and what goref said."""
    status, said = run.end(number), run.said()
    assert len(GOES_ON.findall(said)) == 1, said
    check_left(run.mark, said)
    return status, said


@pytest.mark.parametrize("number", SIGNALS)
def test_command_in_an_interval(tmp_path, number):
    """A signal to goref alone leaves the command."""
    skip_unless_traced()
    exe = build("changing", "go1.24", "cgo")
    with Told(tmp_path, "--look", "none", "--", exe) as run:
        assert comes(run.has_intervals)
        status, said = ended_alone(run, number)
    is_interrupt = number == signal.SIGINT
    assert status == (0 if is_interrupt else -number)
    assert ("ended early: Ctrl-C" in run.answer()) == is_interrupt
    assert (f"{NO_RESULT}; " in said) == (not is_interrupt)


def test_ctrl_c_of_a_terminal(tmp_path):
    """The command gets it, too, and ends by it. The answer is printed,
    whichever of the two goref sees first."""
    skip_unless_traced()
    exe = build("changing", "go1.24", "cgo")
    with Told(tmp_path, "--look", "none", "--", exe) as run:
        assert comes(run.has_intervals)
        os.killpg(run.popen.pid, signal.SIGINT)
        assert run.popen.wait(LONGEST_S) in (0, 3), run.said()
        assert comes(lambda: not living(run.mark))
    assert "\nended early: " in run.answer()


WAITS = "trap 'exit 9' TERM; echo; read x"


@pytest.mark.parametrize("number", SIGNALS)
def test_command_that_is_not_there_yet(tmp_path, number):
    """A shell runs, and goref waits for a program of Go."""
    skip_unless_traced()
    with Told(tmp_path, "--", "sh", "-c", WAITS) as run:
        assert comes(lambda: run.answer() == "\n")
        status, said = ended_alone(run, number)
    is_interrupt = number == signal.SIGINT
    assert status == (1 if is_interrupt else -number)
    assert ("goref: interrupted\n" in said) == is_interrupt
    assert "Traceback" not in said


class Signalled(Stepped):
    """A run of goref that gets a signal at a moment."""

    def __init__(self, target, words, folder):
        words = ["env", "--default-signal=INT", str(GOREF), "trace", *words]
        self.error = folder / "err"
        with open(self.error, "w") as error:
            super().__init__(
                target, words, stdin=subprocess.PIPE, stderr=error
            )


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("of", ["pid", "command"])
def test_at_any_moment(target, tmp_path, of, number):
    words = ["--every", "0.1s", "--count", "3"]
    if of == "pid":
        words += [str(target.pid)]
    else:
        words += ["--", str(build("changing", "go1.24", "cgo"))]
    whole = Signalled(target, words, tmp_path)
    steps, status = whole.until(0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 3)
    end_all(whole.mark)
    rng, signalled = random.Random(f"{SEED} {of} {number}"), 0
    for i in range(MOMENTS):
        at = int(steps * (0.1 + 0.9 * (i + rng.random()) / MOMENTS)) + 1
        run = Signalled(target, words, tmp_path)
        _, status = run.until(at, number)
        said = run.error.read_text()
        print(f"{number!r} at {at} of {steps}: status {status}: {said}")
        assert "Traceback" not in said
        assert said.count(NO_RESULT) < 2
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == number != signal.SIGINT
            signalled += 1
        else:
            assert os.WEXITSTATUS(status) in (0, 1, 3)
        check_left(run.mark, said)
        run.check_no_programs()
        run.popen.stdin.close()
        end_all(run.mark)
        target.check()
    assert signalled or number == signal.SIGINT

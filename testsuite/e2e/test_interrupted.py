# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and --timeout end the command line at any moment: with a status that
says so, and with what was found so far or nothing."""

import re
import signal
import subprocess

import pytest

from asking import STEPS, count_looks, run_by_steps, some_looks
from hosts import hooked
from session import GOREF, environment, run_cli, run_gdb
from targets import attach_reason, skip_if
from toolchains import Variant
from waiting import LONGEST_S, faults_of_all, reaches

CENTRAL = Variant("go1.24", "default")
MOMENTS = 12


def start(words, **env):
    return subprocess.Popen(
        [str(GOREF), *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **env},
    )


def check(status, out, err, reason, whole=""):
    """status: -2 if it was ended while Python started.
    whole: an answer that may have been printed before it was ended."""
    assert status in (0, 1, 3, -signal.SIGINT), (out, err)
    assert "Traceback" not in err and "Error in" not in err, err
    if status == 1:
        assert reason in err and len(err.splitlines()) == 1, err
    if status == 3:
        assert f"PARTIAL: {reason}" in out, (out, err)
    if status in (1, -signal.SIGINT):
        assert timeless(out) in ("", timeless(whole)), out


def timeless(answer):
    return re.sub(r"(?m)^took .*", "took", answer)


@pytest.fixture
def words(farm):
    target = farm.target("counter", CENTRAL, args=("300000",))
    return ["core", target.exe, target.core]


QUESTIONS = pytest.mark.parametrize(
    "question", [["scan"], ["why", "main.chain"], ["verify"], []], ids=str
)


@QUESTIONS
def test_ctrl_c(words, question):
    """Wherever it looks for Ctrl-C."""
    looks = count_looks(*words, *question)
    for look in some_looks(looks, MOMENTS):
        done = run_by_steps(*words, *question, interrupt_at=look)
        if done.looks < look == looks:
            continue  # the last look was not needed this time
        status, out, err, *_ = done
        check(status, out, err, "interrupted")
        # The overview goes on without the line of the resident memory.
        is_lacking = not question and "resident:" not in out
        assert status or is_lacking, (look, done.looks, out)


@QUESTIONS
def test_ctrl_c_before_it_looks(words, question):
    """As it starts, too: moments are counted in page faults."""
    goref = start(words + question)
    faults = faults_of_all(goref.pid)
    answer, _ = goref.communicate(timeout=LONGEST_S)
    in_time = []
    for i in range(4):
        goref = start(words + question)
        reaches(goref.pid, faults * i // 4)
        goref.send_signal(signal.SIGINT)
        out, err = goref.communicate(timeout=LONGEST_S)
        check(goref.returncode, out, err, "interrupted", answer)
        # At the first moment, the kernel ends what is not yet goref.
        if i and (goref.returncode == 3 or (goref.returncode and not out)):
            in_time.append(i)
    assert in_time, "Ctrl-C was never in time"


# SIGINT comes at the very end: behind the answer, before it is blocked.
LATE = """
from goref import ended
block, calls = ended.block, []
def late():
    calls.append(None)
    if len(calls) == 1:
        raise KeyboardInterrupt
    block()
ended.block = late
"""


def run_hooked(hook, words):
    return subprocess.run(
        hooked(hook, words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )


@pytest.mark.parametrize(
    "word, said", [("--version", "goref-gdb"), ("no-verb", "no-verb")]
)
def test_ctrl_c_at_the_end(word, said):
    done = run_hooked(LATE, [word])
    assert said in done.stdout + done.stderr
    assert done.stderr.splitlines()[-1] == "goref: interrupted"
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


# A signal comes in a callback of the garbage collection, as Python's imports
# have some: nothing can be raised there.
LOST = """
from goref import session
import signal, weakref
class Thing:
    pass
def begin(self, *words, begin=session.running.__init__):
    thing = Thing()
    ref = weakref.ref(thing, lambda _: signal.raise_signal(signal.{name}))
    del thing
    begin(self, *words)
session.running.__init__ = begin
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signal_that_nothing_can_raise(words, name):
    done = run_hooked(LOST.format(name=name), [*words, "scan"])
    assert done.stdout == ""
    if name == "SIGINT":
        assert (done.returncode, done.stderr) == (1, "goref: interrupted\n")
    else:
        assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")


@QUESTIONS
def test_timeout(words, question):
    """The time begins with the command, not with the scan."""
    statuses = []
    for seconds in STEPS:
        done = run_by_steps(*words, *question, "--timeout", seconds)
        check(done.returncode, done.stdout, done.stderr, "timed out")
        statuses.append(done.returncode)
        if done.returncode == 0:
            break
    assert statuses[0] == 1 and statuses[-1] == 0, statuses


def test_report(words, tmp_path):
    """The page has what was found before, or there is none."""
    page = tmp_path / "page.html"
    words = [*words, "report", page]
    for seconds in STEPS:
        page.unlink(missing_ok=True)
        done = run_by_steps(*words, "--timeout", seconds)
        check(done.returncode, done.stdout, done.stderr, "timed out")
        assert page.exists() == (done.returncode != 1)
        if done.returncode == 0:
            break
    assert done.returncode == 0


_IN_THE_GRAPH = """
import goref.progress as p, goref.commands.overview as o
def ended(self, *_, call=p.Progress.__call__):
    p.Progress.__call__ = call
    self._end("timed out")
def kept(*args, kept=o._kept):
    p.Progress.__call__ = ended
    return kept(*args)
o._kept = kept
"""


def test_the_end_of_the_graph_is_partial(words, tmp_path):
    """The walk is complete, what the overview leads with is not there."""
    hook = tmp_path / "hook.py"
    hook.write_text(_IN_THE_GRAPH)
    run = run_gdb(words[1:], [f"source {hook}", "goref overview --json"])
    document = run.json(1)
    assert document["dominators"] is None
    assert document["no_dominators"] == "timed out"
    assert document["partial"] == ["timed out"]
    assert not document["complete"]


_AT_ONCE = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


def test_ctrl_c_while_goref_starts(words):
    """It waits until there is somebody to say so."""
    done = run_hooked(_AT_ONCE, words)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr == "goref: interrupted\n"


def test_timeout_before_the_stop(farm):
    """A process is not stopped for an answer that would come too late."""
    skip_if(attach_reason())
    target = farm.target("counter", CENTRAL, "live", args=("3000",))
    done = run_cli(["attach", target.process.pid, "--timeout", "0.001"])
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "goref: timed out\n"

# SPDX-License-Identifier: Apache-2.0
"""goref is killed, interrupted and ended at random moments, for all kinds of
questions, with and without a snapshot. The process goes on with its state and
its signals, and no process or file of goref is left.

GOREF_MOMENTS is the number of moments of each row, of which a verb that writes
has half; doc/release.md says how many before a release. GOREF_SEED repeats a
run: failures print it.
"""

import itertools
import os
import random
import re
import signal
import subprocess
import tempfile
from contextlib import suppress

import pytest

from samples import samples
from session import GOREF, environment
from signalled import Signalled, is_traced, living
from targets import attach_reason, skip_if
from toolchains import Variant
from waiting import LONGEST_S, comes, faults_of, has_file_in, looks
from waiting import some_moment, stop

pexpect = pytest.importorskip("pexpect")

CENTRAL = Variant("go1.24", "default")
MOMENTS = int(os.environ.get("GOREF_MOMENTS", "8"))
SEED = int(os.environ.get("GOREF_SEED", "0")) or random.randrange(1, 1 << 30)
OBJECTS = "300000"

VERBS = [
    *samples(),
    ["scan", "--out", "out"], ["profile", "heap", "--out", "out"],
    ["save", "--values", "out"], ["diff", "--survivors", "--out", "out"],
]  # fmt: skip
WAYS = [[], ["--snapshot"]]
OUTS = {"out"}


@pytest.fixture(params=["running", "stopped"])
def target(farm, request):
    """A process that counts its signals, which another signal may have
    stopped; check() says that it is as it was."""
    skip_if(attach_reason())
    it = Signalled(farm.process("signalled", CENTRAL, [OBJECTS]))
    it.is_stopped = request.param == "stopped"
    if it.is_stopped:
        stop(it.pid)
    yield it
    it.process.stop()


class Run:
    """A run of goref in a folder, at a moment that a seed has chosen."""

    count = itertools.count()
    faults = 0  # of a whole run, counted before the first one of a test

    def __init__(self, target, folder, rng, verb=None):
        self.target = target
        self.folder = folder
        self.rng = rng
        self.goref = None  # a shell may start it
        self.mark = f"GOREF_TEST_MARK={os.getpid()}.{next(self.count)}"
        verb = verb or rng.choice(VERBS)
        is_copied = target.is_stopped or verb == ["rss"]
        self.words = [*verb, *([] if is_copied else rng.choice(WAYS))]
        self.command = [str(GOREF), "attach", str(target.pid), *self.words]
        if verb[0] == "diff":
            both = [str(target.pid)] * 2
            self.command = [str(GOREF), "diff", *both, *self.words[1:]]

    def environment(self):
        name, _, value = self.mark.partition("=")
        return {**environment(), name: value, "TMPDIR": str(self.folder)}

    def begin(self):
        """A pipe that nobody reads would hold a long answer up."""
        self.said = [tempfile.TemporaryFile("w+") for _ in range(2)]
        self.goref = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=self.said[0],
            stderr=self.said[1],
            env=self.environment(),
            cwd=self.folder,
            start_new_session=True,
        )

    def faults_so_far(self):
        """The page faults of goref, or of all processes of this run."""
        found = 0
        for pid in [self.goref.pid] if self.goref else living(self.mark):
            with suppress(FileNotFoundError, ProcessLookupError):
                found += faults_of(pid)
        return found

    def await_moment(self, has_ended=None):
        """Half of all moments are while goref traces the process, where most
        can break; the others are anywhere."""
        has_ended = has_ended or (lambda: self.goref.poll() is not None)
        if self.rng.random() < 0.5:
            enough = self.rng.random() * Run.faults * 1.1
            for _ in looks():
                if has_ended() or self.faults_so_far() >= enough:
                    break
        else:
            for _ in looks():
                if is_traced(self.target.pid) or has_ended():
                    break
            some_moment(lambda: is_traced(self.target.pid), self.rng, 200)
        self.was_traced = is_traced(self.target.pid)

    def end(self):
        status = self.goref.wait(timeout=LONGEST_S)
        texts = []
        for file in self.said:
            file.seek(0)
            texts.append(file.read())
            file.close()
        return status, *texts

    def check_nothing_left(self):
        """Processes, files: an answer is whole, or it has no name."""
        assert comes(lambda: not living(self.mark)), living(self.mark)
        left = {path.name for path in self.folder.iterdir()} - OUTS
        assert not left, left

    def check_target(self):
        if self.target.is_stopped:
            self.target.check_stopped()
        else:
            self.target.check()


def measure(target, folder):
    """The number of page faults that one run of goref takes."""
    run = Run(target, folder, random.Random(1))
    run.begin()
    os.waitid(os.P_PID, run.goref.pid, os.WEXITED | os.WNOWAIT)
    Run.faults = faults_of(run.goref.pid)
    run.end()


def moments(target, folder, name):
    """Runs, each in a folder of its own, before which the process is sent a
    signal of its own. A failure names its number and the seed."""
    measure(target, folder)
    for i in range(MOMENTS):
        rng = random.Random(f"{SEED} {name} {target.is_stopped} {i}")
        own = folder / str(i)
        own.mkdir()
        run = Run(target, own, rng)
        print(f"GOREF_SEED={SEED} moment {i}: {' '.join(run.words)}")
        yield run
        print(f"moment {i} of {name}: traced: {run.was_traced}")
        run.check_target()
        for path in own.iterdir():
            if path.is_file():
                path.unlink()


def send_own(target, rng):
    """One that it has to get; of one that is stopped, it is pending."""
    if not target.is_stopped:
        target.send(rng.choice([signal.SIGUSR1, signal.SIGWINCH]))


@pytest.mark.parametrize("whom", ["goref", "group"])
def test_killed(target, tmp_path, whom):
    for run in moments(target, tmp_path, f"killed {whom}"):
        run.begin()
        run.await_moment()
        send_own(target, run.rng)
        if whom == "group":
            with suppress(ProcessLookupError):  # it is done
                os.killpg(run.goref.pid, signal.SIGKILL)
        else:
            run.goref.kill()
        run.end()
        run.check_nothing_left()


WRITING = [verb for verb in VERBS if OUTS & {*verb}]


@pytest.mark.parametrize("verb", WRITING, ids=" ".join)
def test_killed_while_it_writes(target, tmp_path, verb):
    """The random moments are seldom there. All verbs together have more of
    them than any other row."""
    rng = random.Random(f"{SEED} {verb} {target.is_stopped}")
    for i in range((MOMENTS + 1) // 2):
        own = tmp_path / str(i)
        own.mkdir()
        run = Run(target, own, rng, verb)
        run.begin()
        for _ in looks():
            if has_file_in(run.goref.pid, own, 1):
                break
            if run.goref.poll() is not None:
                break
        some_moment(lambda: run.goref.poll() is None, rng)
        run.goref.kill()
        run.end()
        run.check_nothing_left()
        run.check_target()


def check_said(number, status, out, err):
    """One line, or an answer that is partial or whole."""
    assert "Traceback" not in err and "Error" not in err, err
    own = [line for line in err.splitlines() if not line.startswith("process")]
    own = [line for line in own if not line.startswith("warning:")]
    if status == -number:
        # It is the end of any program by this signal.
        assert not own, err
        return
    assert status in (0, 1, 3), (status, out, err)
    if status == 1:
        assert own == ["goref: interrupted"], err
    if status == 3:
        assert "PARTIAL: interrupted" in out, (out, err)


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
    ids=lambda number: number.name,
)
def test_ended(target, tmp_path, number):
    for run in moments(target, tmp_path, f"ended {number.name}"):
        run.begin()
        run.await_moment()
        send_own(target, run.rng)
        run.goref.send_signal(number)
        check_said(number, *run.end())
        run.check_nothing_left()


def is_done(child):
    """Has it said all? What it has said is read: a full terminal would hold a
    long answer up."""
    ends = [pexpect.EOF, pexpect.TIMEOUT]
    return child.flag_eof or child.expect(ends, timeout=0) == 0


def test_ctrl_c(target, tmp_path):
    """The terminal sends SIGINT to the group, and goref-snapshot is of another
    session."""
    for run in moments(target, tmp_path, "Ctrl-C"):
        child = pexpect.spawn(
            run.command[0],
            run.command[1:],
            env=run.environment(),
            cwd=str(run.folder),
            encoding="utf-8",
            timeout=LONGEST_S,
        )
        run.await_moment(lambda c=child: is_done(c))
        send_own(target, run.rng)
        if not is_done(child):
            child.sendintr()
            child.expect(pexpect.EOF)
        said = child.before
        child.close()
        assert "Traceback" not in said, said
        assert child.exitstatus in (0, 1, 3) or (
            child.signalstatus == signal.SIGINT
        ), said
        if child.exitstatus == 1:
            assert "goref: interrupted" in said, said
        if child.exitstatus == 3:
            assert re.search("PARTIAL: (OLD: |NEW: )?interrupted", said), said
        run.check_nothing_left()


@pytest.mark.parametrize("target", ["stopped"], indirect=True)
def test_pending_signals_come_once(target, tmp_path):
    """They were pending when goref came, and are when it is killed: what runs
    takes its signals at once."""
    target.send(signal.SIGUSR1)
    target.send(signal.SIGRTMIN + 5)
    for run in moments(target, tmp_path, "pending"):
        run.begin()
        run.await_moment()
        run.goref.kill()
        run.end()
    os.kill(target.pid, signal.SIGCONT)
    target.sent[str(int(signal.SIGCONT))] = 1
    target.is_stopped = False
    target.check()

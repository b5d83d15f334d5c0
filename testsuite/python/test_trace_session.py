# SPDX-License-Identifier: Apache-2.0
"""goref trace: targets that end, and commands that go on."""

import os
import signal
import subprocess
import types

import pytest
import rows

from goref import args, ended, front
from goref.errors import Error
from goref.procfs import NotAttachedError
from goref.trace import findings, session, watch
from goref.trace.command import Command, CommandError
from goref.trace.gathered import Gathered
from goref.trace.look import Seen
from goref.verbs import STANDALONE

# ------------------------------------------------------------------ the targets


class Terminal(front.Terminal):
    def __init__(self):
        super().__init__()
        self.said = ""

    def note(self, text):
        self.said += text


@pytest.fixture
def terminal():
    before, mine = front.current, Terminal()
    front.use(mine)
    yield mine
    front.use(before)


def made(*words):
    """A session of such words."""
    parser = args.Parser(
        "goref trace", STANDALONE["trace"].options, path=str, has_quotes=False
    )
    plan = session.plans.of(parser.parse([*map(str, words)]))
    return session.Session(plan, (None, None), print, print)


def failing(it, problem):
    def fail():
        it.was_there = True
        raise problem

    it._run = fail
    with pytest.raises(BaseException) as found:
        it.run()
    return found.value


@pytest.fixture
def child():
    """A process that has ended, and is not reaped."""
    with subprocess.Popen(["true"]) as popen:
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        yield popen.pid


def test_ended_while_it_was_prepared(terminal, child):
    """All errors are due to that, until the trace has begun."""
    it = made(child)
    problem = failing(it, Error("goref: there is no process"))
    said = f"goref: process {child} ended before its trace began"
    assert str(problem) == said
    it.is_watched = True
    assert str(failing(it, Error("goref: lost"))) == "goref: lost"
    mine = made(os.getpid())
    assert str(failing(mine, Error("goref: lost"))) == "goref: lost"


def test_a_process_that_cannot_be_read(terminal):
    it = made(os.getpid())
    problem = failing(it, NotAttachedError(os.getpid(), "not permitted"))
    assert str(problem) == (
        f"goref: cannot trace process {os.getpid()}: not permitted"
    )


# The words of `goref trace -- COMMAND' at an error, at Ctrl-C and at SIGTERM.
PROBLEMS = {
    "error": (Error("goref: lost"), "goref: lost"),
    "Ctrl-C": (KeyboardInterrupt(), ""),
    "signal": (ended.Ended(), session._SIGNALLED),
}


@pytest.mark.parametrize("has_begun", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_command_goes_on(terminal, name, has_begun):
    """Its number is said, if its program has begun."""
    problem, said = PROBLEMS[name]
    it = made("--", "sleep", "1000")
    it.command = Command(it.plan.command)
    it.pid = it.command.pid
    left = ""
    if has_begun:
        it.command.begin()
        left = f"the command goes on as process {it.pid}"
    try:
        found = str(failing(it, problem))
        text = "; ".join(filter(None, (said, left)))
        assert text == (found or terminal.said.removesuffix("\n"))
        assert bool(found) == (name == "error")
    finally:
        os.kill(it.pid, signal.SIGKILL)
        os.waitpid(it.pid, 0)


class Ending:
    """A command that runs at the first looks."""

    words = ("x",)
    pid = os.getpid()

    def __init__(self, looks):
        self.looks = looks

    def begin(self):
        pass

    def has_begun(self):
        return True

    def status(self):
        self.looks -= 1
        return None if self.looks >= 0 else 0


class Free:
    def check(self):
        pass


@pytest.mark.parametrize("looks", [0, 1])
def test_a_command_that_is_no_go_program(terminal, monkeypatch, looks):
    """If it was read before it ended, it is known why that failed."""
    it, command = made("--", "x"), Ending(looks)
    monkeypatch.setattr(it, "_read_or_wait", lambda helper: None)
    monkeypatch.setattr(it, "_try_to_open", lambda pid: "y is no program of Go")
    with pytest.raises(CommandError) as problem:
        it._begin_command(command, None, Free())
    why = ": y is no program of Go" if looks else ""
    assert str(problem.value) == f"goref: x ended before it could be read{why}"


@pytest.mark.parametrize(
    "word, said",
    [
        ("/", "a folder"),
        ("", "empty"),
        (__file__, "not executable"),
        ("a\0/", "null"),
        ("/x/y", "no such"),
    ],
)
def test_commands_that_cannot_be(word, said):
    with pytest.raises(CommandError, match=said) as problem:
        Command([word])
    assert str(problem.value).startswith("goref: ")


# ----------------------------------------------------------- the last interval


class Gone:
    """A helper whose process ends in the first interval."""

    def __init__(self, gathered):
        self.gathered = gathered

    def flush(self, word, take, poll):
        if word == "tick 1":
            self.gathered.gone = "the process has ended"

    def read(self, seconds):
        return []


class Read(Gathered):
    """The process has one page."""

    def tick(self):
        return rows.make(
            "GrowthTick", rss_bytes=4096, total_bytes=4096, classes=(1,)
        )


class Watched:
    """The outcome of a trace that was read at 1 s, and ended later."""

    plan = made("1").plan

    def __init__(self, ended, look):
        self.gathered, self.ended = Gathered(), ended
        self.look = Seen(None, look)
        self.after = rows.make("GrowthTick", lost_events=0)
        self.intervals = [watch.Interval(2, 1.0, 1.5, None, None, 0, {}, 0.0)]


def test_why_an_answer_is_partial():
    """That there was no look goes without saying."""
    gone = "the process has ended"
    assert findings.partial(Watched(gone, gone)) == [
        "the process has ended, so its growth after 1.0 s is not known"
    ]
    assert findings.partial(Watched("Ctrl-C", "refused")) == [
        "no look at the end: refused"
    ]
    assert findings.partial(Watched("Ctrl-C", "")) == []
    silent = "goref-trace does not answer"
    assert findings.partial(Watched(silent, silent)) == [
        f"{silent}, so the stacks after 1.0 s are not known"
    ]


@pytest.mark.parametrize("from_empty", [False, True])
def test_a_process_that_ends_at_once(from_empty):
    """The pages of the only reading are those that its stacks are about. A
    command had none before."""
    mine = Read()
    it = watch.Watch(os.getpid(), Gone(mine), mine, None, None,
                     from_empty=from_empty)  # fmt: skip
    (found,) = it.intervals(lambda number: 0.0, 10.0)
    assert found.tick.rss_bytes == 4096 and found.tick.classes == (1,)
    assert found.growth_bytes == (4096 if from_empty else 0)
    assert it.ended == "the process has ended"


def test_a_long_trace_keeps_two_intervals(terminal, monkeypatch):
    """The first and the last one, and what went in all."""
    every = [
        watch.Interval(n, n - 1.0, n, None, rows.make("GrowthTick", gone_bytes=n),
                       0, {}, 0.0)
        for n in range(1, 10)
    ]  # fmt: skip
    it, shown = made(os.getpid()), []
    watched = types.SimpleNamespace(
        ended="", finish=lambda: None, intervals=lambda *_: iter(every)
    )
    monkeypatch.setattr(session.watch, "Watch", lambda *_, **__: watched)
    it.show, it.announce = shown.append, lambda *_: None
    helper = types.SimpleNamespace(start=lambda poll: None)
    found, why = it._watched(helper, Free())
    assert (shown, found, why) == (every, [every[0], every[-1]], "")
    assert it.gone_bytes == sum(range(10))

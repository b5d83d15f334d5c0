# SPDX-License-Identifier: Apache-2.0
"""goref is ended by SIGTERM or SIGHUP, at any moment: its status says so,
nothing half-done is left, and what it looked at goes on."""

import itertools
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hosts import hooked
from pprof import Profile
from session import GOREF, environment
from targets import attach_reason, skip_if
from toolchains import Variant
from waiting import LONGEST_S, comes, faults_of_all, looks, reaches

CENTRAL = Variant("go1.24", "default")
SIGNALS = [signal.SIGTERM, signal.SIGHUP]


def start(words, **options):
    return subprocess.Popen(
        [str(GOREF), *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **options.pop("env", {})},
        **options,
    )


def whole_of(words):
    """The page faults that it has without a signal."""
    done = start(words)
    faults = faults_of_all(done.pid)
    _, err = done.communicate(timeout=LONGEST_S)
    assert done.returncode == 0, err
    return faults


def end_at(words, faults, number):
    """Its status and what it printed. A status of 0 has its answer."""
    goref = start(words)
    reaches(goref.pid, faults)
    goref.send_signal(number)
    out, err = goref.communicate(timeout=LONGEST_S)
    assert goref.returncode in (0, -number, 128 + number), (out, err)
    assert "Traceback" not in err and "Error in" not in err, err
    return goref.returncode, out


def moments(words, count):
    """Moments of a run, counted in page faults."""
    whole = whole_of(words)
    return [whole * i // count for i in range(count)]


def ends(words, count):
    """Moments, each with one of the signals in turn: all that acts on them is
    the same for both. Both come as it begins."""
    later = moments(words, count)
    return zip([0, *later], itertools.cycle(SIGNALS))


def check_in_time(ended):
    """Behind its start, each signal ends goref before it answers."""
    in_time = {
        number for faults, number, status, out in ended
        if faults and status and not out
    }  # fmt: skip
    assert in_time == set(SIGNALS), ended


def test_core(farm, tmp_path):
    target = farm.target("counter", CENTRAL, args=("300000",))
    out = tmp_path / "refs.pb"
    words = ["core", target.exe, target.core, "-o", out]
    ended = []
    for faults, number in ends(words, 24):
        out.unlink(missing_ok=True)
        status, said = end_at(words, faults, number)
        ended.append((faults, number, status, said))
        if status == 0:
            assert "main.held" in said or "reached" in said, said
            assert Profile.load(out).samples
        left = [p for p in tmp_path.iterdir() if p != out]
        assert not left, (faults, left)
    check_in_time(ended)


def test_symbols(farm):
    """The reading of symbols does not delay the end."""
    target = farm.target("counter", CENTRAL, args=("3000",))
    words = ["core", target.exe, target.core, "--why", "main.chain"]
    check_in_time(
        [
            (faults, number, *end_at(words, faults, number))
            for faults, number in ends(words, 12)
        ]
    )


def is_held(pid):
    """Stopped, or traced."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        if "\nTracerPid:\t0\n" not in status or "\nState:\tT" in status:
            return True
    return False


def assert_goes_on(pid):
    assert comes(lambda: not is_held(pid)), "it does not go on"


@pytest.mark.parametrize("options", [[], ["--snapshot"]])
def test_attach(farm, options):
    skip_if(attach_reason())
    target = farm.target("counter", CENTRAL, "live", args=("300000",))
    pid = target.process.pid
    words = ["attach", *options, pid]
    for faults, number in ends(words, 20):
        end_at(words, faults, number)
        assert_goes_on(pid)
    assert target.process.popen.poll() is None


_AT = """
import os, signal, {module} as m
def wrap(*words, _old=m.{name}, **more):
    os.kill(os.getpid(), signal.SIGTERM)
    return _old(*words, **more)
m.{name} = wrap
"""


def start_hooked(hook, words):
    return subprocess.Popen(
        hooked(hook, words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@pytest.mark.parametrize(
    "module, name",
    [
        ("goref.live", "Look._capture"),
        ("goref.live", "Look._stop"),
        ("goref.live", "Look.release"),
        ("goref.live", "Look.finish"),
        ("goref.interrupt", "Owned.__enter__"),
        ("goref.interrupt", "Owned.__exit__"),
        ("goref.commands", "run"),
    ],
)
def test_attach_at(farm, module, name):
    """At moments that are too short to be met by chance."""
    skip_if(attach_reason())
    target = farm.target("counter", CENTRAL, "live", args=("3000",))
    hook = _AT.format(module=module, name=name)
    goref = start_hooked(hook, ["attach", target.process.pid])
    out, err = goref.communicate(timeout=60)
    assert goref.returncode == -signal.SIGTERM, (out, err)
    assert not out and "Traceback" not in err, (out, err)
    assert_goes_on(target.process.pid)


_HIDDEN = """
import argparse, os, signal
def parse(*words, **more):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        raise AttributeError("save_required")
argparse.ArgumentParser.parse_known_intermixed_args = parse
"""
_IN_CALLBACK = """
import os, signal, weakref, goref.commands as m
class Thing: pass
def run(*words, _old=m.run, **more):
    thing = Thing()
    def gone(_):
        os.kill(os.getpid(), signal.SIGTERM)
        return None
    kept = weakref.ref(thing, gone)
    del thing
    return _old(*words, **more)
m.run = run
"""


@pytest.mark.parametrize(
    "hook", [_HIDDEN, _IN_CALLBACK], ids=["hidden", "callback"]
)
def test_not_lost(farm, hook):
    """A library that cleans up and fails does not hide the signal, as argparse
    does when the signal comes while it sets its attributes; nor is it lost where
    Python drops an exception, as while it imports a module."""
    target = farm.target("counter", CENTRAL, args=("3000",))
    goref = start_hooked(hook, ["core", target.exe, target.core])
    out, err = goref.communicate(timeout=60)
    assert goref.returncode == -signal.SIGTERM, (out, err)
    assert not out and "Traceback" not in err, (out, err)


def test_twice(farm):
    """As a closed terminal does: the shell and the kernel send SIGHUP."""
    target = farm.target("counter", CENTRAL, args=("300000",))
    words = ["core", target.exe, target.core]
    for faults in moments(words, 12):
        goref = start(words)
        reaches(goref.pid, faults)
        for _ in range(50):
            goref.send_signal(signal.SIGHUP)
        out, err = goref.communicate(timeout=60)
        assert goref.returncode == -signal.SIGHUP or "reached" in out, err


def check_undisturbed(words, number, tmp_path):
    """The command is done as if nothing came, if it ignores a signal that it
    and all that it runs get."""

    def ignore():
        os.setsid()
        signal.signal(number, signal.SIG_IGN)

    with open(tmp_path / "out", "w+") as out:
        goref = start(words, preexec_fn=ignore, stdout=out)
        for _ in looks():
            if goref.poll() is not None:
                break
            os.killpg(goref.pid, number)
        _, err = goref.communicate(timeout=LONGEST_S)
        assert goref.returncode == 0 and out.tell(), err


# As under nohup, or as a job in the background.
IGNORED = pytest.mark.parametrize(
    "number", [signal.SIGHUP, signal.SIGINT], ids=lambda n: n.name
)


@IGNORED
def test_ignored(farm, number, tmp_path):
    """An ignored signal stays ignored."""
    target = farm.target("counter", CENTRAL, args=("3000",))
    core = [target.exe, target.core]
    check_undisturbed(["core", *core], number, tmp_path)
    check_undisturbed(["diff", *core, *core], number, tmp_path)


@IGNORED
def test_ignored_while_it_attaches(counting, number, tmp_path):
    process, reader = counting(CENTRAL)
    check_undisturbed(["attach", process.pid], number, tmp_path)
    assert reader.goes_on()


def test_without_env(farm, tmp_path):
    """Where `env` cannot block signals, none of them looks like success."""
    env = tmp_path / "env"
    env.write_text("#!/bin/sh\nexit 125\n")
    env.chmod(0o755)
    target = farm.target("counter", CENTRAL, args=("300000",))
    words = ["core", target.exe, target.core, "--top", "1"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    for faults in moments(words, 12):
        goref = start(words, env={"PATH": path})
        reaches(goref.pid, faults)
        goref.send_signal(signal.SIGTERM)
        out, err = goref.communicate(timeout=60)
        assert goref.returncode or "reached" in out, (faults, out, err)

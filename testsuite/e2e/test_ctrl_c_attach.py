# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while goref holds a process never reaches that process."""

import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest

from counters import CENTRAL, LARGE, settles, threads_of, tracer_of
from samples import samples
from session import GOREF, environment, start_command
from waiting import comes, looks, some_moment, stop

pexpect = pytest.importorskip("pexpect")

# For each row. doc/release.md says how many before a release.
MOMENTS = int(os.environ.get("GOREF_STOPS", "5"))
SECONDS = 120

OUR_SIGNALS = sum(
    1 << (number - 1)
    for number in (signal.SIGINT, signal.SIGSTOP, signal.SIGCONT,
                   signal.SIGTSTP)
)  # fmt: skip

VERBS = [
    *samples(),
    ["profile", "heap", "--out", "p.pb"],
    ["scan", "--snapshot"],
]


def start(command, folder, stdin=subprocess.DEVNULL):
    return subprocess.Popen(
        [*map(str, command)],
        stdin=stdin,
        stdout=subprocess.DEVNULL,  # it may be long
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=folder,
    )


def interrupt_at_some_moment(goref, pid, rng):
    """Send SIGINT while goref holds the process, and return whether it did. On a
    busy machine, the hold may be over before it was seen."""
    assert comes(lambda: tracer_of(pid) or goref.poll() is not None)
    some_moment(lambda: tracer_of(pid), rng)
    goref.send_signal(signal.SIGINT)
    is_held = bool(tracer_of(pid))
    _, said = goref.communicate(timeout=SECONDS)
    assert "Traceback" not in said, said
    assert goref.returncode in (0, 1, 3), said
    if goref.returncode == 1:
        assert said.splitlines()[-1] == "goref: interrupted", said
    return is_held


def check_untouched(pid):
    """The process runs, has no tracer, and no signal of ours waits for it. Go's
    own are SIGURG."""
    assert tracer_of(pid) == 0
    said = threads_of(pid)
    assert settles(pid), said
    pending = [int(mask, 16) for mask in re.findall(r"Pnd: (\w+)", said)]
    assert pending and not any(mask & OUR_SIGNALS for mask in pending), said


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_signal(counting, words, tmp_path):
    process, counter = counting(CENTRAL, LARGE)
    rng = random.Random(17)
    for _ in range(MOMENTS):
        goref = start([GOREF, "attach", process.pid, *words], tmp_path)
        is_held = interrupt_at_some_moment(goref, process.pid, rng)
        # By a snapshot, Ctrl-C may come when the copy is made already.
        if is_held and "--snapshot" not in words:
            assert goref.returncode in (1, 3)
        assert process.popen.poll() is None, "the process has ended"
        check_untouched(process.pid)
        assert counter.goes_on()


def test_signal_while_it_is_stopped(counting, tmp_path):
    """Whoever has stopped the process lets it go on."""
    process, counter = counting(CENTRAL, LARGE)
    stop(process.pid)
    rng = random.Random(21)
    for _ in range(MOMENTS):
        goref = start([GOREF, "attach", process.pid, "scan"], tmp_path)
        interrupt_at_some_moment(goref, process.pid, rng)
        assert tracer_of(process.pid) == 0
        said = threads_of(process.pid)
        assert re.search(r"State: T", said) and "State: t" not in said
    process.popen.send_signal(signal.SIGCONT)
    assert counter.goes_on()


def test_inside_gdb(counting, tmp_path):
    """gdb holds the process when our command begins, and until the signal has
    come: what gdb does to let it go is gdb's own."""
    process, counter = counting(CENTRAL, LARGE)
    rng = random.Random(18)
    mark = tmp_path / "mark"
    command = start_command(
        ["-batch", "-p", process.pid,
         "-ex", f"python open({str(mark)!r}, 'w').write('begins')",
         "-ex", "goref scan",
         "-ex", f"python open({str(mark)!r}, 'w').write('ends')",
         "-ex", "python sys.stdin.buffer.read()"]
    )  # fmt: skip
    for _ in range(MOMENTS):
        mark.write_text("")
        gdb = start(command, tmp_path, stdin=subprocess.PIPE)
        assert comes(mark.read_text)
        some_moment(lambda: mark.read_text() != "ends", rng, 10_000)
        gdb.send_signal(signal.SIGINT)
        gdb.communicate(timeout=SECONDS)
        assert process.popen.poll() is None, "the process has ended"
        check_untouched(process.pid)
        assert counter.goes_on()


@pytest.fixture
def shell():
    """A shell with job control, as a person has it."""
    child = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        env={**environment(), "PS1": "> ", "TERM": "dumb"},
        encoding="utf-8",
        timeout=SECONDS,
    )
    child.expect_exact("> ")
    # A key that sends a signal would drop what was printed and not yet read:
    # also the prompt, where goref has just ended.
    child.sendline("stty noflsh")
    child.expect_exact("> ")
    yield child
    child.close(force=True)


def begin_to_look(shell, pid, rng):
    """Return while goref holds a process; False if it is over already."""
    shell.sendline(f"{GOREF} attach {pid} scan")
    for _ in looks():
        if tracer_of(pid):
            some_moment(lambda: tracer_of(pid), rng)
            return True
        if not shell.expect_exact(["> ", pexpect.TIMEOUT], timeout=0):
            return False
    pytest.fail("goref neither holds the process nor ends")


def finish_line(shell, command, answer):
    """Run a command behind the one that ends now: what is typed meanwhile may
    be lost, but not the next line."""
    shell.expect_exact("> ")
    shell.sendline("")
    shell.sendline(command)
    shell.expect_exact(f"\n{answer}")
    shell.expect_exact("> ")


def type_ctrl_c(shell, pid, rng, number):
    """Return whether it came while goref held the process."""
    if not begin_to_look(shell, pid, rng):
        return False
    shell.sendintr()
    finish_line(shell, f"echo end''ed {number}", f"ended {number}")
    return True


def test_terminal(counting, shell):
    """The process belongs to another session."""
    process, counter = counting(CENTRAL, LARGE)
    rng = random.Random(19)
    caught = 0
    for i in range(MOMENTS):
        caught += type_ctrl_c(shell, process.pid, rng, i)
        assert process.popen.poll() is None, "the process has ended"
        check_untouched(process.pid)
    assert caught, "goref was never caught"
    assert counter.goes_on()


def test_ctrl_z(counting, shell):
    """goref stops when the process goes on, and not before."""
    process, counter = counting(CENTRAL, LARGE)
    rng = random.Random(22)
    caught = 0
    for i in range(MOMENTS):
        if not begin_to_look(shell, process.pid, rng):
            continue
        shell.send("\x1a")
        assert comes(lambda: not tracer_of(process.pid))
        assert counter.goes_on()
        # It may have ended before the key came.
        is_stopped = shell.expect_exact(["Stopped", "> "]) == 0
        caught += is_stopped
        if is_stopped:
            finish_line(shell, f"kill -KILL %%; echo end''ed {i}", f"ended {i}")
        else:
            shell.sendline("")
            shell.sendline(f"echo end''ed {i}")
            shell.expect_exact(f"\nended {i}")
            shell.expect_exact("> ")
    assert caught, "goref was never caught"


def test_terminal_and_job(counting, shell):
    """The process is a job of the shell in which goref is typed."""
    exe = counting(CENTRAL, LARGE)[0].exe
    shell.sendline(f"{exe} {LARGE[0]} >/dev/null & echo pid=$!.")
    shell.expect(r"pid=(\d+)\.")
    pid = int(shell.match.group(1))
    rng = random.Random(20)
    try:
        for i in range(MOMENTS):
            type_ctrl_c(shell, pid, rng, i)
            assert Path(f"/proc/{pid}/exe").exists(), shell.before
            check_untouched(pid)
    finally:
        shell.sendline("kill -KILL %1")
        shell.expect_exact("> ")

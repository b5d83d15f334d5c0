# SPDX-License-Identifier: Apache-2.0
"""Processes that are hard to stop, or that may not be: each is looked at, or
refused in one line, and goes on as it was."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from counters import tracer_of
from hosts import hooked, lines_of
from session import environment, one_line, run_cli
from signalled import Signalled, check_let_go
from snapshots import NOBODY, PAUSE, Helper, children, for_others
from targets import attach_reason, skip_if, start, unshared
from toolchains import Variant, build
from waiting import LONGEST_S, comes, states_of

CENTRAL = Variant("go1.24", "default")
OBJECTS = 20000
WAYS = pytest.mark.parametrize(
    "way", [[], ["--snapshot"]], ids=["copy", "snapshot"]
)


def chain_of(done):
    """The objects that main.chain holds in an answer of scan."""
    roots = json.loads(done.stdout)["roots"]
    return {root["name"]: root["objects"] for root in roots}["main.chain"]


@pytest.fixture
def signalled(farm):
    """signalled(args): a process that counts its signals."""
    skip_if(attach_reason())
    made = []

    def make(*args):
        process = farm.process("signalled", CENTRAL, [str(OBJECTS), *args])
        made.append(Signalled(process))
        return made[-1]

    yield make
    for it in made:
        it.process.stop()


def test_first_thread_has_ended(signalled):
    """A zombie leader: a thread that is alive is what it is read by."""
    target = signalled("ends")
    # It has told its truth before that thread ends.
    assert comes(lambda: "Z" in states_of(target.pid))
    done = run_cli(["attach", target.pid, "scan", "--json"])
    assert done.returncode == 0, done.stderr
    assert chain_of(done) == OBJECTS
    assert "and goes on" in done.stderr
    done = run_cli(["attach", target.pid, "rss", "--json"])
    assert json.loads(done.stdout)["residency"] == "exact", done.stderr
    done = run_cli(["attach", "--snapshot", target.pid])
    assert done.returncode == 1
    assert "its first thread has ended" in done.stderr.splitlines()[-1]
    check_let_go(target.process)
    target.check_counts()


@WAYS
def test_memory_without_access(farm, way):
    """Memory that the process may not read itself is read, too."""
    skip_if(attach_reason())
    process = farm.process("sealed", CENTRAL)
    try:
        process.rest()
        done = run_cli(["attach", *way, process.pid, "scan", "--json"])
        assert done.returncode == 0, done.stderr
        truth = process.truth["held"]["main.chain"]
        roots = json.loads(done.stdout)["roots"]
        (found,) = [r for r in roots if r["name"] == "main.chain"]
        assert {key: found[key] for key in truth} == truth
    finally:
        process.stop()


@WAYS
def test_traced_by_another(signalled, way):
    target = signalled()
    tracer = Helper(target.pid)
    assert tracer.is_ready, tracer.said
    done = run_cli(["attach", *way, tracer.copy])
    one_line(done, 1, str(tracer.copy), "(goref-snapshot)", "traces it")
    assert tracer.end() == 0
    target.check()


@WAYS
def test_thread_of_the_kernel(way):
    kernel = "/proc/2/status"
    if "kthreadd" not in Path(kernel).read_text():
        pytest.skip("no threads of the kernel are to be seen here")
    one_line(run_cli(["attach", *way, 2]), 1, "process 2")


@WAYS
def test_zombie(waiting, way):
    popen = waiting(PAUSE)
    os.kill(popen.pid, signal.SIGKILL)
    assert comes(lambda: states_of(popen.pid) == {"Z"})
    one_line(run_cli(["attach", *way, popen.pid]), 1, "it has ended")


# The process does something when it is about to be stopped, or is.
JUST_BEFORE = """
from goref import live
import os, select, signal, time
stop = live.Look._stop
def late(self):
    DO
    stop(self)
live.Look._stop = late
"""


def attach_when(pid, action):
    hook = JUST_BEFORE.replace("DO", action)
    return subprocess.run(
        hooked(hook, ["attach", pid, "scan"]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LONGEST_S,
    )


def last_line(done):
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


# After the last line, the process has ended as far as the kernel tells.
ENDING = "fd = os.pidfd_open(PID); os.kill(PID, 9)"
ENDED = f"{ENDING}; select.select([fd], [], [])"


@pytest.mark.parametrize(
    "action", [ENDING, ENDED], ids=["is ending", "has ended"]
)
def test_ends_during_the_stop(signalled, action):
    target = signalled()
    action = action.replace("PID", str(target.pid))
    done = attach_when(target.pid, action)
    said = last_line(done)
    assert said.startswith("goref: "), said
    assert f"process {target.pid}" in said and "ended" in said, said
    assert target.process.popen.wait(timeout=LONGEST_S) == -signal.SIGKILL


def test_ends_while_it_is_held(signalled):
    """The kill comes when all threads stand still."""
    target = signalled()
    hook = (
        "from goref import live\n"
        "import os\n"
        "capture = live.Look._capture\n"
        "def killed(self):\n"
        f"    os.kill({target.pid}, 9)\n"
        "    capture(self)\n"
        "live.Look._capture = killed\n"
    )
    done = subprocess.run(
        hooked(hook, ["attach", target.pid, "scan"]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LONGEST_S,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 3), done.stderr
    assert target.process.popen.wait(timeout=LONGEST_S) == -signal.SIGKILL


# Runs /bin/sleep in its own place when a line comes, from several threads.
EXECS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}
static void *begin(void *arg)
{
	char byte;

	if (read(0, &byte, 1) == 1)
		execl("/bin/sleep", "sleep", "1000", NULL);
	return arg;
}
int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 20; i++)
		pthread_create(&thread, NULL, idle, NULL);
	pthread_create(&thread, NULL, begin, NULL);
	write(1, "r", 1);
	idle(NULL);
}
"""
STOPPED = """
from goref import native
process = native.load().Process(PID)
for turn in range(200):
    if turn == 100:
        open("/proc/FEEDER/fd/1", "w").write("x")
    try:
        process.stop(5)
        process.release()
    except native.load().ProcessError as problem:
        say(problem)
say(tracer())
"""


def test_begins_another_program_during_the_stop(waiting):
    """Stopped again and again when a thread that is not the first one calls
    execve(): all other threads end, and it takes the place of the first."""
    popen = waiting(EXECS)
    popen.stdin.flush()
    code = STOPPED.replace(
        'open("/proc/FEEDER/fd/1", "w").write("x")',
        f"os.write(os.open('/proc/{popen.pid}/fd/0', os.O_WRONLY), b'x')",
    )
    *said, tracer = lines_of(popen.pid, code)
    assert tracer == "0"
    assert all("another program" in line for line in said), said
    exe = f"/proc/{popen.pid}/exe"
    assert comes(lambda: os.readlink(exe).endswith("sleep")), states_of(
        popen.pid
    )
    assert comes(lambda: states_of(popen.pid) == {"S"})


@WAYS
def test_other_namespaces(way, tmp_path):
    """Another pid and mount namespace, as in a container."""
    exe = build("signalled", CENTRAL.release)
    with unshared(exe, [str(OBJECTS)], tmp_path / "root") as (process, pid):
        inner = Signalled(process)
        inner.pid = pid
        done = run_cli(["attach", *way, inner.pid, "scan", "--json"])
        assert done.returncode == 0, done.stderr
        assert chain_of(done) == OBJECTS
        inner.send(signal.SIGUSR1)
        assert tracer_of(inner.pid) == 0
        assert not children(inner.pid)
        inner.check_counts()


HIDDEN = """
mount -t tmpfs none "$1" && cp "$2" "$1/service" && exec "$1/service" "$3"
"""


def test_executable_that_is_not_visible(tmp_path):
    """The file is on a file system that only the process has mounted, as in a
    container: the answer has its name, and a note says what is read."""
    unshare = shutil.which("unshare") or pytest.skip("no unshare")
    exe = build("signalled", CENTRAL.release)
    words = ["sh", "-c", HIDDEN, "sh", str(tmp_path), str(exe), str(OBJECTS)]
    try:
        process = start(unshare, ["--mount", *words])
    except (EOFError, TimeoutError):
        pytest.skip("no file system may be mounted here")
    try:
        assert not os.listdir(tmp_path)
        done = run_cli(["attach", process.pid, "scan", "--json"])
        assert done.returncode == 0, done.stderr
        assert chain_of(done) == OBJECTS
        name = f"{tmp_path}/service"
        assert json.loads(done.stdout)["target"]["exe"] == name
        (line,) = (x for x in done.stderr.splitlines() if name in x)
        assert line == (
            f"warning: {name} is not visible here (another mount namespace): "
            f"using /proc/{process.pid}/exe, which is the one that runs"
        )
    finally:
        process.stop()


@WAYS
def test_another_user(way):
    """root looks at a process of somebody else."""
    if os.geteuid():
        pytest.skip("needs root")
    exe = for_others(build("signalled", CENTRAL.release))
    helper = shutil.which("setpriv") or pytest.skip("no setpriv")
    process = start(
        helper,
        [f"--reuid={NOBODY}", "--clear-groups", str(exe), str(OBJECTS)],
    )
    target = Signalled(process)
    try:
        assert os.stat(f"/proc/{target.pid}").st_uid == NOBODY
        done = run_cli(["attach", *way, target.pid, "scan", "--json"])
        assert done.returncode == 0, done.stderr
        assert chain_of(done) == OBJECTS
        target.check()
    finally:
        process.stop()


ASK_AS_NOBODY = {
    "attach": "goref.attach(PID)",
    "snapshot": "goref.attach(PID, snapshot=True)",
    "native": "native.load().Process(PID).stop(1)",
}


@pytest.mark.parametrize("ask", ASK_AS_NOBODY.values(), ids=ASK_AS_NOBODY)
def test_not_permitted(ask):
    """nobody looks at a process of root: one line that says what would help."""
    if os.geteuid():
        pytest.skip("needs root")
    code = (
        "goref.attach\n"
        "from goref.sources import process\n"
        "native.load()\n"
        "os.setuid(65534)\n"
        "try:\n"
        f"    {ask}\n"
        "except (goref.Error, native.load().ProcessError) as problem:\n"
        "    say(problem)"
    )
    popen = subprocess.Popen(["sleep", "1000"])
    try:
        (said,) = lines_of(popen.pid, code)
        assert "CAP_SYS_PTRACE" in said
        assert tracer_of(popen.pid) == 0
    finally:
        popen.kill()
        popen.wait()


def test_ctrl_z_waits_for_the_end_of_the_stop(signalled):
    """goref stops itself when the process goes on, not before: whoever types
    Ctrl-Z may come back after hours."""
    target = signalled()
    hook = (
        "from goref import live\n"
        "import os, signal\n"
        "capture = live.Look._capture\n"
        "def typed(self):\n"
        "    os.kill(os.getpid(), signal.SIGTSTP)\n"
        "    capture(self)\n"
        "live.Look._capture = typed\n"
    )
    goref = subprocess.Popen(
        hooked(hook, ["attach", target.pid, "scan", "--json"]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
        # In an orphaned group of processes, SIGTSTP stops nobody.
        process_group=0,
    )
    assert comes(lambda: states_of(goref.pid) == {"T"})
    target.check()
    goref.send_signal(signal.SIGCONT)
    out, _ = goref.communicate(timeout=LONGEST_S)
    assert goref.returncode == 0
    assert json.loads(out)["reached"]["objects"] >= OBJECTS
    target.check()

# SPDX-License-Identifier: Apache-2.0
"""Snapshots that are refused, in one line that says why."""

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from hosts import lines_of
from session import run_cli
from snapshots import HELPER, NOBODY, PAUSE, Helper, children, refusal
from snapshots import status_of
from targets import attach_reason, skip_if
from toolchains import Variant, build_c
from waiting import comes, looks, stop

CENTRAL = Variant("go1.24", "default")

SPIN = """
#include <unistd.h>
int main(void)
{
	write(1, "r", 1);
	for (volatile int i = 0;; i++)
		;
}
"""


@pytest.fixture
def group(waiting):
    """group(controller, file, text): a process in a control group of its own
    of which the file says the text."""
    made = []

    def make(controller, name, text):
        for root in (f"/sys/fs/cgroup/{controller}", "/sys/fs/cgroup"):
            folder = Path(root) / f"goref-test-{os.getpid()}"
            try:
                folder.mkdir()
                made.append(folder)
                popen = waiting(PAUSE)
                (folder / "cgroup.procs").write_text(str(popen.pid))
                (folder / name).write_text(text)
            except OSError:
                continue
            return popen
        return pytest.skip("no control groups may be made here")

    yield make
    for folder in made:
        # The rest of it moves up.
        for pid in (folder / "cgroup.procs").read_text().split():
            (folder.parent / "cgroup.procs").write_text(pid)
        folder.rmdir()


def test_no_such_process():
    assert refusal(2**22 + 5) == "there is no such process"


@pytest.mark.parametrize("words", [[], ["x"], ["-1"], ["1", "0"], ["1", "y"]])
def test_usage(words):
    done = subprocess.run(
        [str(HELPER), *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")


def test_thread_is_no_process(steady):
    process = steady(CENTRAL)
    tids = os.listdir(f"/proc/{process.pid}/task")
    tid = next(t for t in tids if t != str(process.pid))
    assert refusal(tid) == f"it is a thread: the process is {process.pid}"


def test_kernel_thread():
    if not Path("/proc/2/status").exists() or status_of(2, "VmRSS"):
        pytest.skip("no kernel threads are seen here")
    assert refusal(2) == "it has no memory of its own"


def test_traced(waiting):
    popen = waiting(PAUSE)
    tracer = Helper(popen.pid)
    assert tracer.is_ready
    # The copy is traced by the helper that made it.
    assert f"process {tracer.popen.pid} (goref-snapshot)" in refusal(
        tracer.copy
    )
    assert tracer.end() == 0


def test_stopped(waiting):
    popen = waiting(PAUSE)
    stop(popen.pid)
    assert refusal(popen.pid).startswith("it is stopped")
    popen.send_signal(signal.SIGCONT)
    assert Helper(popen.pid).end() == 0


def test_ended():
    popen = subprocess.Popen(["true"])
    assert comes(lambda: status_of(popen.pid, "State").startswith("Z"))
    assert refusal(popen.pid) == "it has ended"
    popen.wait()


def user_ticks(pid):
    """How long it has run its own code (utime of /proc/PID/stat)."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[11])


def test_never_in_the_kernel(waiting):
    popen = waiting(SPIN)
    # Before it computes, it is in system calls of its start.
    assert comes(lambda: user_ticks(popen.pid) > 5)
    for _ in looks():
        reason = refusal(popen.pid)
        if "does not stop" not in reason:  # it may wait for a processor
            break
    assert reason.startswith("none of its threads waits in the kernel")
    assert status_of(popen.pid, "TracerPid") == "0"


def test_not_permitted(waiting):
    if os.geteuid():
        pytest.skip("needs root")
    popen = waiting(PAUSE)
    said = refusal(popen.pid, user=NOBODY)
    assert said.startswith("not permitted to read it")


def test_no_right_to_end_the_copy(waiting):
    """ptrace is allowed, kill is not: the copy would stay for ever."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root with setpriv can do without CAP_KILL")
    popen = waiting(PAUSE, user=NOBODY)
    few = ["setpriv", "--bounding-set=-all,+sys_ptrace,+dac_override",
           "--no-new-privs"]  # fmt: skip
    done = subprocess.run(
        [*few, str(HELPER), str(popen.pid)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout.startswith("refused its copy could not be ended")
    assert "CAP_KILL" in done.stdout
    assert status_of(popen.pid, "State").startswith("S")


def test_limit_of_processes(waiting):
    if os.geteuid():
        pytest.skip("needs root")

    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))

    popen = waiting(PAUSE, user=NOBODY, preexec_fn=limit)
    assert "RLIMIT_NPROC" in refusal(popen.pid)
    assert popen.poll() is None


def test_limit_of_threads_in_a_group(group):
    popen = group("pids", "pids.max", "10")
    assert "pids.max" in refusal(popen.pid)


def test_limit_of_memory_in_a_group(group):
    old = Path("/sys/fs/cgroup/memory").exists()
    name = "memory.limit_in_bytes" if old else "memory.max"
    popen = group("memory", name, "8388608")
    assert "free in its control group" in refusal(popen.pid)


def test_max_pause(farm):
    """Its page tables, of 200 MB, take longer on any machine."""
    skip_if(attach_reason())
    process = farm.process("counter", CENTRAL, ("6000000",))
    done = run_cli(["attach", "--snapshot", "--max-pause", "1", process.pid])
    assert done.returncode == 1
    assert "--max-pause 1" in done.stderr.splitlines()[-1]
    assert status_of(process.pid, "State")[0] in "SR"
    assert not children(process.pid)


@pytest.mark.parametrize("pause", ["30000.5", "10**10"])
def test_max_pause_of_scripts(steady, pause):
    """The helper takes whole numbers up to an hour."""
    process = steady(CENTRAL)
    code = f"goref.attach(PID, snapshot=True, max_pause_ms={pause}); say(1)"
    assert lines_of(process.pid, code)[-1] == "1"


def test_pause_too_long():
    """One millisecond is not enough for the page tables of a gigabyte."""
    text = PAUSE.replace(
        "int main(void)\n{",
        """#include <stdlib.h>
int main(void)
{
	enum { BYTES = 1 << 28 };
	char *area = malloc(BYTES);
	for (int i = 0; i < BYTES; i += 4096)
		area[i] = 1;
""",
    )
    popen = subprocess.Popen([build_c(text)], stdout=subprocess.PIPE)
    try:
        assert popen.stdout.read(1)
        said = refusal(popen.pid, 1)
        assert "1 ms are allowed" in said or "pause of 1 ms" in said
        assert popen.poll() is None
        assert status_of(popen.pid, "TracerPid") == "0"
        assert not children(popen.pid)
    finally:
        popen.kill()
        popen.wait()
        popen.stdout.close()

# SPDX-License-Identifier: Apache-2.0
"""goref-snapshot, `goref attach --snapshot': a process is copied, and neither
knows nor suffers."""

import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from session import TOP, environment, run_cli
from targets import attach_reason, start
from toolchains import Variant, build, build_c, variants

CENTRAL = Variant("go1.24", "default")
NOBODY = 65534


class Helper:
    """A run of goref-snapshot, up to its answer."""

    def __init__(self, pid, *more, user=None):
        program = Path(environment()["GOREF_BUILD_DIR"]) / "goref-snapshot"
        self.popen = subprocess.Popen(
            [str(program), str(pid), *map(str, more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            user=user,
        )
        self.said = {}
        self.threads = []
        self.is_ready = False
        for line in self.popen.stdout:
            key, _, rest = line.rstrip("\n").partition(" ")
            self.said[key] = rest
            if key == "thread":
                self.threads.append(rest.split())
            if key in ("ready", "refused"):
                break
        self.is_ready = "ready" in self.said

    @property
    def copy(self):
        return int(self.said["copy"])

    def end(self):
        """Status; what it leaves is seen afterwards."""
        self.popen.stdin.close()
        rest = self.popen.stdout.read()
        self.popen.stdout.close()
        self.popen.stderr.close()
        self.said.update(
            line.split(" ", 1) for line in rest.splitlines() if " " in line
        )
        return self.popen.wait(timeout=30)


def refusal(pid, *more, user=None):
    """The one line with which it is refused."""
    helper = Helper(pid, *more, user=user)
    assert helper.end() == 1, helper.said
    assert list(helper.said) == ["refused"]
    return helper.said["refused"]


def status_of(pid, key):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return line.split(":", 1)[1].strip()
    return None


def signal_masks(pid):
    """What each thread blocks at all times, by its number: the handlers of
    Go's runtime block all signals while they run."""
    masks = {}
    for _ in range(50):
        for tid in os.listdir(f"/proc/{pid}/task"):
            mask = int(status_of(f"{pid}/task/{tid}", "SigBlk"), 16)
            masks[tid] = masks.get(tid, mask) & mask
        time.sleep(0.01)
    return masks


def children(pid):
    """All processes whose parent it is, dead ones too."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append((int(entry.name), stat))
    return found


class Steady:
    """A process that checks its own work."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid

    def ask(self, text="status"):
        self.process.popen.stdin.write(text.encode() + b"\n")
        self.process.popen.stdin.flush()
        return json.loads(self.process.read_line())

    def goes_on(self):
        before, end = self.ask()["rounds"], time.monotonic() + 20
        while time.monotonic() < end:
            if self.ask()["rounds"] > before + 100:
                return True
            time.sleep(0.02)
        return False


@pytest.fixture
def steady(farm):
    reason = attach_reason()
    if reason:
        pytest.skip(reason)
    made = []

    def make(variant):
        made.append(farm.process("steady", variant, env={"GOMAXPROCS": "4"}))
        return Steady(made[-1])

    yield make
    for process in made:
        process.stop()


@pytest.fixture
def waiting():
    """waiting(text): the C program, which writes a byte when it is ready."""
    running = []
    folder = tempfile.TemporaryDirectory(prefix="goref-e2e-")
    os.chmod(folder.name, 0o755)  # for other users

    def run(text, **options):
        exe = shutil.copy(build_c(text), folder.name)
        popen = subprocess.Popen(
            [exe], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )
        running.append(popen)
        assert popen.stdout.read(1)
        return popen

    yield run
    for popen in running:
        popen.kill()
        popen.wait()
        popen.stdin.close()
        popen.stdout.close()
    folder.cleanup()


# ------------------------------------------------------------- it goes well


@variants("default")
def test_process_works_on(steady, variant):
    """Copied again and again; a wrong result would have ended it."""
    process = steady(variant)
    masks = signal_masks(process.pid)
    for _ in range(25):
        helper = Helper(process.pid)
        assert helper.is_ready, helper.said
        assert status_of(process.pid, "TracerPid") == "0"
        tids = {thread[0] for thread in helper.threads}
        assert tids >= set(masks)
        assert helper.end() == 0, helper.said
        assert not Path(f"/proc/{helper.copy}").exists()
        assert not children(process.pid)
    assert process.goes_on()
    assert signal_masks(process.pid).items() >= masks.items()


def test_children_of_its_own(steady):
    """It sees as many SIGCHLD as it has run programs, and reaps its own."""
    process = steady(CENTRAL)
    stopping = threading.Event()
    failures = []

    def copy():
        while not stopping.is_set():
            helper = Helper(process.pid)
            if not helper.is_ready or helper.end():
                failures.append(helper.said)

    thread = threading.Thread(target=copy)
    thread.start()
    for _ in range(5):
        process.ask("run 20")
    stopping.set()
    thread.join()
    assert not failures
    time.sleep(0.1)
    answer = process.ask()
    # Signals may merge, but none may come of us.
    assert 0 < answer["signals"] <= 100
    before = answer["signals"]
    for _ in range(10):
        assert Helper(process.pid).end() == 0
    assert process.ask()["signals"] == before
    assert not children(process.pid)


def test_copy_holds_no_files(steady):
    """What the process closes must not stay open by the copy."""
    process = steady(CENTRAL)
    helper = Helper(process.pid)
    assert os.listdir(f"/proc/{process.pid}/fd")
    held = os.listdir(f"/proc/{helper.copy}/fd")
    assert helper.end() == 0
    if not held:
        return
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    assert release < (5, 9), held


def test_copy_is_first_for_the_oom_killer(steady):
    process = steady(CENTRAL)
    helper = Helper(process.pid)
    score = Path(f"/proc/{helper.copy}/oom_score_adj").read_text()
    own = Path(f"/proc/{process.pid}/oom_score_adj").read_text()
    assert helper.end() == 0
    assert score.strip() == "1000"
    assert own.strip() != "1000"


MEMORY = """
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>
#include <stdint.h>
static uint64_t words[64];
int main(void)
{
	char byte;
	for (int i = 0; i < 64; i++)
		words[i] = 0x1234567800000000 + i;
	printf("%p\\n", (void *)words);
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		for (int i = 0; i < 64; i++)
			words[i]++;
		printf("x");
		fflush(stdout);
	}
	return 0;
}
"""


def test_copy_stays_as_it_was():
    """Also of a program in C, with one thread."""
    popen = subprocess.Popen(
        [build_c(MEMORY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    addr = int(popen.stdout.readline(), 16)

    def word(pid):
        with open(f"/proc/{pid}/mem", "rb") as file:
            file.seek(addr)
            return int.from_bytes(file.read(8), "little")

    try:
        time.sleep(0.05)
        helper = Helper(popen.pid)
        assert helper.is_ready, helper.said
        popen.stdin.write(b"abc")
        popen.stdin.flush()
        assert popen.stdout.read(3) == b"xxx"
        assert word(popen.pid) == 0x1234567800000003
        assert word(helper.copy) == 0x1234567800000000
        assert helper.end() == 0
        assert not children(popen.pid)
        popen.stdin.close()
        assert popen.wait(timeout=10) == 0
    finally:
        popen.kill()
        popen.wait()
        popen.stdout.close()


def test_process_ends_meanwhile(steady):
    process = steady(CENTRAL)
    helper = Helper(process.pid)
    process.process.popen.kill()
    process.process.popen.wait()
    assert Path(f"/proc/{helper.copy}/maps").exists()
    assert helper.end() == 0
    # Init, which inherits it, may take its time.
    path = Path(f"/proc/{helper.copy}")
    assert not path.exists() or status_of(helper.copy, "State")[0] == "Z"


def test_stopped_meanwhile(steady):
    """Ctrl-Z: it stays stopped, and yet keeps no zombie."""
    process = steady(CENTRAL)
    helper = Helper(process.pid)
    os.kill(process.pid, signal.SIGSTOP)
    while status_of(process.pid, "State")[0] != "T":
        time.sleep(0.01)
    assert helper.end() == 0, helper.said
    assert not children(process.pid)
    assert status_of(process.pid, "State")[0] == "T"
    os.kill(process.pid, signal.SIGCONT)
    assert process.goes_on()


def test_under_a_shower_of_signals(steady):
    process = steady(CENTRAL)
    stopping = threading.Event()

    def rain():
        while not stopping.is_set():
            os.kill(process.pid, signal.SIGURG)
            time.sleep(0.0003)

    thread = threading.Thread(target=rain)
    thread.start()
    try:
        for _ in range(20):
            helper = Helper(process.pid)
            assert helper.is_ready, helper.said
            assert helper.end() == 0, helper.said
    finally:
        stopping.set()
        thread.join()
    assert process.goes_on()
    assert not children(process.pid)


def test_another_user(waiting):
    """Without root's rights, of a process of one's own."""
    if os.geteuid():
        pytest.skip("needs root")
    popen = waiting(PAUSE, user=NOBODY)
    helper = Helper(popen.pid, user=NOBODY)
    assert helper.is_ready, helper.said
    assert helper.end() == 0, helper.said
    assert not children(popen.pid)


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
        # What is left in it moves up.
        for pid in (folder / "cgroup.procs").read_text().split():
            (folder.parent / "cgroup.procs").write_text(pid)
        folder.rmdir()


# --------------------------------------------------------------- it is killed


_PTRACE_TRACEME, _PTRACE_SYSCALL = 0, 24


def _ptrace(request, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    return libc.ptrace(request, pid, 0, 0)


def killed_at(pid, number):
    """Run the helper from beginning to end, and kill it when it enters or
    leaves its so many-th system call. Gives how many it got to."""
    program = Path(environment()["GOREF_BUILD_DIR"]) / "goref-snapshot"
    popen = subprocess.Popen(
        [str(program), str(pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: _ptrace(_PTRACE_TRACEME, 0),
    )
    count = 0
    while True:
        _, status = os.waitpid(popen.pid, 0)
        if not os.WIFSTOPPED(status):
            popen.returncode = 0  # it is reaped
            return count
        count += 1
        if count == number:
            os.kill(popen.pid, signal.SIGKILL)
        else:
            _ptrace(_PTRACE_SYSCALL, popen.pid)


def test_killed_helper(steady):
    """SIGKILL at any step, those with altered registers too. The process goes
    on; what was under way is a zombie at most, and nothing lives on."""
    process = steady(CENTRAL)
    steps = killed_at(process.pid, 0)
    assert steps > 200
    assert not children(process.pid)
    kills = int(os.environ.get("GOREF_KILLS", 40))
    random.seed(7)
    for i in range(kills):
        killed_at(process.pid, steps * i // kills + random.randrange(3))
        assert process.process.popen.poll() is None
        assert status_of(process.pid, "TracerPid") == "0"
        assert status_of(process.pid, "State")[0] in "SR"
    assert process.goes_on()
    time.sleep(0.1)
    for _pid, stat in children(process.pid):
        assert stat.rpartition(")")[2].split()[0] == "Z"


def test_signals_do_not_reach_the_helper(steady):
    """Ctrl-C in the terminal, or its end, leave it to clear away."""
    process = steady(CENTRAL)
    helper = Helper(process.pid)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        helper.popen.send_signal(number)
    time.sleep(0.05)
    assert helper.popen.poll() is None
    assert os.getsid(helper.popen.pid) == helper.popen.pid
    assert helper.end() == 0
    assert not children(process.pid)


# ------------------------------------------------------------- it is scanned


@variants("default", "pie")
def test_scan_equals_the_truth(farm, variant):
    target = farm.target("values", variant, "live")
    pid = target.process.pid
    done = run_cli(["attach", "--snapshot", "--json", pid])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"]["kind"] == "snapshot"
    assert told["target"]["pid"] == pid
    roots = {r["name"]: r["objects"] for r in told["roots"]}
    for name, held in target.held.items():
        if held["objects"]:
            assert roots.get(name) == held["objects"], name
    assert not children(pid)
    assert status_of(pid, "TracerPid") == "0"


@variants("default")
def test_verify_under_load(farm, steady, variant):
    """Whatever its threads were at: registers and memory are of one moment."""
    process = steady(variant)
    for _ in range(5):
        done = run_cli(["attach", "--snapshot", "--verify", process.pid])
        assert done.returncode == 0, (done.stdout, done.stderr)
    assert process.goes_on()
    assert not children(process.pid)


def test_first_of_a_pid_namespace():
    """As in a container: what it leaves would be its own to reap."""
    if not shutil.which("unshare") or os.geteuid():
        pytest.skip("needs unshare and root")
    exe = build("counter", CENTRAL.release)
    try:
        process = start(
            shutil.which("unshare"),
            ["--pid", "--fork", "--kill-child", exe, "20000"],
        )
    except (EOFError, TimeoutError):
        pytest.skip("no new namespaces may be made here")
    try:
        inner = children(process.pid)[0][0]
        assert status_of(inner, "NSpid").split()[-1] == "1"
        helper = Helper(inner)
        assert helper.is_ready, helper.said
        assert helper.threads[0][0] == "1"
        assert helper.end() == 0, helper.said
        assert not children(inner)
        done = run_cli(["attach", "--snapshot", "--json", inner])
        assert done.returncode == 0, done.stderr
        roots = {r["name"]: r for r in json.loads(done.stdout)["roots"]}
        truth = process.truth["held"]["main.chain"]["objects"]
        assert roots["main.chain"]["objects"] == truth
        assert not children(inner)
    finally:
        process.stop()


def test_why(steady):
    process = steady(CENTRAL)
    done = run_cli(
        ["attach", "--snapshot", "--why", "main.chain", process.pid]
    )
    assert done.returncode == 0, done.stderr
    assert "main.chain" in done.stdout


def test_refused_in_one_line():
    """A Go program under a filter: not by a snapshot, but otherwise."""
    exe = build("counter", CENTRAL.release)
    process = start(build_c(FILTER), [exe, "2000"])
    try:
        done = run_cli(["attach", "--snapshot", process.pid])
        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"goref: no snapshot of process {process.pid}:")
        assert "seccomp" in last
        assert run_cli(["attach", process.pid]).returncode == 0
    finally:
        process.stop()


def test_max_pause(steady):
    process = steady(CENTRAL)
    done = run_cli(["attach", "--snapshot", "--max-pause", "1", process.pid])
    assert done.returncode == 1
    assert "--max-pause 1" in done.stderr.splitlines()[-1]
    assert process.goes_on()


@pytest.mark.parametrize("delay", [0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.6])
def test_killed_gdb(steady, delay):
    """The helper then clears away: no zombie, and nothing is traced."""
    process = steady(CENTRAL)
    popen = subprocess.Popen(
        [str(TOP / "goref"), "attach", "--snapshot", str(process.pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    time.sleep(delay)
    popen.kill()
    popen.wait()
    end = time.monotonic() + 10
    while children(process.pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not children(process.pid)
    assert status_of(process.pid, "TracerPid") == "0"
    assert process.goes_on()


# ------------------------------------------------------------------ refusals

PAUSE = """
#include <unistd.h>
int main(void)
{
	write(1, "r", 1);
	for (;;)
		pause();
}
"""

FILTER = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter all[] = { { BPF_RET | BPF_K, 0, 0,
				       SECCOMP_RET_ALLOW } };
	struct sock_fprog program = { 1, all };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	if (argc > 1)
		return execv(argv[1], argv + 1);
	write(1, "r", 1);
	for (;;)
		pause();
}
"""

SPIN = """
#include <unistd.h>
int main(void)
{
	write(1, "r", 1);
	for (volatile int i = 0;; i++)
		;
}
"""


def test_no_such_process():
    assert refusal(2**22 + 5) == "there is no such process"


@pytest.mark.parametrize("words", [[], ["x"], ["-1"], ["1", "0"], ["1", "y"]])
def test_usage(words):
    program = Path(environment()["GOREF_BUILD_DIR"]) / "goref-snapshot"
    done = subprocess.run(
        [str(program), *words], capture_output=True, text=True
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


def test_seccomp(waiting):
    popen = waiting(FILTER)
    assert "seccomp" in refusal(popen.pid)
    assert popen.poll() is None


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
    popen.send_signal(signal.SIGSTOP)
    while not status_of(popen.pid, "State").startswith("T"):
        time.sleep(0.01)
    assert refusal(popen.pid).startswith("it is stopped")
    popen.send_signal(signal.SIGCONT)
    assert Helper(popen.pid).end() == 0


def test_ended():
    popen = subprocess.Popen(["true"])
    while not status_of(popen.pid, "State").startswith("Z"):
        time.sleep(0.01)
    assert refusal(popen.pid) == "it has ended"
    popen.wait()


def test_never_in_the_kernel(waiting):
    popen = waiting(SPIN)
    assert refusal(popen.pid).startswith("no thread of it waits in the kernel")
    assert status_of(popen.pid, "TracerPid") == "0"


def test_not_permitted(waiting):
    if os.geteuid():
        pytest.skip("needs root")
    popen = waiting(PAUSE)
    said = refusal(popen.pid, user=NOBODY)
    assert said.startswith("not permitted to read it")


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

# SPDX-License-Identifier: Apache-2.0
"""Snapshots of processes under seccomp filters, as all in containers are: the
filter is suspended while the process stands still, where the kernel lets us."""

import ctypes
import json
import os
import signal

import pytest

from session import GOREF, run_cli
from snapshots import NOBODY, children, copied, refusal, status_of
from targets import attach_reason, skip_if, start
from toolchains import Variant, build, build_c
from waiting import LONGEST_S

CENTRAL = Variant("go1.24", "default")

# Runs another program, or answers each byte; "f": after a fork.
PROGRAM = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		      offsetof(struct seccomp_data, nr))
#define FLAGS BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		       offsetof(struct seccomp_data, args[0]))
#define IF(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1)
#define UNLESS(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 1, 0)
#define UNLESS_THREAD BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FAIL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)

int main(int argc, char **argv)
{
	struct sock_filter rules[] = { RULES };
	struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };
	char byte;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	if (argc > 1)
		return execv(argv[1], argv + 1);
	write(1, "r", 1);
	while (read(0, &byte, 1) == 1) {
		if (byte == 'f' && !fork())
			_exit(0);
		write(1, "x", 1);
	}
	return 0;
}
"""

# Death for each call that a snapshot makes; of clone, only threads.
STRICT = PROGRAM.replace(
    "RULES",
    """CALL, IF(SYS_fork), KILL, IF(SYS_vfork), KILL, IF(SYS_wait4), KILL,
	IF(SYS_waitid), KILL, IF(SYS_close_range), KILL, IF(SYS_clone3), FAIL,
	UNLESS(SYS_clone), ALLOW, FLAGS, UNLESS_THREAD, KILL, ALLOW""",
)
LOOSE = PROGRAM.replace("RULES", "ALLOW")

_TRACEME, _SETOPTIONS, _SUSPEND_SECCOMP = 0, 0x4200, 1 << 21


def _ptrace(*words):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    return libc.ptrace(*words)


@pytest.fixture
def suspends():
    """The kernel lets us suspend filters."""
    skip_if(attach_reason())
    child = os.fork()
    if not child:
        _ptrace(_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.waitpid(child, 0)
    failed = _ptrace(_SETOPTIONS, child, 0, _SUSPEND_SECCOMP)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if failed:
        pytest.skip("the kernel does not let us suspend seccomp filters")


def answers(popen, byte=b"a"):
    popen.stdin.write(byte)
    popen.stdin.flush()
    return popen.stdout.read(1) == b"x"


def test_filter_holds_again(suspends, waiting):
    """The call that the filter kills for is made when we say, and only then."""
    popen = waiting(STRICT)
    for _ in range(10):
        helper = copied(popen.pid)
        assert answers(popen)
        assert helper.end() == 0, helper.said
        assert not children(popen.pid)
    assert answers(popen)
    assert status_of(popen.pid, "TracerPid") == "0"
    assert not answers(popen, b"f")
    assert popen.wait(timeout=LONGEST_S) == -signal.SIGSYS


def test_go_program(suspends):
    """One that may make threads, and nothing else."""
    process = start(build_c(STRICT), [build("counter", CENTRAL.release), "2000"])
    try:
        done = run_cli(["attach", "--snapshot", "--json", process.pid])
        assert done.returncode == 0, done.stderr
        roots = {r["name"]: r for r in json.loads(done.stdout)["roots"]}
        truth = process.truth["held"]["main.chain"]["objects"]
        assert roots["main.chain"]["objects"] == truth
        assert process.popen.poll() is None
        assert not children(process.pid)
    finally:
        process.stop()


def test_not_permitted(waiting):
    """Without root's rights it is refused, and nothing has happened."""
    if os.geteuid():
        pytest.skip("needs root")
    popen = waiting(STRICT, user=NOBODY)
    assert "seccomp" in refusal(popen.pid, user=NOBODY)
    assert status_of(popen.pid, "TracerPid") == "0"
    assert answers(popen)


def test_refused_in_one_line():
    """To us, too, a filter applies, as inside of a container: not by a
    snapshot, but otherwise."""
    process = start(build_c(LOOSE), [build("counter", CENTRAL.release), "2000"])
    try:
        words = [GOREF, "attach", "--snapshot", process.pid]
        done = run_cli(words, command=build_c(LOOSE))
        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"goref: no snapshot of process {process.pid}:")
        assert "seccomp" in last
        words.remove("--snapshot")
        assert run_cli(words, command=build_c(LOOSE)).returncode == 0
    finally:
        process.stop()

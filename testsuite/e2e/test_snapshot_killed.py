# SPDX-License-Identifier: Apache-2.0
"""Snapshots of which something is killed while they are made or looked at: the
process goes on, and nothing of ours lives on."""

import ctypes
import os
import random
import signal
import subprocess

import pytest

from session import TOP, environment
from signalled import living
from snapshots import HELPER, Helper, children, status_of, waits_in_futex
from toolchains import Variant
from waiting import comes, faults_of_all, reaches

CENTRAL = Variant("go1.24", "default")

_PTRACE_TRACEME, _PTRACE_SYSCALL = 0, 24


def _ptrace(request, pid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    return libc.ptrace(request, pid, 0, 0)


def killed_at(pid, number):
    """Run the helper from beginning to end, and kill it when it enters or
    leaves its so many-th system call. Gives how many it got to."""
    popen = subprocess.Popen(
        [str(HELPER), str(pid)],
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
        assert process.process.popen.poll() is None, process.process.ending()
        assert status_of(process.pid, "TracerPid") == "0"
        assert status_of(process.pid, "State")[0] in "SR"
    assert process.goes_on()
    assert comes(
        lambda: all(
            stat.rpartition(")")[2].split()[0] == "Z"
            for _pid, stat in children(process.pid)
        )
    )


# Only the second thread does not mind what its wait gives: glibc ends a process
# if sem_wait() gets a positive result, such as the ID of a process.
ONE_IS_FIT = """
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>
static sem_t never;
static int word;
static void *wait_like_go(void *arg)
{
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return arg;
}
int main(void)
{
	pthread_t thread;
	sem_init(&never, 0, 0);
	pthread_create(&thread, NULL, wait_like_go, NULL);
	write(1, "r", 1);
	sem_wait(&never);
	return 0;
}
"""


def test_fit_thread(waiting):
    """It is taken each time, though another one comes first."""
    popen = waiting(ONE_IS_FIT)

    def has_ended():
        return popen.poll() is not None

    assert comes(lambda: waits_in_futex(popen.pid))
    steps = killed_at(popen.pid, 0)
    for number in range(steps // 2, steps, 5):
        killed_at(popen.pid, number)
        assert comes(lambda: has_ended() or waits_in_futex(popen.pid))
        assert not has_ended()


def test_signals_do_not_reach_the_helper(steady):
    """Ctrl-C in the terminal, or its end, leave it to clear away."""
    process = steady(CENTRAL)
    helper = Helper(process.pid)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        helper.popen.send_signal(number)
    assert os.getsid(helper.popen.pid) == helper.popen.pid
    assert helper.end() == 0
    assert not children(process.pid)


@pytest.mark.parametrize("part", range(7))
def test_killed_goref(steady, part):
    """The helper then clears away: no zombie, and nothing is traced. Moments are
    counted in page faults."""
    mark = f"test_killed_goref {os.getpid()} {part}"
    process = steady(CENTRAL)

    def start():
        return subprocess.Popen(
            [str(TOP / "goref"), "attach", "--snapshot", str(process.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**environment(), "GOREF_TEST": mark},
        )

    whole = start()
    faults = faults_of_all(whole.pid)
    assert whole.wait() == 0
    popen = start()
    reaches(popen.pid, faults * (part + 3) // 10)
    popen.kill()
    popen.wait()
    assert comes(lambda: not living(f"GOREF_TEST={mark}"))
    assert not children(process.pid)
    assert status_of(process.pid, "TracerPid") == "0"
    assert process.goes_on()

# SPDX-License-Identifier: Apache-2.0
"""goref trace, or its helper goref-trace, is killed: at the start, while it
loads and attaches its programs, between, at the look or at the end. None of its
BPF programs is left, no probe is in the code of the process, which goes on.

Moments are counted in system calls of the one that is killed, but for read():
most calls read the kernel's types. GOREF_KILLS is the number of moments of all
rows together: 200 and more for the long run.
"""

import ctypes
import os
import random
import signal
import subprocess
from contextlib import suppress

import pytest

from session import GOREF, environment
from signalled import is_traced, living
from snapshots import children
from toolchains import Variant
from tracers import HELPER, facts_of, is_loaded, programs_of
from traces import Growing, skip_unless_traced
from waiting import comes

CENTRAL = Variant("go1.24", "cgo")
ROWS = [(who, mode) for who in ("helper", "goref") for mode in ("rss", "go")]
KILLS = int(os.environ.get("GOREF_KILLS", "20")) // len(ROWS)
SEED = 7
BREAKPOINT = b"\xcc"
TICKS = 40
_PTRACE_TRACEME, _PTRACE_PEEKUSER, _PTRACE_SYSCALL = 0, 3, 24
_ORIG_RAX, _READ = 15 * 8, 0  # of struct user; of <asm/unistd.h>


def _ptrace(request, pid, where=0, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    libc.ptrace.restype = ctypes.c_long
    return libc.ptrace(request, pid, where, data)


class Target:
    """A process that is traced, and its first byte of the probe of mode go."""

    def __init__(self, program):
        self.program = program
        self.pid = program.pid
        self.facts, found = facts_of(self.pid)
        self.probe = found.probe
        self.byte = self.read()
        assert self.byte != BREAKPOINT

    def read(self):
        with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
            memory.seek(self.probe.addr)
            return memory.read(1)

    def sample_probe(self):
        return (
            f"sample_probe {self.probe.addr:#x} {self.probe.pointer_register} "
            f"{self.probe.size_register}"
        )

    def check(self):
        """It is as it was, and answers."""
        assert comes(lambda: self.read() == self.byte)
        assert comes(lambda: not is_traced(self.pid))
        self.program.grow("rows", 36 << 10)
        assert comes(lambda: not children(self.pid))


class Stepped:
    """A process that stops at its system calls."""

    count = 0

    def __init__(self, target, words, **files):
        Stepped.count += 1
        self.target = target
        self.mark = f"GOREF_TEST_TRACE={os.getpid()}.{Stepped.count}"
        self.programs = set()
        self.had_probe = False
        name, _, value = self.mark.partition("=")
        self.popen = subprocess.Popen(
            words,
            stdout=subprocess.DEVNULL,
            env={**environment(), name: value},
            preexec_fn=lambda: _ptrace(_PTRACE_TRACEME, 0),
            **files,
        )

    def until(self, number, sent=signal.SIGKILL, after=lambda: True):
        """Let it run to its so many-th stop at a system call, and send it a
        signal; 0: to its end. after: the count begins when this is true.
        Returns how many stops there were until then, and its status."""
        count, status, has_begun = 0, None, False
        while True:
            _, status = os.waitpid(self.popen.pid, 0)
            if not os.WIFSTOPPED(status):
                break
            call = _ptrace(_PTRACE_PEEKUSER, self.popen.pid, _ORIG_RAX)
            has_begun = has_begun or after()
            count += has_begun and call != _READ
            stop = os.WSTOPSIG(status)
            if has_begun and call != _READ and count == number:
                self._look()
                os.kill(self.popen.pid, sent)
                number = 0
            passed = 0 if stop == signal.SIGTRAP else stop
            # A process that was killed cannot be asked any more.
            _ptrace(_PTRACE_SYSCALL, self.popen.pid, 0, passed)
        self.popen.returncode = 0  # it is reaped
        return count, status

    def _look(self):
        """The programs that are loaded at this moment, and the probe."""
        for pid in living(self.mark):
            with suppress(OSError):
                self.programs |= programs_of(pid)
        self.had_probe = self.target.read() == BREAKPOINT

    def check_nothing_left(self):
        assert comes(lambda: not living(self.mark)), living(self.mark)
        self.check_no_programs()

    def check_no_programs(self):
        assert comes(lambda: not any(map(is_loaded, self.programs)))


class Run(Stepped):
    """A run of goref or of the helper."""

    def __init__(self, target, who, mode, folder):
        if who == "helper":
            words = [str(HELPER), str(target.pid)]
            probe = [target.sample_probe()] if mode == "go" else []
            lines = [f"mode {mode}", *target.facts, *probe, "start"]
            ends = [*(f"tick {i}" for i in range(TICKS)), "end"]
            (folder / "in").write_text("\n".join([*lines, *ends, ""]))
        else:
            words = [str(GOREF), "trace", "--every", "0.1s", "--count", "3",
                     str(target.pid), mode]  # fmt: skip
            (folder / "in").write_text("")
        with open(folder / "in") as lines:
            super().__init__(
                target, words, stdin=lines, stderr=subprocess.DEVNULL
            )


@pytest.fixture(scope="module")
def target():
    skip_unless_traced()
    with Growing(CENTRAL) as program:
        yield Target(program)


def some_part(who, i, rng):
    """A part of the life. Much of that of goref is before and after the trace:
    each second moment is then in the middle."""
    if who == "goref" and i % 2:
        return 0.55 + 0.15 * rng.random()
    return (i + rng.random()) / KILLS


@pytest.mark.parametrize("who, mode", ROWS)
def test_killed(target, tmp_path, who, mode):
    steps, status = Run(target, who, mode, tmp_path).until(0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 3)
    assert steps > 200
    target.check()
    rng, runs = random.Random(f"{SEED} {who} {mode}"), []
    for i in range(KILLS):
        number = int(steps * some_part(who, i, rng)) + 1
        run = Run(target, who, mode, tmp_path)
        run.until(number)
        print(f"killed at {number} of {steps}: {len(run.programs)} programs")
        run.check_nothing_left()
        target.check()
        runs.append(run)
    assert any(run.programs for run in runs)
    assert any(run.had_probe for run in runs) == (mode == "go")

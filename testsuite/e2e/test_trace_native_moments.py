# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native, or its helper goref-trace, is killed at some moment,
as in test_trace_moments.py: no BPF program is left, the code of the process is
that of its files, and it goes on. Each second moment is soon after the first
probe is there.

GOREF_KILLS is the number of moments of all rows together.
"""

import os
import random
import signal
import subprocess
import threading
from contextlib import suppress

import pytest

from allocs import Allocs
from code_bytes import probes
from session import GOREF
from snapshots import children
from test_process import load
from test_trace_moments import BREAKPOINT, KILLS, SEED, Stepped
from tracers import HELPER, facts_of
from traces import skip_unless_traced
from waiting import comes

ROWS = [
    (who, mode)
    for who in ("helper", "goref")
    for mode in ("windows", "full")
]
TICKS = 10
BUDGET_PPM = 3000  # less than the load costs
EVERY = "0.3s"
MOST_CALLS = 60  # after the first probe
MOST_S = 10  # until a window opens or closes, or the run goes on without


def allocators_of(pid):
    """The lines that tell the helper about the functions of allocators."""
    exe = f"/proc/{pid}/exe"
    scan = load().Scan(
        "native", None, [(exe, None, None)], (), pid=pid, prepare=True,
        extent="residency",
    )  # fmt: skip
    return [
        f"alloc_function {f.kind} {f.addr:#x}"
        for f in scan.alloc_functions().functions
    ]


class Target:
    """A process that allocates all the time."""

    def __init__(self, program):
        self.program = program
        self.pid = program.pid
        self.facts, _ = facts_of(self.pid)
        self.functions = allocators_of(self.pid)
        self.first = int(self.functions[0].split()[2], 16)
        self.memory = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY)
        assert not probes(self.pid) and not self.has_probe()
        program.load(2, 5000, 100, 500)

    def has_probe(self):
        """Is there one in the first function?"""
        return os.pread(self.memory, 1, self.first) == BREAKPOINT

    def read(self):
        """A breakpoint, if there is one in the code."""
        return BREAKPOINT if probes(self.pid) else b""

    def check(self):
        """Its code is as it was, and it answers and goes on."""
        assert comes(lambda: not probes(self.pid))
        assert comes(lambda: not children(self.pid))
        before = self.program.say("cpu")["pairs"]
        self.program.make("leak_b", 1, 50)
        assert comes(lambda: self.program.say("cpu")["pairs"] > before)


class Run(Stepped):
    """A run of goref."""

    def __init__(self, target, mode):
        words = [str(GOREF), "trace", "--every", EVERY, "--count", "3",
                 str(target.pid), "native"]  # fmt: skip
        super().__init__(
            target,
            words + ["--full"] * (mode == "full"),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class Helped(Stepped):
    """A run of the helper, which is asked to go on when its probes have come
    and gone."""

    def __init__(self, target, mode):
        self.is_over = False
        reads, self.writes = os.pipe()
        super().__init__(
            target,
            [str(HELPER), str(target.pid)],
            stdin=reads,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        lines = ["mode native", f"budget {BUDGET_PPM}", "period 200"]
        lines += ["full 0"] * (mode == "full")
        lines += [*target.facts, *target.functions, "start"]
        self.thread = threading.Thread(target=self._drive, args=(mode, lines))
        self.thread.start()

    def until(self, number, sent=signal.SIGKILL, after=lambda: True):
        found = super().until(number, sent, after)
        self.is_over = True
        self.thread.join()
        return found

    def _say(self, *lines):
        os.write(self.writes, "".join(f"{x}\n" for x in lines).encode())

    def _comes(self, condition):
        return comes(lambda: self.is_over or condition(), MOST_S)

    def _drive(self, mode, lines):
        with suppress(BrokenPipeError):
            self._say(*lines)
            for i in range(TICKS):
                self._comes(lambda: probes(self.target.pid))
                if mode == "windows":
                    self._comes(lambda: not probes(self.target.pid))
                self._say(f"tick {i}")
            self._say("end")
        os.close(self.writes)


@pytest.fixture(scope="module")
def target():
    skip_unless_traced()
    with Allocs() as program:
        one = Target(program)
        yield one
        os.close(one.memory)


@pytest.mark.parametrize("who, mode", ROWS)
def test_killed(target, who, mode):
    kind = Helped if who == "helper" else Run
    steps, status = kind(target, mode).until(0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 3)
    assert steps > 200
    target.check()
    rng, runs = random.Random(f"{SEED} {who} native {mode}"), []
    for i in range(KILLS):
        run = kind(target, mode)
        if i % 2:
            number = 1 + int(MOST_CALLS * rng.random() ** 3)
            run.until(number, after=target.has_probe)
        else:
            run.until(1 + int(steps * (i + rng.random()) / KILLS))
        print(f"{len(run.programs)} programs, a probe: {run.had_probe}")
        run.check_nothing_left()
        target.check()
        runs.append(run)
    assert any(run.programs for run in runs)
    assert any(run.had_probe for run in runs)

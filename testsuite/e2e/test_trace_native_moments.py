# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native, or its helper goref-trace, is killed at some moment,
as in test_trace_moments.py: no BPF program is left, the code of the process is
that of its files, and it goes on. The probes are those of each call of an
allocator, so they are in the code for most of the time.

GOREF_KILLS is the number of moments of all rows together.
"""

import os
import random
import subprocess

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
TICKS = 40
EVERY = "0.3s"


def allocators_of(pid):
    """The lines that tell the helper about the functions of allocators."""
    exe = f"/proc/{pid}/exe"
    scan = load().Scan(
        "native", None, [(exe, None, None)], (), pid=pid, prepare=True,
        extent="residency",
    )  # fmt: skip
    return [
        f"alloc_function {f.kind} {f.addr:#x} {int(f.is_walked)}"
        for f in scan.alloc_functions().functions
    ]


class Target:
    """A process that allocates all the time."""

    def __init__(self, program):
        self.program = program
        self.pid = program.pid
        self.facts, _ = facts_of(self.pid)
        self.functions = allocators_of(self.pid)
        assert not probes(self.pid)
        program.load(2, 5000, 100, 500)

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
    """A run of goref or of the helper."""

    def __init__(self, target, who, mode, folder):
        is_full = mode == "full"
        lines = []
        if who == "helper":
            words = [str(HELPER), str(target.pid)]
            lines += ["mode native", "budget 500000", "period 100"]
            lines += ["full"] * is_full
            lines += [*target.facts, *target.functions, "start"]
            lines += [*(f"tick {i}" for i in range(TICKS)), "end"]
        else:
            words = [str(GOREF), "trace", "--every", EVERY, "--count", "3",
                     str(target.pid), "native"]  # fmt: skip
            words += ["--full"] * is_full
        (folder / "in").write_text("".join(f"{line}\n" for line in lines))
        with open(folder / "in") as file:
            super().__init__(
                target, words, stdin=file, stderr=subprocess.DEVNULL
            )


@pytest.fixture(scope="module")
def target():
    skip_unless_traced()
    with Allocs() as program:
        yield Target(program)


@pytest.mark.parametrize("who, mode", ROWS)
def test_killed(target, tmp_path, who, mode):
    steps, status = Run(target, who, mode, tmp_path).until(0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 3)
    assert steps > 200
    target.check()
    rng, runs = random.Random(f"{SEED} {who} native {mode}"), []
    for i in range(KILLS):
        number = int(steps * (i + rng.random()) / KILLS) + 1
        run = Run(target, who, mode, tmp_path)
        run.until(number)
        print(f"killed at {number} of {steps}: {len(run.programs)} programs")
        run.check_nothing_left()
        target.check()
        runs.append(run)
    assert any(run.programs for run in runs)
    assert any(run.had_probe for run in runs)

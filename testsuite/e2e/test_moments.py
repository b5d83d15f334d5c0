# SPDX-License-Identifier: Apache-2.0
"""The moments that are hard: inside each phase of a collection, in the middle
of an allocation, of a sweep, of a moved stack. gdb's breakpoints stop the
program under load in the runtime's own functions, and some instructions
further on.

GOREF_STOPS makes more of them, as in test_verify.py.
"""

import random

import pytest

from session import run_gdb
from targets import attach_reason
from test_verify import STOPS, addresses, complaints
from toolchains import variants

# Functions of the runtime, of whichever release has them.
MOMENTS = [
    # A collection's phases, in order.
    "runtime.gcStart", "runtime.gcBgMarkStartWorkers",
    "runtime.gcBgMarkPrepare", "runtime.gcDrain", "runtime.scanobject",
    "runtime.scanstack", "runtime.markroot", "runtime.gcAssistAlloc1",
    "runtime.wbBufFlush1", "runtime.gcMarkDone",
    "runtime.gcMarkTermination", "runtime.gcMark", "runtime.gcSweep",
    "runtime.(*sweepLocked).sweep", "runtime.bgsweep",
    "runtime.(*scavengeIndex).nextGen", "runtime.finishsweep_m",
    "runtime.stopTheWorldWithSema", "runtime.startTheWorldWithSema",
    # Allocation.
    "runtime.mallocgc", "runtime.(*mcache).refill",
    "runtime.(*mcache).nextFree", "runtime.(*mcache).allocLarge",
    "runtime.(*mheap).allocSpan", "runtime.(*mheap).freeSpanLocked",
    "runtime.(*mcentral).cacheSpan", "runtime.heapSetTypeNoHeader",
    "runtime.heapBitsSetType", "runtime.memclrNoHeapPointersChunked",
    "runtime.(*mcache).releaseAll", "runtime.flushmcache",
    # Stacks.
    "runtime.newstack", "runtime.copystack", "runtime.adjustframe",
    "runtime.shrinkstack", "runtime.asyncPreempt", "runtime.asyncPreempt2",
    "runtime.gopreempt_m", "runtime.stackfree",
    # Channels, maps, panics, finalizers, timers, system calls.
    "runtime.sendDirect", "runtime.recvDirect", "runtime.send",
    "runtime.selectgo", "runtime.hashGrow", "runtime.evacuate",
    "internal/runtime/maps.(*table).split", "runtime.gopanic",
    "runtime.deferproc", "runtime.runfinq", "runtime.runFinalizers",
    "runtime.entersyscall", "runtime.exitsyscall", "runtime.typedmemmove",
    "runtime.newproc1", "runtime.goexit0", "runtime.growslice",
]  # fmt: skip

# A function that is not called any more must not hold the test up.
IN_GDB = """
import os, signal, threading
gdb.execute("handle SIGUSR1 stop nopass noprint", to_string=True)
def moment(name, steps):
    try:
        gdb.execute("tbreak '%s'" % name, to_string=True)
    except gdb.error:
        gdb.write("no such function\\n")
        return
    pid = gdb.selected_inferior().pid
    guard = threading.Timer(3, os.kill, (pid, signal.SIGUSR1))
    guard.start()
    gdb.execute("continue", to_string=True)
    guard.cancel()
    if gdb.breakpoints():
        gdb.execute("delete")
        gdb.write("not called\\n")
        return
    if steps:
        gdb.execute("set scheduler-locking on")
        gdb.execute("stepi %d" % steps, to_string=True)
        gdb.execute("set scheduler-locking off")
    gdb.execute("goref verify --json")
    gdb.execute("goref objects --addresses")
"""


def in_gdb():
    lines = [line for line in IN_GDB.splitlines() if line]
    return "python exec(" + repr("\n".join(lines)) + ")"


def stop_at(process, moments):
    """What was wrong, and how many of the moments came."""
    commands = ["set breakpoint pending off", in_gdb(),
                f"attach {process.pid}"]  # fmt: skip
    first = len(commands)
    commands += [f"python moment({m!r}, {steps})" for m, steps in moments]
    commands += ["detach"]
    run = run_gdb([process.exe], commands, timeout=60 + 5 * len(moments))
    assert "Traceback" not in run.stderr, run.stderr
    wrong, seen = [], 0
    for i, (name, steps) in enumerate(moments):
        text = run.parts[first + i]
        if "no such function" in text or "not called" in text:
            continue
        seen += 1
        verdict = run.json(first + i)
        reached = {a for a, _ in addresses(text)}
        found = complaints(verdict, process.truth["places"], reached)
        if found:
            wrong.append(f"{name}+{steps} instructions: {found}")
    return wrong, seen


@variants("default")
def test_moments(farm, variant):
    reason = attach_reason()
    if reason:
        pytest.skip(reason)
    chance = random.Random(str(variant))
    process = farm.process("churn", variant, env={"GOMAXPROCS": "4"})
    wrong, seen = [], 0
    for turn in range(max(1, STOPS // 20)):
        moments = [
            (name, chance.randrange(60) if turn else 0) for name in MOMENTS
        ]
        more, came = stop_at(process, moments)
        wrong += more
        seen += came
        assert process.popen.poll() is None, "the program has ended"
    farm.forget("churn")
    assert seen > 20
    assert not wrong, "\n".join(wrong)

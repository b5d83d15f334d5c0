# SPDX-License-Identifier: Apache-2.0
"""The moments that are hard: inside each phase of a collection, in the middle
of an allocation, of a sweep, of a moved stack. gdb's breakpoints stop the
program under load in the runtime's own functions, and some instructions
further on.

All of them only with GOREF_STOPS (test_verify.py) of 20 or more: an instruction
is a much finer place than a stop at random, and what is found here is rare in
the field. What was found and mended is looked at in every run.
"""

import json
import os
import random
import signal

import pytest

from session import run_gdb
from targets import attach_reason, skip_if
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

MANY = {"GOMAXPROCS": "4"}

# A function that is not called any more must not hold the test up: two seconds
# of a program under load are twice as much processor time, so it gets them once.
IN_GDB = """
import os, signal, subprocess
gdb.execute("handle SIGUSR1 stop nopass", to_string=True)
idle = set()
def moment(name, steps):
    if name in idle:
        return
    try:
        gdb.execute("tbreak '%s'" % name, to_string=True)
    except gdb.error:
        gdb.write("no such function\\n")
        return
    pid = gdb.selected_inferior().pid
    guard = subprocess.Popen(["sh", "-c", "sleep 2; kill -USR1 %d" % pid])
    gdb.execute("continue", to_string=True)
    guard.kill()
    if gdb.breakpoints():
        gdb.execute("delete")
        gdb.write("not called\\n")
        idle.add(name)
        return
    if steps:
        gdb.execute("set scheduler-locking on")
        gdb.execute("stepi %d" % steps, to_string=True)
        gdb.execute("set scheduler-locking off")
    gdb.write("@verdict\\n")
    try:
        gdb.execute("goref verify --json")
    except gdb.error:
        pass  # what is wrong is in the verdict
    gdb.execute("goref objects --addresses")
"""


def in_gdb(script=IN_GDB):
    lines = [line for line in script.splitlines() if line]
    return "python exec(" + repr("\n".join(lines)) + ")"


def attach(process):
    """Commands of gdb. Programs under load stand until gdb has started."""
    os.kill(process.pid, signal.SIGSTOP)
    return [f"shell kill -CONT {process.pid}", f"attach {process.pid}"]


def stop_at(farm, variant, moments):
    """The faults, and how many of the moments came. gdb ends the program, which
    else had the processors while gdb ends."""
    process = farm.process("churn", variant, env=MANY)
    commands = ["set breakpoint pending off", in_gdb(), *attach(process)]
    first = len(commands)
    commands += [f"python moment({m!r}, {steps})" for m, steps in moments]
    commands += ["kill"]
    run = run_gdb([process.exe], commands, timeout=60 + 5 * len(moments))
    farm.forget("churn")
    assert "Traceback" not in run.stderr, run.stderr
    wrong, seen = [], 0
    for i, (name, steps) in enumerate(moments):
        text = run.parts[first + i]
        if "@verdict" not in text:
            continue
        seen += 1
        told = text.partition("@verdict\n")[2]
        verdict, end = json.JSONDecoder().raw_decode(told)
        reached = {a for a, _ in addresses(told[end:])}
        found = complaints(verdict, process.truth["places"], reached)
        if found:
            wrong.append(f"{name}+{steps} instructions: {found}")
    return wrong, seen


@variants("default")
def test_moments(farm, variant):
    skip_if(attach_reason())
    if STOPS < 20:
        pytest.skip("for the long run: GOREF_STOPS=20 and more")
    chance = random.Random(str(variant))
    wrong, seen = [], 0
    for turn in range(STOPS // 20):
        moments = [
            (name, chance.randrange(60) if turn else 0) for name in MOMENTS
        ]
        more, came = stop_at(farm, variant, moments)
        wrong += more
        seen += came
    assert seen > 20
    assert not wrong, "\n".join(wrong)


# The allocator holds a slot that still has what lay there before. The compiler
# writes no liveness for some calls, as nothing there is a safe point. A function
# on the system stack holds what the caller's map calls dead. In part of a copied
# stack, pointers to the stack lead to the old one. Only the sweeper has the
# record of a cleanup.
MENDED = {
    "clearing a slot": ["runtime.memclrNoHeapPointers"] * 20,
    "write barrier": ["runtime.gcWriteBarrier", "runtime.gcWriteBarrier1",
                      "runtime.gcWriteBarrier2", "runtime.wbZero",
                      "runtime.wbMove", "runtime.wbBufFlush",
                      "runtime.typedmemmove", "runtime.typedmemclr"] * 5,
    "system stack": ["runtime.newproc.func1"] * 40 + [
        "runtime.SetFinalizer.func1", "runtime.SetFinalizer.func2"] * 4,
    "copied stack": ["runtime.adjustpointers"] * 40,
    "sweeper": ["runtime.freeSpecial"] * 20,
}  # fmt: skip


@pytest.mark.parametrize("names", MENDED.values(), ids=MENDED)
@variants("default")
def test_mended(farm, variant, names):
    skip_if(attach_reason())
    wrong, seen = stop_at(farm, variant, [(name, 0) for name in names])
    assert seen
    assert not wrong, "\n".join(wrong)


# The function that stores, which alone holds the object, and the functions of
# the barrier that it calls. Others that it calls may call them before it holds
# the object: an allocation that has to help the collector (gcAssistAlloc).
BARRIERS = {
    "block": ("main.store", ["runtime.wbMove", "runtime.typedmemmove"]),
    "pointer": ("main.storePointer",
                ["gcWriteBarrier", "runtime.gcWriteBarrier",
                 "runtime.gcWriteBarrier1", "runtime.gcWriteBarrier2"]),
}  # fmt: skip

IN_BARRIER = """
gdb.execute("set breakpoint pending off")
def is_called_by(function):
    frame = gdb.newest_frame().older()
    while frame and "gcWriteBarrier" in (frame.name() or ""):
        frame = frame.older()
    return frame and frame.name() == function
def break_at(names):
    for name in names:
        try:
            gdb.execute("break *'%s'" % name, to_string=True)
        except gdb.error:
            pass  # of other releases
def barrier(function):
    for _ in range(300):
        gdb.execute("continue", to_string=True)
        if is_called_by(function):
            break
    else:
        return
    gdb.write("@latest %#x\\n" % int(gdb.parse_and_eval("'main.kLatest'")))
    gdb.execute("goref objects --addresses")
"""


@pytest.mark.parametrize("function, names", BARRIERS.values(), ids=BARRIERS)
@variants("default")
def test_locals_in_the_write_barrier(farm, variant, function, names):
    """The compiler tells nothing of what is live where a pointer is stored:
    what it told of the call before is another matter."""
    skip_if(attach_reason())
    process = farm.process("barrier", variant)
    run = run_gdb(
        [process.exe],
        [*attach(process), in_gdb(IN_BARRIER), f"python break_at({names})"]
        + [f"python barrier({function!r})"] * 5
        + ["kill"],
    )  # fmt: skip
    farm.forget("barrier")
    seen = 0
    for text in run.parts[4:9]:
        _, found, text = text.partition("@latest ")
        latest, _, text = text.partition("\n")
        if found:
            seen += 1
            assert int(latest, 16) in {a for a, _ in addresses(text)}
    assert seen, run.stderr


@variants("default")
def test_call_just_injected(farm, variant):
    """At the first instruction of the call that preempts a loop, what the
    loop holds is in registers: they are the loop's, not the call's."""
    skip_if(attach_reason())
    process = farm.process("busy", variant)
    run = run_gdb(
        [process.exe],
        [*attach(process), "break *'runtime.asyncPreempt'", "continue",
         "goref scan --top 0 --json", "kill"],
    )  # fmt: skip
    farm.forget("busy")
    roots = run.json(4)["roots"]
    for function in ("main.spinFirst.", "main.spinSecond."):
        held = sum(
            root["objects"]
            for root in roots
            if root["name"].startswith(function)
        )
        assert held >= process.truth["held"][function]["objects"], function

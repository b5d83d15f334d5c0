# SPDX-License-Identifier: Apache-2.0
"""The unwinder of the tracer: threads of a program whose callers are known at
every moment are stopped at random ones (programs/callers)."""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from targets import GDB, attach_reason, skip_if, start
from toolchains import build, variants

TESTSUITE = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("GOREF_BUILD_DIR", TESTSUITE.parent / "build"))
ROUNDS = 300
DEPTH = 11
# Where a stack begins.
STARTS = re.compile(
    r"runtime\.(goexit|mcall|morestack|mstart)|_start|(\w*_)?clone3?"
)
WORK = {
    f"main.{name}"
    for name in (
        "waitInC", "waitInCallback", "workInC", "workInCallback",
        "workInAllocator", "workInStack", "workInThreads",
    )
}  # fmt: skip
# The runtime gives up g or its stack here, or calls the vdso on another one.
# A signal's handler has a stack of its own, and there is no copy of the other.
ODD = re.compile(
    r"runtime\.(nanotime1|(cgoS|s)igtramp|walltime)|time\.now|__vdso_\w+"
    r"|__restore_rt"
)
C_WAIT = ["c_wait", "c_outer"]
CALL_C = ["runtime.asmcgocall", "runtime.cgocall"]
IN_C = [*CALL_C, "main._Cfunc_c_outer"]
IN_CALLBACK = [
    "runtime.cgocallbackg1", "runtime.cgocallbackg", "runtime.cgocallback",
    "crosscall2", "callersBack", "c_call_back", *CALL_C,
    "main._Cfunc_c_call_back", "main.waitInCallback",
]  # fmt: skip


def facts(exe):
    """The address of the moduledata in the file, and the offsets."""
    done = subprocess.run(
        [GDB, "-batch", "-nx", "-x", TESTSUITE / "e2e/moduledata.py", exe],
        capture_output=True,
        text=True,
    )
    found = re.search("^FOUND (.*)$", done.stdout, re.M)
    assert found, done.stderr
    address, *offsets = found[1].split()
    return int(address, 0), offsets


def bias(process):
    """How far an executable that may be anywhere has been moved."""
    kind = Path(process.exe).read_bytes()[16]
    maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    first = next(row for row in maps if row.endswith(str(process.exe)))
    return int(first.partition("-")[0], 16) if kind == 3 else 0


def stacks(exe, address, offsets):
    """[(finished, functions, innermost first)] of a process."""
    process = start(exe)
    try:
        done = subprocess.run(
            [BUILD / "goref-unwind", str(process.pid), str(ROUNDS),
             hex(address + bias(process)), *offsets],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    finally:
        process.stop()
    assert not done.stderr and not done.returncode
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(row[1] == "1", row[3:]) for row in rows]


def check_finished(frames):
    """A stack that is finished has a start, and no other frames in between."""
    assert STARTS.fullmatch(frames[-1]), frames
    if "main.deep" in frames:
        at = frames.index("main.deep")
        assert frames[at - 1] in WORK, frames
        assert frames[at : at + DEPTH] == ["main.deep"] * DEPTH
        assert len(frames) == at + DEPTH + 2
        assert re.fullmatch(r"main\.start\.\w+", frames[-2])
        assert frames[-1] == "runtime.goexit"
    if "main.grows" in frames:
        at = frames.index("main.grows")
        count = frames.count("main.grows")
        assert frames[at:-2] == ["main.grows"] * count
        assert frames[-2] == "main.workInStack.func1"
    for inner, outer in zip(frames, frames[1:]):
        if inner == "runtime.asmcgocall":
            assert outer in {"runtime.cgocall", "runtime.newm1"}, frames


def without_c_names(frames):
    """Names of wrappers have a hash of the package; Go 1.19 has one wrapper
    more, of the same name."""
    kept = []
    for name in frames:
        if not name.startswith("_cgo") and name not in kept[-1:]:
            kept.append(name)
    return kept


def check_waiting(found):
    """The two threads that wait are seen in every round, whole."""
    in_c = [*C_WAIT, *IN_C, "main.waitInC"]
    in_callback = [*C_WAIT, *IN_C, "main.callersBack", *IN_CALLBACK]
    seen = Counter()
    for finished, frames in found:
        if "c_wait" in frames:
            assert finished
            names = without_c_names(frames[frames.index("c_wait") :])
            end = names.index("main.deep")
            assert names[:end] in (in_c, in_callback)
            seen[end] += 1
    assert seen == {len(in_c): ROUNDS, len(in_callback): ROUNDS}


def check(found):
    unfinished = Counter()
    for finished, frames in found:
        if finished:
            check_finished(frames)
        elif len(frames) > 1:
            unfinished[" ".join(frames)] += not any(
                ODD.fullmatch(name) for name in frames
            )
    check_waiting(found)
    assert sum(unfinished.values()) <= len(found) / 1000, unfinished
    names = Counter(name for _, frames in found for name in set(frames))
    idle = {"main.workInStack", "main.workInThreads"}  # others work for them
    for name in (*WORK - idle, "main.grows"):
        assert names[name], name
    assert names["runtime.systemstack"] and names["c_work"]


@variants("cgo", newest=("cgo-pie",))
def test_random_moments(variant):
    skip_if(attach_reason())
    exe = build("callers", variant.release, variant.flavour)
    check(stacks(exe, *facts(exe)))


def test_no_symbols(tmp_path):
    """The names of Go functions come from the runtime's own tables, too."""
    skip_if(attach_reason())
    exe = build("callers", "go1.24", "cgo")
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, exe], check=True)
    found = stacks(bare, *facts(exe))
    assert not any("c_wait" in frames for _, frames in found)
    for finished, frames in found:
        if finished:
            check_finished(frames)
    names = Counter(name for _, frames in found for name in set(frames))
    for name in ("main.waitInC", "main.waitInCallback"):
        assert names[name] == ROUNDS

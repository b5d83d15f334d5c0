# SPDX-License-Identifier: Apache-2.0
"""_goref looks at Go programs that it stops itself, without gdb."""

import importlib.machinery
import importlib.util
import os
import signal

import pytest

from counters import tracer_of
from session import environment
from targets import attach_reason, skip_if, start
from toolchains import build

LATE_S = 0.3


def load():
    file = environment()["GOREF_BUILD_DIR"] + "/_goref.abi3.so"
    loader = importlib.machinery.ExtensionFileLoader("_goref", file)
    spec = importlib.util.spec_from_loader("_goref", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def goref():
    return load()


@pytest.fixture
def run():
    skip_if(attach_reason())
    started = []

    def run(program):
        started.append(start(build(program, "go1.24")))
        return started[-1]

    yield run
    for process in started:
        process.stop()


def look(goref, pid, extent="heap", libraries=()):
    """A scan of a process, and what its stop was like. libraries: their
    files."""
    exe = f"/proc/{goref.process_reader(pid)}/exe"
    scan = goref.Scan(
        "native", None, [(file, None, None) for file in (exe, *libraries)],
        (), pid=pid, prepare=True, extent=extent,
    )  # fmt: skip
    scan.reserve()
    process = goref.Process(pid)
    stop = process.stop(LATE_S)
    scan.capture(process)
    process.release()
    scan.finish()
    return scan, stop


def calls_of(scan, goroutine_id):
    return [call.at.function for call in scan.backtrace(goroutine_id).calls]


def test_thread_does_not_stop(goref, run):
    """It waits for its child. The answer has a gap; the calls of its goroutine
    are known by its stack pointer."""
    process = run("vforked")
    scan, stop = look(goref, process.pid)
    assert [late.state for late in stop.late] == ["D"]
    assert stop.late[0].has_place
    assert scan.walk(4, 1000).ledger().gaps.threads_not_stopped == 1
    assert tracer_of(process.pid) == 0
    calls = [calls_of(scan, row.id) for row in scan.goroutines(()).rows]
    assert any("main.waitForChild" in names for names in calls)
    os.kill(process.truth["child"], signal.SIGKILL)
    process.rest()
    scan, stop = look(goref, process.pid)
    assert stop.late == ()
    assert scan.walk(4, 1000).ledger().gaps.threads_not_stopped == 0


@pytest.mark.parametrize("extent", ["heap", "report"])
def test_first_thread_has_ended(goref, run, extent):
    process = run("headless")
    assert goref.process_reader(process.pid) != process.pid
    scan, stop = look(goref, process.pid, extent)
    assert stop.late == ()
    types = {row.type: row for row in scan.walk(4, 1000).types()}
    assert types["main.node"].total.objects == process.truth["nodes"]

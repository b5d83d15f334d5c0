# SPDX-License-Identifier: Apache-2.0
"""_goref.Process holds a process still, and lets it go however it ends."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "e2e"))

from waiting import LONGEST_S, comes, states_of

THREADS = 5
LIMIT_S = 60.0
# It has threads that sleep, and one that waits for signals.
COUNTER = f"""
import signal, threading, time
signal.signal(signal.SIGUSR1, lambda *_: print("signal", flush=True))
# The first thread gets the signals, so that they wake it.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
for _ in range({THREADS - 1}):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
print("ready", flush=True)
while True:
    signal.pause()
"""
# Holds a process in an interpreter of its own, and ends as it is told.
HOLDER = """
import importlib.machinery, importlib.util, os, sys, time
path, pid, ending = sys.argv[1:]
loader = importlib.machinery.ExtensionFileLoader("_goref", path)
spec = importlib.util.spec_from_loader("_goref", loader)
module = importlib.util.module_from_spec(spec)
loader.exec_module(module)
process = module.Process(int(pid))
process.stop(60)
print("held", flush=True)
exec(ending)
"""


def is_held(pid):
    return states_of(pid) == {"t"}


def runs(pid):
    return comes(lambda: states_of(pid) <= {"S", "R", "D"})


@pytest.fixture
def counter():
    popen = subprocess.Popen(
        [sys.executable, "-c", COUNTER], stdout=subprocess.PIPE, text=True
    )
    assert popen.stdout.readline() == "ready\n"
    yield popen
    popen.kill()
    popen.wait()
    popen.stdout.close()


def test_held(goref, counter):
    process = goref.Process(counter.pid)
    assert not process.is_held()
    stop = process.stop(LIMIT_S)
    assert process.is_held()
    begin_us = time.monotonic_ns() // 1000
    assert is_held(counter.pid)
    assert (stop.threads, stop.late, stop.was_stopped) == (THREADS, (), False)
    assert stop.stop_us >= 0
    least_us = time.monotonic_ns() // 1000 - begin_us
    assert process.release() >= least_us
    assert not process.is_held()
    assert runs(counter.pid)
    assert process.release() == 0


def test_stopped_by_a_signal(goref, counter):
    counter.send_signal(signal.SIGSTOP)
    assert comes(lambda: states_of(counter.pid) == {"T"})
    process = goref.Process(counter.pid)
    assert process.stop(LIMIT_S).was_stopped
    process.release()
    assert comes(lambda: states_of(counter.pid) == {"T"})
    counter.send_signal(signal.SIGCONT)
    assert runs(counter.pid)


def test_last_reference(goref, counter):
    process = goref.Process(counter.pid)
    process.stop(LIMIT_S)
    del process
    gc.collect()
    assert runs(counter.pid)


def test_any_thread_of_python(goref, counter):
    """The thread that stops a process need not be the one that lets it go."""
    process = goref.Process(counter.pid)
    for work in (lambda: process.stop(LIMIT_S), process.release):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert runs(counter.pid)


def test_fork(goref, counter):
    process = goref.Process(counter.pid)
    process.stop(LIMIT_S)
    child = os.fork()
    if not child:
        process.release()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    subprocess.run(["true"], check=True)
    assert is_held(counter.pid)
    process.release()
    assert runs(counter.pid)


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit()",
        "raise ValueError",
        "os._exit(3)",
        "os.kill(os.getpid(), 9)",
        "del process",
        "process.stop(60)",
    ],
)
def test_end_of_the_interpreter(goref, counter, ending):
    done = subprocess.run(
        [sys.executable, "-c", HOLDER, goref.__file__, str(counter.pid),
         ending],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )  # fmt: skip
    assert done.stdout == "held\n"
    assert runs(counter.pid)


def test_signal_while_it_is_held(goref, counter):
    process = goref.Process(counter.pid)
    process.stop(LIMIT_S)
    counter.send_signal(signal.SIGUSR1)
    process.release()
    assert counter.stdout.readline() == "signal\n"


def test_refused(goref, counter):
    def reason(pid):
        with pytest.raises(goref.ProcessError) as caught:
            goref.Process(pid)
        return str(caught.value)

    assert reason(2**22 + 5) == "there is no such process"
    assert "goref itself" in reason(os.getpid())
    tids = [int(t) for t in os.listdir(f"/proc/{counter.pid}/task")]
    tid = next(t for t in tids if t != counter.pid)
    assert reason(tid) == f"it is a thread: the process is {counter.pid}"
    process = goref.Process(counter.pid)
    process.stop(LIMIT_S)
    assert "already traces it" in reason(counter.pid)
    assert "already traces it" in goref.why_not_traced(counter.pid)
    process.release()
    assert "CAP_SYS_PTRACE" in goref.why_not_traced(counter.pid)
    counter.kill()
    assert comes(lambda: not goref.process_reader(counter.pid))
    assert reason(counter.pid) == "it has ended"


def test_misused(goref, counter):
    process = goref.Process(counter.pid)
    for limit_s in (-1, float("nan")):
        with pytest.raises(goref.ArgumentError):
            process.stop(limit_s)
    modules = [(f"/proc/{counter.pid}/exe", None, None)]
    with pytest.raises(goref.ArgumentError, match="not held"):
        goref.Scan("native", None, modules, process, pid=counter.pid)
    process.stop(LIMIT_S)
    with pytest.raises(goref.ArgumentError, match="held already"):
        process.stop(LIMIT_S)
    with pytest.raises(goref.NotGoError):
        goref.Scan("native", None, modules, process, pid=counter.pid)
    assert is_held(counter.pid)
    process.release()

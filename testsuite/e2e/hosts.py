# SPDX-License-Identifier: Apache-2.0
"""Plain Python as the host of goref: no gdb, no command line."""

import subprocess
import sys

from session import environment
from waiting import LONGEST_S

# The beginning of a script that uses a build which is not installed.
HEAD = """
import os, signal, sys, threading
sys.path.insert(0, {python!r})
import goref
from goref import front, native
PID = {pid}

front.use(front.Terminal())

def say(*words):
    print(*words, flush=True)

def status(number):
    with open(f"/proc/{{number}}/status") as file:
        return dict(line.split()[:2] for line in file if len(line.split()) > 1)

def tracer(pid=PID):
    "The process of the thread that traces it, or 0."
    tid = status(pid)["TracerPid:"]
    return int(status(tid)["Tgid:"]) if tid != "0" else 0
"""

# The command line as the script `goref` begins it, with some code before.
MAIN = """import sys
sys.path.insert(0, sys.argv[1])
{hook}
from goref.cli import main
main(sys.argv[2:])
"""


def _modules():
    """The folder of the build that PYTHONPATH needs."""
    return f"{environment()['GOREF_BUILD_DIR']}/python"


def hooked(hook, words):
    """The command line `goref WORDS`, in which the hook runs first."""
    return [
        "env", "--block-signal=INT,TERM,HUP", sys.executable, "-I", "-S",
        "-X", "utf8", "-c", MAIN.format(hook=hook), _modules(),
        *map(str, words),
    ]  # fmt: skip


def start_host(pid, code, **options):
    """A Python that runs code, in which PID is the process to look at."""
    head = HEAD.format(python=_modules(), pid=pid)
    return subprocess.Popen(
        [sys.executable, "-B", "-c", head + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        **options,
    )


def run_host(pid, code):
    """Its status, and what it printed and complained about."""
    host = start_host(pid, code)
    out, err = host.communicate(timeout=LONGEST_S)
    return host.returncode, out, err


def lines_of(pid, code):
    """The lines of a script that does not fail."""
    status, out, err = run_host(pid, code)
    assert status == 0, err
    return out.splitlines()

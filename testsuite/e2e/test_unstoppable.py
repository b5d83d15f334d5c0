# SPDX-License-Identifier: Apache-2.0
"""A process of which a thread does not stop: gdb waits for it, goref does
not."""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from counters import tracer_of
from session import GOREF, environment, run_cli
from targets import attach_reason, skip_if, start
from toolchains import build
from waiting import comes

SECONDS = 60


@pytest.fixture
def process():
    skip_if(attach_reason())
    process = start(build("vforked", "go1.24"))
    yield process
    with suppress(ProcessLookupError):
        end_child(process)
    process.stop()


def end_child(process):
    os.kill(process.truth["child"], signal.SIGKILL)


# Before gdb attaches, the time may be over as well: no more is said then.
@pytest.mark.parametrize(
    "options, ending",
    [
        (["--timeout", "4"], "goref: timed out"),
        (["--max-pause", "2000"], "goref: given up: process {} did not stop"),
        ([], "goref: given up: process {} did not stop"),
    ],
    ids=["timeout", "max-pause", "default"],
)
def test_is_given_up(process, options, ending):
    words = ["attach", process.pid, "goroutines"]
    done = run_cli([*words, *options], timeout=SECONDS)
    assert done.returncode == 1, done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(ending.format(process.pid)), done.stderr
    end_child(process)
    process.rest()
    done = run_cli(words, timeout=SECONDS)
    assert done.returncode == 0, done.stderr


def test_ctrl_c(process):
    """Ctrl-C ends goref although gdb waits, and is not passed on."""
    goref = subprocess.Popen(
        [str(GOREF), "attach", str(process.pid), "goroutines"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert comes(lambda: tracer_of(process.pid) or goref.poll() is not None)
    goref.send_signal(signal.SIGINT)
    _, said = goref.communicate(timeout=SECONDS)
    assert goref.returncode == 1, said
    assert said.splitlines()[-1] == "goref: interrupted", said
    assert process.popen.poll() is None, "the process has ended"
    end_child(process)
    process.rest()
    assert run_cli(["attach", process.pid, "goroutines"]).returncode == 0


def test_is_given_up_in_the_background(process):
    """There, SIGINT is ignored: it cannot end the wait."""
    words = ["-c", 'trap "" INT; exec "$@"', "sh", GOREF]
    words += ["attach", process.pid, "goroutines", "--max-pause", "2000"]
    done = run_cli(words, timeout=SECONDS, command="sh")
    assert done.returncode == 1, done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"goref: given up: process {process.pid} did not")
    end_child(process)
    process.rest()
    done = run_cli(["attach", process.pid, "goroutines"], timeout=SECONDS)
    assert done.returncode == 0, done.stderr

# SPDX-License-Identifier: Apache-2.0
"""A process of which a thread does not stop: gdb waits for it, goref does
not."""

import os
import signal
from contextlib import suppress

import pytest

from session import run_cli
from targets import attach_reason, skip_if, start
from toolchains import build

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

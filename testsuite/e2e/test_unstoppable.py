# SPDX-License-Identifier: Apache-2.0
"""A process of which a thread does not stop: the other ones are looked at."""

import json
import os
import re
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


# On a busy machine, others may be late, too.
REASON = r"\d+ threads? did not stop, and may have changed memory meanwhile"


@pytest.mark.parametrize(
    "options",
    [["--timeout", "60"], ["--max-pause", "2000"], []],
    ids=["timeout", "max-pause", "default"],
)
def test_others_are_looked_at(process, options):
    """The answer is partial, and says so."""
    words = ["attach", process.pid, "goroutines", *options]
    done = run_cli(words, timeout=SECONDS)
    assert done.returncode == 3, done.stderr
    assert re.search(f"PARTIAL: {REASON}", done.stdout), done.stdout
    assert "Goroutine 1 - " in done.stdout
    assert "and goes on" in done.stderr
    done = run_cli([*words, "--json"], timeout=SECONDS)
    assert done.returncode == 3, done.stderr
    assert re.search(REASON, str(json.loads(done.stdout)["partial"]))
    assert tracer_of(process.pid) == 0
    end_child(process)
    process.rest()
    done = run_cli(words, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert "PARTIAL" not in done.stdout


@pytest.mark.parametrize("verb", ["scan", "hung", "waits", "verify", "save"])
def test_every_answer_is_partial(process, tmp_path, verb):
    out = tmp_path / "out.goref"
    words = ["attach", process.pid, verb, *([out] if verb == "save" else [])]
    done = run_cli(words, timeout=SECONDS)
    assert done.returncode == 3, (done.stdout, done.stderr)
    if verb == "save":
        done = run_cli(["open", out, "goroutines"])
        assert done.returncode == 3, (done.stdout, done.stderr)
    assert re.search(f"PARTIAL: {REASON}", done.stdout), done.stdout


def test_time_is_over(process):
    """Before the process is stopped, or while it is."""
    words = ["attach", process.pid, "goroutines", "--timeout", "0.001"]
    done = run_cli(words, timeout=SECONDS)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == "goref: timed out"


def test_snapshot_is_refused(process):
    done = run_cli(["attach", process.pid, "--snapshot"], timeout=SECONDS)
    assert done.returncode == 1, done.stderr
    assert "does not stop" in done.stderr.splitlines()[-1]


def test_ctrl_c(process):
    """Ctrl-C ends goref although it waits, and is not passed on."""
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
    assert goref.returncode in (1, 3), said
    if goref.returncode == 1:
        assert said.splitlines()[-1] == "goref: interrupted", said
    assert process.popen.poll() is None, "the process has ended"
    end_child(process)
    process.rest()
    assert run_cli(["attach", process.pid, "goroutines"]).returncode == 0


def test_in_the_background(process):
    """There, SIGINT is ignored."""
    words = ["-c", 'trap "" INT; exec "$@"', "sh", GOREF]
    words += ["attach", process.pid, "goroutines"]
    done = run_cli(words, timeout=SECONDS, command="sh")
    assert done.returncode == 3, done.stderr

# SPDX-License-Identifier: Apache-2.0
"""The heap falls by what `goref why` says would be freed without a field when a
program clears that field: on randomly generated programs.

GOREF_PROGRAMS is the number of programs for each release, such as 30."""

import json
import os
import shutil
import subprocess

import pytest

from cleared import made
from session import run_goref
from targets import Target, attach_reason, gdb_core, skip_if, start
from toolchains import PROGRAMS, RELEASES, go_binary, go_environment

COUNT = int(os.environ.get("GOREF_PROGRAMS", "2"))
FIELDS = 40
ROWS = [
    (release, 100 * i + n)
    for i, release in enumerate(RELEASES)
    for n in range(COUNT)
]


def build(release, seed, folder):
    for name in ("common/truth.go", "common/self.go", "cleared/main.go"):
        shutil.copy(PROGRAMS / name, folder)
    (folder / "made.go").write_text(made(seed, FIELDS))
    done = subprocess.run(
        [go_binary(release), "build", "-o", "cleared", "."],
        cwd=folder, env=go_environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "cleared"


@pytest.fixture
def cleared(release, seed, tmp_path):
    """A core, and the falls that came after it."""
    skip_if(attach_reason())
    process = start(build(release, seed, tmp_path))
    try:
        process.rest()
        core = gdb_core(process)
        process.popen.stdin.write(b"x")
        process.popen.stdin.flush()
        falls = json.loads(process.read_line())
        target = Target("gcore", process.exe, process.truth, core=core)
        yield target, falls
    finally:
        process.stop()


@pytest.mark.parametrize("release, seed", ROWS)
def test_freed_bytes_are_freed(cleared):
    """Every field, to the byte."""
    target, falls = cleared
    assert len(falls) == FIELDS and min(falls.values()) > 0
    ask = [f"goref why {target.places[name]} --json" for name in falls]
    run = run_goref(target, ask)
    assert run.rc == 0, run.stderr
    found = {}
    for i in range(len(ask)):
        holder = run.json(i)["holder"]
        found[holder["name"]] = (holder["kind"], holder["freed_bytes"])
    wanted = {name: ("reference", fall) for name, fall in falls.items()}
    assert found == wanted

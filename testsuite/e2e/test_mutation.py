# SPDX-License-Identifier: Apache-2.0
"""Damaged cores: an answer or one line of error, in little time, and gdb goes
on. GOREF_MUTATIONS=1000 for the long run."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import mutate
from asking import SCANNER
from session import environment, run_gdb, start_command
from toolchains import RELEASES, Variant, variants

COUNT = int(os.environ.get("GOREF_MUTATIONS", "30"))
MAX_PEAK_KB = 1 << 20  # of gdb; without a damaged core it takes a tenth
CENTRAL = Variant("go1.24", "default")

# Words of a traceback, of gdb's own failures, of a sanitizer.
BAD_WORDS = ("Traceback", "Python Exception", "internal-error", "Fatal signal",
             "Recursive internal", "Sanitizer")  # fmt: skip


def run_mutations(target, folder, first, count, module=mutate):
    """What the run in gdb printed: its rows, and stderr."""
    arguments = (str(SCANNER), str(target.exe), str(target.core), str(folder))
    code = "; ".join(
        (
            f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})",
            f"import {module.__name__} as m",
            f"m.run_in_gdb(*{arguments!r}, {first}, {count})",
        )
    )
    done = subprocess.run(
        start_command(["-batch", "-ex", f"python {code}", target.exe]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(),
        timeout=60 + count * mutate.MAX_SECONDS,
    )
    lines = (x for x in done.stdout.splitlines() if x.startswith('{"'))
    return done, [json.loads(line) for line in lines]


@variants("default")
def test_damaged_cores(farm, variant, tmp_path):
    count = -(-COUNT // len(RELEASES))
    first = RELEASES.index(variant.release) * count
    target = farm.target("rest", variant)
    done, rows = run_mutations(target, tmp_path, first, count)
    last = rows[-1] if rows else None
    assert rows and last.get("done") == count, (last, done.stderr[-2000:])
    assert last["peak_kb"] < MAX_PEAK_KB, last
    for word in BAD_WORDS:
        assert word not in done.stderr, done.stderr[-2000:]
    answers = [row for row in rows if "command" in row]
    assert len(answers) == len(mutate.COMMANDS) * count
    for row in answers:
        assert row["seconds"] <= mutate.MAX_SECONDS, row
        if row["command"].startswith("goref") and row["error"] is not None:
            assert row["error"].startswith("goref"), row
            assert len(row["error"].splitlines()) == 1, row
    # The damage is real, and not such that nothing is left to look at.
    for verb in ("scan", "suspects", "dominators", "histogram"):
        errors = [
            r["error"] for r in answers if r["command"].startswith(f"goref {verb}")
        ]
        assert None in errors
        assert count < 20 or any(errors)


@pytest.fixture
def copied(farm, tmp_path):
    """A target whose core is a copy that may be changed."""
    target = farm.target("rest", CENTRAL)
    core = tmp_path / "core"
    mutate.copy_sparse(target.core, core)
    return target, core


def test_names_that_are_no_text(copied):
    """gdb lists sections of the kernel's shared object by their names, and
    hands Python nothing that is not UTF-8."""
    target, path = copied
    core = mutate.Core(path)
    at = core.data.find(b".eh_frame_hdr\0")
    if at < 0:
        core.close()
        pytest.skip("the core has no vdso")
    core.data[at + 1] = 0xE7
    core.close()
    run = run_gdb([target.exe, path], ["goref scan --json"])
    assert run.rc == 0, run.stderr
    assert run.json()["reached"]["objects"] > 0


def test_core_shrinks_between_commands(copied):
    """The scan is kept, the memory below it is gone."""
    target, core = copied
    keep = "import goref.target as t; same = t.identify()"
    commands = (
        ["goref scan --top 1", f"python {keep}; t.identify = lambda: same"]
        + [f"shell truncate -s 20000 {core}"]
        + ["goref why main.users", "goref verify", "goref scan main.users"]
        + ["echo alive\\n"]
    )
    run = run_gdb([target.exe, core], commands)
    assert run.rc == 0
    assert "alive" in run.parts[-1]
    lines = run.error_lines()
    assert len(lines) == 3, run.stderr
    for line in lines:
        assert line == f"goref: {core} changed while it was being read"


@pytest.mark.parametrize("delay_ms", [0, 5, 20, 50, 100])
def test_core_shrinks_during_a_scan(copied, delay_ms):
    target, core = copied
    shrink = f"(sleep {delay_ms / 1000}; truncate -s 20000 {core}) &"
    run = run_gdb(
        [target.exe, core],
        [f"shell {shrink}", "goref scan --json", "echo alive\\n"],
    )
    assert "alive" in run.parts[2], run.stderr
    assert len(run.error_lines()) <= 1, run.stderr
    for word in BAD_WORDS:
        assert word not in run.stderr


def test_executable_shrinks(farm, tmp_path):
    """A rebuild over the same file."""
    target = farm.target("rest", CENTRAL)
    exe = tmp_path / "exe"
    shutil.copy(target.exe, exe)
    keep = "import goref.target as t; same = t.identify()"
    run = run_gdb(
        [exe, target.core],
        ["goref scan --top 1", f"python {keep}; t.identify = lambda: same",
         f"shell truncate -s 4096 {exe}", "goref why $pc", "goref verify",
         "echo alive\\n"],
    )  # fmt: skip
    assert "alive" in run.parts[-1], run.stderr
    for line in run.error_lines():
        assert line == f"goref: {exe} changed while it was being read"

# SPDX-License-Identifier: Apache-2.0
"""configure needs no gdb, and says what is missing for which purpose."""

import shutil
import subprocess

import pytest

from session import TOP
from targets import GDB

OLD = "#!/bin/sh\necho goref-python 3.9 0\n"
BROKEN = "#!/bin/sh\nexit 1\n"
WITHOUT = "#!/bin/sh\nexit 0\n"
NEEDS = "the commands inside gdb need "


@pytest.fixture(scope="module")
def configure(tmp_path_factory):
    """Runs configure with variables; what does not depend on them is found out
    once."""
    if not (TOP / "configure").exists():
        pytest.skip("no configure: run autogen.sh")
    if (TOP / "config.status").exists():
        pytest.skip("built among the sources")
    folder = tmp_path_factory.mktemp("configure")

    def run(*words):
        return subprocess.run(
            [TOP / "configure", "--cache-file=cache", *words], cwd=folder,
            capture_output=True, text=True,
        )  # fmt: skip

    first = run()
    assert first.returncode == 0, first.stderr
    # The paths of programs are what the tests change.
    cache = folder / "cache"
    kept = [x for x in cache.read_text().splitlines(True) if "_env_" not in x]
    cache.write_text("".join(x for x in kept if "ac_cv_path_" not in x))
    master = folder / "master"
    shutil.copy(cache, master)

    def run_again(*words):
        shutil.copy(master, cache)
        return run(*words)

    return run_again


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, f"no gdb: {NEEDS}package gdb"),
        (OLD, f"{NEEDS}a gdb with Python 3.11 or newer: GDB has 3.9"),
        (WITHOUT, f"{NEEDS}a gdb with Python: GDB has none (package gdb, "
         "not gdb-minimal)"),
        (BROKEN, f"{NEEDS}a gdb that runs: GDB does not (package gdb)"),
    ],
    ids=["no gdb", "an old Python", "no Python", "one that does not run"],
)  # fmt: skip
def test_gdb_is_for_its_commands_only(configure, tmp_path, script, said):
    gdb = tmp_path / "gdb"
    words = "ac_cv_path_GDB="
    if script:
        gdb.write_text(script)
        gdb.chmod(0o755)
        words = f"GDB={gdb}"
    done = configure(words)
    assert done.returncode == 0, done.stderr
    notices = [x for x in done.stdout.splitlines() if "commands inside" in x]
    assert notices == [f"configure: {said.replace('GDB', str(gdb))}"]


def test_a_gdb_that_fits_is_not_mentioned(configure):
    done = configure(f"GDB={shutil.which(GDB)}")
    assert done.returncode == 0, done.stderr
    assert "commands inside" not in done.stdout


def test_python_is_needed(configure, tmp_path):
    """All that is missing is in one message."""
    python = tmp_path / "python3"
    python.write_text(BROKEN)
    python.chmod(0o755)
    done = configure(f"PYTHON={python}", "ac_cv_path_PROTOC_C=")
    assert done.returncode == 1
    assert "Python 3.11 or newer: package python3 (or set PYTHON=)" in (
        done.stderr
    )
    assert "protoc-c: package protobuf-c-compiler" in done.stderr

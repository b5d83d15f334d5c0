# SPDX-License-Identifier: Apache-2.0
"""Commands that an answer suggests run as they are printed."""

import os
import re
import shlex
import subprocess

import pytest

from session import GOREF, environment, run_cli
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")


@pytest.fixture
def core(farm):
    return farm.target("leaky", CENTRAL)


def paste(line):
    """Run a command in a shell."""
    env = {**environment(), "PATH": f"{GOREF.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=env,
        stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def suggested(out):
    """The commands below `Next', without what they tell."""
    lines = out[out.index("\nNext\n") :].splitlines()
    return [x.split("  ")[1] for x in lines if x.startswith("  goref ")]


@pytest.mark.parametrize("gdb", [None, "/nowhere/gdb"])
def test_suggested_command_runs(core, gdb):
    """GDB names a gdb for gdb-goref; the command line needs none."""
    env = {"GDB": gdb} if gdb else {}
    done = run_cli(["core", core.exe, core.core], env=env)
    commands = suggested(done.stdout)
    assert commands and all(c.startswith("goref core ") for c in commands)
    assert paste(commands[0])


def test_names_are_quoted(core, tmp_path):
    """A command can be pasted although a name has a blank."""
    moved = tmp_path / "my core"
    # No executable of that name is anywhere.
    data = core.core.read_bytes()
    moved.write_bytes(re.sub(rb"(?<=/)leaky(?=\0)", b"gone!", data))
    done = run_cli(["core", moved])
    assert done.returncode == 1, done.stdout
    command = "goref core EXE " + shlex.quote(str(moved))
    assert f"give it: `{command}'" in done.stderr, done.stderr

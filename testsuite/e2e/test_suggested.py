# SPDX-License-Identifier: Apache-2.0
"""Commands that an answer suggests run as they are printed, also for a gdb that
GDB names."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from session import GOREF, environment, run_cli
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")


@pytest.fixture
def core(farm):
    return farm.target("leaky", CENTRAL)


@pytest.fixture
def other_gdb(tmp_path):
    """A gdb under another name, which notes that it was run."""
    gdb = tmp_path / "other gdb"
    gdb.write_text(
        f'#!/bin/sh\n: >"$0.run"\nexec {shutil.which("gdb")} "$@"\n'
    )
    gdb.chmod(0o755)
    return gdb


def paste(line):
    """Run a command in a shell that has no GDB of its own."""
    env = {**environment(), "PATH": f"{GOREF.parent}:{os.environ['PATH']}"}
    env.pop("GDB", None)
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=env,
        stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def suggested(out):
    """The commands below `Next', without what they tell."""
    lines = out[out.index("\nNext\n") :].splitlines()
    return [x.split("  ")[1] for x in lines if x.startswith("  ")]


def test_gdb_is_named(core, other_gdb):
    words = ["core", core.exe, core.core]
    done = run_cli(words, env={"GDB": str(other_gdb)})
    assert done.returncode == 0, done.stderr
    commands = suggested(done.stdout)
    begin = f"GDB={shlex.quote(str(other_gdb))} goref core "
    assert commands and all(c.startswith(begin) for c in commands)
    mark = other_gdb.with_name("other gdb.run")
    mark.unlink()
    assert paste(commands[0])
    assert mark.exists()


@pytest.mark.parametrize("gdb", ["", "gdb"])
def test_default_gdb_is_not(core, gdb):
    done = run_cli(["core", core.exe, core.core], env={"GDB": gdb})
    commands = suggested(done.stdout)
    assert commands and all(c.startswith("goref core ") for c in commands)
    assert paste(commands[0])


def test_gdb_is_named_in_messages(core, other_gdb):
    """Messages that say what to write instead name the gdb, too."""
    env = {"GDB": str(other_gdb)}
    begin = f"`GDB={shlex.quote(str(other_gdb))} goref "
    for words, instead in (
        ([core.core], "core"),
        (["open", core.core], "core"),
        (["core", core.exe, core.core, "diff"], "diff"),
    ):
        done = run_cli(words, env=env)
        assert done.returncode and begin + instead in done.stderr


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

# SPDX-License-Identifier: Apache-2.0
"""A core, a process or an executable may name anything as its libraries. What
is not a regular file is not opened: gdb would wait at a pipe for ever."""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from mutate import copy_sparse
from session import run_cli
from targets import attach_reason, skip_if, start
from toolchains import build, variants

LIBC = re.compile(rb"/[\w./-]*/libc\.so[\w.]*\0")
LOADER = b"/lib64/ld-linux-x86-64.so.2\0"
SECONDS = 60


@pytest.fixture
def pipe():
    """A pipe with a short name, which fits where a library's stood."""
    folder = Path(tempfile.mkdtemp(prefix="g", dir="/tmp"))
    os.mkfifo(folder / "p")
    yield folder / "p"
    shutil.rmtree(folder)


def padded(pipe, old):
    name = bytes(pipe)
    assert len(name) < len(old)
    return name.ljust(len(old), b"\0")


def ask(*words):
    done = run_cli([*words, "scan", "--json"], timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["reached"], done.stderr


def renamed(file, copy, names, pipe):
    """A copy of a file in which the pipe has the place of names."""
    copy_sparse(file, copy)
    data = copy.read_bytes()
    found = {name for name in names(data) if name in data}
    assert found
    for name in found:
        data = data.replace(name, padded(pipe, name))
    copy.write_bytes(data)
    return copy


@variants("default")
def test_mapped_files_of_a_core(farm, variant, pipe, tmp_path):
    target = farm.target("rest", variant)
    name = bytes(target.exe) + b"\0"
    core = renamed(target.core, tmp_path / "core", lambda _: [name], pipe)
    whole, _ = ask("core", target.exe, target.core)
    assert ask("core", target.exe, core)[0] == whole


@variants("external")
def test_libraries_of_a_core(farm, variant, pipe, tmp_path):
    target = farm.target("rest", variant)
    core = renamed(target.core, tmp_path / "core", LIBC.findall, pipe)
    whole, _ = ask("core", target.exe, target.core)
    reached, said = ask("core", target.exe, core)
    assert reached == whole
    assert f"{pipe} is not a regular file" in said


@variants("external")
def test_loader_of_an_executable(farm, variant, pipe, tmp_path):
    target = farm.target("rest", variant)
    exe = renamed(target.exe, tmp_path / "exe", lambda _: [LOADER], pipe)
    whole, _ = ask("core", target.exe, target.core)
    reached, said = ask("core", exe, target.core)
    assert reached == whole
    assert f"{pipe} is not a regular file" in said


@variants("external")
def test_executable_without_that_section(farm, variant, tmp_path):
    """gdb then takes the loader's name from the core."""
    target = farm.target("rest", variant)
    exe = tmp_path / "exe"
    copy_sparse(target.exe, exe)
    data = exe.read_bytes()
    assert data.count(b"\0.interp\0") == 1
    exe.write_bytes(data.replace(b"\0.interp\0", b"\0.nterp_\0"))
    whole, _ = ask("core", target.exe, target.core)
    reached, said = ask("core", exe, target.core)
    assert reached == whole
    assert "no section .interp" in said


def rename_libc(pid, pipe):
    """In the list that the loader keeps in the memory of a process."""
    found = 0
    with open(f"/proc/{pid}/maps") as maps, open(
        f"/proc/{pid}/mem", "r+b", buffering=0
    ) as memory:
        for line in maps:
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            if "rw" not in line or end - begin > 64 << 20:
                continue
            memory.seek(begin)
            for name in LIBC.finditer(memory.read(end - begin)):
                memory.seek(begin + name.start())
                memory.write(padded(pipe, name[0]))
                found += 1
    return found


@pytest.mark.parametrize("options", [[], ["--snapshot"]], ids=str)
def test_libraries_of_a_process(pipe, options):
    skip_if(attach_reason())
    process = start(build("rest", "go1.24", "external"))
    try:
        assert rename_libc(process.pid, pipe)
        assert ask("attach", process.pid, *options)[0]["objects"]
    finally:
        process.stop()

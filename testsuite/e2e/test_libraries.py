# SPDX-License-Identifier: Apache-2.0
"""A core, a process or an executable may name anything as its libraries. Only
regular files are opened: opening a pipe would wait for ever."""

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


class Pipes:
    """Pipes in a folder, with names that fit where those of libraries stood.
    What held the names stays well-formed: gdb 18 fails an assertion of its own
    at a core in which names of mapped files are missing."""

    def __init__(self, folder):
        self.folder = folder

    def instead_of(self, name):
        """The name of a pipe, as long as this one, which a NUL ends."""
        path = bytes(self.folder) + b"/"
        assert len(path) < len(name) - 1
        path += b"p" * (len(name) - 1 - len(path))
        if not os.path.exists(path):
            os.mkfifo(path)
        return path + b"\0"

    def are_refused(self, said):
        return re.search(rf"{self.folder}/p+ is not a regular file", said)


@pytest.fixture
def pipes():
    folder = Path(tempfile.mkdtemp(prefix="g", dir="/tmp"))
    yield Pipes(folder)
    shutil.rmtree(folder)


def ask(*words):
    done = run_cli([*words, "scan", "--json"], timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["reached"], done.stderr


def renamed(file, copy, names, pipes):
    """A copy of a file in which pipes have the place of names."""
    copy_sparse(file, copy)
    data = copy.read_bytes()
    found = {name for name in names(data) if name in data}
    assert found
    for name in found:
        data = data.replace(name, pipes.instead_of(name))
    copy.write_bytes(data)
    return copy


@variants("default")
def test_mapped_files_of_a_core(farm, variant, pipes, tmp_path):
    target = farm.target("rest", variant)
    name = bytes(target.exe) + b"\0"
    core = renamed(target.core, tmp_path / "core", lambda _: [name], pipes)
    whole, _ = ask("core", target.exe, target.core)
    assert ask("core", target.exe, core)[0] == whole


@variants("external")
def test_libraries_of_a_core(farm, variant, pipes, tmp_path):
    target = farm.target("rest", variant)
    core = renamed(target.core, tmp_path / "core", LIBC.findall, pipes)
    whole, _ = ask("core", target.exe, target.core)
    reached, said = ask("core", target.exe, core)
    assert reached == whole
    assert pipes.are_refused(said), said


@variants("external")
def test_loader_of_an_executable(farm, variant, pipes, tmp_path):
    """Its name does not matter: the core names what the loader has loaded."""
    target = farm.target("rest", variant)
    exe = renamed(target.exe, tmp_path / "exe", lambda _: [LOADER], pipes)
    whole, _ = ask("core", target.exe, target.core)
    assert ask("core", exe, target.core)[0] == whole


@variants("external")
def test_executable_without_that_section(farm, variant, tmp_path):
    target = farm.target("rest", variant)
    exe = tmp_path / "exe"
    copy_sparse(target.exe, exe)
    data = exe.read_bytes()
    assert data.count(b"\0.interp\0") == 1
    exe.write_bytes(data.replace(b"\0.interp\0", b"\0.nterp_\0"))
    whole, _ = ask("core", target.exe, target.core)
    assert ask("core", exe, target.core)[0] == whole


def rename_libc(pid, pipes):
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
                memory.write(pipes.instead_of(name[0]))
                found += 1
    return found


@pytest.mark.parametrize("options", [[], ["--snapshot"]], ids=str)
def test_libraries_of_a_process(pipes, options):
    skip_if(attach_reason())
    process = start(build("rest", "go1.24", "external"))
    try:
        assert rename_libc(process.pid, pipes)
        assert ask("attach", process.pid, *options)[0]["objects"]
    finally:
        process.stop()

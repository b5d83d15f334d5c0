# SPDX-License-Identifier: Apache-2.0
"""goref-readahead: a core that is not in the page cache is read while gdb starts."""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from session import GOREF, TOP, environment, left_behind

sys.path.append(str(TOP / "bench"))
import cold  # noqa: E402

HELPER = Path(environment()["GOREF_BUILD_DIR"]) / "goref-readahead"
ET_EXEC, ET_CORE = 2, 4
MB = 1 << 20
LIMIT = 256 * MB
STEP = 256 << 10
LONG = "60000"


def make_file(path, size, kind=ET_CORE):
    """So large, on the disk and not in memory."""
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HH", kind, 62)
    with open(path, "wb") as file:
        file.write(header.ljust(64, b"\0"))
        while (left := size - file.tell()) > 0:
            file.write(os.urandom(min(MB, left)))
    cold.drop(path)
    if cold.cached_ranges(path):
        pytest.skip("files in this folder cannot be put out of memory")
    return path


def cached_bytes(path):
    return sum(size for _, size in cold.cached_ranges(path))


def run(*words):
    done = subprocess.run(
        [HELPER, LONG, *words], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_reads_a_core(tmp_path):
    core = make_file(tmp_path / "core", 8 * MB)
    run("core", "--json", "--top", "3", tmp_path / "missing", core)
    assert cached_bytes(core) == 8 * MB


def test_goes_on_after_what_is_cached(tmp_path):
    core = make_file(tmp_path / "core", 8 * MB)
    cold.read(core, [(0, MB)])
    assert cached_bytes(core) < 8 * MB
    run(core)
    # What the kernel reads ahead by itself may still be on its way.
    deadline = time.monotonic() + 10
    while cached_bytes(core) < 8 * MB and time.monotonic() < deadline:
        time.sleep(0.02)
    assert cached_bytes(core) == 8 * MB


def test_leaves_holes_alone(tmp_path):
    core = make_file(tmp_path / "core", MB)
    os.truncate(core, 64 * MB)
    with open(core, "r+b") as file:
        file.seek(32 * MB)
        file.write(b"data")
    cold.drop(core)
    run(core)
    assert (32 * MB) in [off for off, _ in cold.cached_ranges(core)]
    assert cached_bytes(core) < 24 * MB


def test_ends_soon(tmp_path):
    core = make_file(tmp_path / "core", 64 * MB)
    subprocess.run([HELPER, "0", core], check=True)
    assert STEP <= cached_bytes(core) < 32 * MB


def test_reads_so_much_and_no_more(tmp_path):
    core = make_file(tmp_path / "core", LIMIT + 64 * MB)
    run(core)
    assert 0 < cached_bytes(core) < LIMIT + 48 * MB


def test_leaves_other_files_alone(tmp_path):
    exe = make_file(tmp_path / "exe", 8 * MB, ET_EXEC)
    short = tmp_path / "short"
    short.write_bytes(b"\x7fELF")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    run(exe, short, pipe, tmp_path, "/dev/zero", "")
    assert cached_bytes(exe) < 4 * MB


@pytest.mark.parametrize(
    "command",
    [
        [GOREF, "core", "EXE", "CORE"],
        [GOREF, "core", "--no-such-option"],
        [TOP / "gdb-goref", "-nx", "-batch", "EXE", "CORE"],
    ],
    ids=["goref core", "wrong usage", "gdb-goref"],
)
def test_leaves_no_process(tmp_path, command):
    """Not even an ended one, to whoever is the parent of all."""
    core = make_file(tmp_path / "core", MB)
    words = [core if word == "CORE" else word for word in command]
    assert not left_behind(words)


@pytest.mark.parametrize(
    ("command", "is_read"),
    [
        ([GOREF, "core", "EXE", "CORE"], True),
        ([TOP / "gdb-goref", "-batch", "EXE", "CORE"], True),
        ([GOREF, "attach", "CORE"], False),
    ],
    ids=["goref core", "gdb-goref", "goref attach"],
)
def test_is_started(tmp_path, command, is_read):
    """A gdb that does nothing: whoever reads the core is not gdb."""
    core = make_file(tmp_path / "core", 4 * MB)
    gdb = tmp_path / "gdb"
    gdb.write_text("#!/bin/sh\n")
    gdb.chmod(0o755)
    words = [core if word == "CORE" else word for word in command]
    subprocess.run(
        words, env=environment() | {"GDB": str(gdb)}, check=True, timeout=60
    )
    deadline = time.monotonic() + (10 if is_read else 0.5)
    while cached_bytes(core) < STEP and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (cached_bytes(core) >= STEP) == is_read

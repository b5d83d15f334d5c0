# SPDX-License-Identifier: Apache-2.0
"""Messages about files, and the lifetime of a core: small crafted files."""

import hashlib
import os
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import elf, lifetime
from test_executable import AUXV, BASE, auxv, core_of, note, program

pytestmark = pytest.mark.usefixtures("goref")

MEMORY = program([((b"GNU\0", 3), b"\x12" * 20)])
VECTOR = auxv() + struct.pack("<QQ", 25, BASE + 8)
NOTES = note(b"CORE\0", AUXV, VECTOR) + note(
    b"CORE\0", 3, bytes(24) + struct.pack("<I", 77) + bytes(100)
)
CORE = core_of(None, MEMORY, notes=NOTES)
HEADERS_END = 64 + 2 * 56
NOTES_END = HEADERS_END + len(NOTES)


@pytest.mark.parametrize(
    "size, part, end",
    [
        (1, "ELF header", 64),
        (63, "ELF header", 64),
        (64, "program headers", HEADERS_END),
        (HEADERS_END, "notes", NOTES_END),
        (NOTES_END - 1, "notes", NOTES_END),
        (NOTES_END, None, None),
    ],
)
def test_cut_core(tmp_path, size, part, end):
    core = tmp_path / "core"
    core.write_bytes(CORE[:size])
    wanted = part and (
        f"{core} is truncated or damaged: {end:,} bytes are needed for its "
        f"{part} alone, and it has {size:,}"
    )
    assert elf.how_cut(str(core)) == wanted


def test_other_files(tmp_path):
    empty, pipe = tmp_path / "empty", tmp_path / "pipe"
    empty.touch()
    os.mkfifo(pipe)
    assert elf.how_cut(str(empty)) == f"{empty} is empty"
    assert elf.how_cut(str(tmp_path)) is None
    for file in (pipe, tmp_path, tmp_path / "none", "/dev/zero", "a\0b"):
        assert elf.how_cut(str(file)) is None or file == "/dev/zero"
        assert elf.how_packed(str(file)) is None
        assert not elf.is_elf(str(file)) and not elf.is_core(str(file))
        assert elf.identity(str(file)) == frozenset()
    assert "is a pipe" in elf.how_piped(str(pipe))


def test_lifetime(tmp_path):
    """Only the digest of the random bytes is known."""
    core = tmp_path / "core"
    core.write_bytes(CORE)
    life = lifetime.of_core(str(core))
    assert life.pids == {77}
    assert life.digest == hashlib.sha256(MEMORY[8:24]).hexdigest()
    core.write_bytes(CORE[: NOTES_END + 20])
    assert lifetime.of_core(str(core)) is None
    core.write_bytes(MEMORY)
    assert lifetime.of_core(str(core)) is None

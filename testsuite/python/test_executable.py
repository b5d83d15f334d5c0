# SPDX-License-Identifier: Apache-2.0
"""Which executable a core comes from: small files, whole and crafted."""

import os
import shutil
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import elf, executable

pytestmark = pytest.mark.usefixtures("goref")

BASE = 0x400000
GNU = (b"GNU\0", 3)
GO = (b"Go\0\0", 4)
AUXV, FILES = 6, 0x46494C45
PHDR = struct.Struct("<IIQQQQQQ")


def note(name, kind, content, name_size=None, size=None):
    head = struct.pack(
        "<III",
        len(name) if name_size is None else name_size,
        len(content) if size is None else size,
        kind,
    )
    padded = content + bytes(-len(content) % 4)
    return head + name + bytes(-len(name) % 4) + padded


def elf_file(kind, segments, phnum=None, phoff=64):
    """segments: (type, address, content)"""
    offset = 64 + PHDR.size * len(segments)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQI", kind, 62, 1, BASE + 64, phoff, 0, 0)
    count = len(segments) if phnum is None else phnum
    head += struct.pack("<HHHHHH", 64, PHDR.size, count, 64, 0, 0)
    rows, body = b"", b""
    for type_, address, content in segments:
        size = len(content)
        rows += PHDR.pack(
            type_, 4, offset + len(body), address, 0, size, size, 8
        )
        body += content
    return head + rows + body


def program(ids):
    """An executable whose only page is its headers and notes."""
    notes = b"".join(note(name, kind, text) for (name, kind), text in ids)
    at = 64 + 2 * PHDR.size
    whole = elf_file(2, [(1, BASE, b""), (4, BASE + at, notes)])
    rows = PHDR.pack(1, 4, 0, BASE, 0, len(whole), len(whole), 4096)
    return whole[:64] + rows + whole[64 + PHDR.size :]


def auxv(**more):
    pairs = {3: BASE + 64, 9: BASE + 64, **more}
    return b"".join(struct.pack("<QQ", *pair) for pair in pairs.items())


def files(rows, count=None):
    table = b"".join(struct.pack("<QQQ", *row[:3]) for row in rows)
    names = b"".join(os.fsencode(row[3]) + b"\0" for row in rows)
    size = len(rows) if count is None else count
    return struct.pack("<QQ", size, 4096) + table + names


def core_of(exe, memory, name=None, notes=None):
    rows = [(BASE, BASE + 4096, 0, name or str(exe))]
    if notes is None:
        notes = note(b"CORE\0", AUXV, auxv()) + note(
            b"CORE\0", FILES, files(rows)
        )
    segments = [(4, 0, notes)]
    if memory:
        segments.append((1, BASE, memory))
    return elf_file(4, segments)


IDS = [(GNU, b"\x12" * 20), (GO, b"abc/def")]
OTHER = [(GNU, b"\x13" * 20), (GO, b"abc/xyz")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where the program was built, where its core is, where we are."""
    for name in ("built", "cores", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    exe = tmp_path / "built" / "app"
    exe.write_bytes(program(IDS))
    (tmp_path / "cores" / "core").write_bytes(core_of(exe, exe.read_bytes()))
    return tmp_path


def found(place):
    return executable.find(str(place / "cores" / "core"))


def refused(place, *words):
    with pytest.raises(executable.NotFoundError) as problem:
        found(place)
    for word in words:
        assert word in str(problem.value), problem.value
    assert "\n" not in str(problem.value)
    assert "goref core EXE" in str(problem.value)


def test_where_the_core_says(place):
    assert found(place).path == str(place / "built" / "app")
    assert not found(place).warning
    assert elf.is_core(str(place / "cores" / "core"))
    assert not elf.is_core(str(place / "built" / "app"))


def test_of_a_deleted_file(place):
    exe = place / "built" / "app"
    core = core_of(exe, exe.read_bytes(), f"{exe} (deleted)")
    (place / "cores" / "core").write_bytes(core)
    assert found(place).path == str(exe)


@pytest.mark.parametrize("folder", ["cores", "here"])
def test_moved(place, folder):
    shutil.move(place / "built" / "app", place / folder / "app")
    assert found(place).path == str(place / folder / "app")


@pytest.mark.parametrize("folder", ["built", "cores", "here"])
def test_another_build(place, folder):
    (place / "built" / "app").unlink()
    (place / folder / "app").write_bytes(program(OTHER))
    refused(place, str(place / folder / "app"), "12" * 20, "13" * 20)


def test_the_right_one_behind_a_wrong_one(place):
    (place / "built" / "app").rename(place / "here" / "app")
    (place / "built" / "app").write_bytes(program(OTHER))
    (place / "cores" / "app").write_bytes(program(OTHER))
    assert found(place).path == str(place / "here" / "app")


def test_go_build_id_alone(place):
    exe = place / "built" / "app"
    exe.write_bytes(program(IDS[1:]))
    (place / "cores" / "core").write_bytes(core_of(exe, exe.read_bytes()))
    assert not found(place).warning
    exe.write_bytes(program(OTHER[1:]))
    refused(place, "abc/def", "abc/xyz")


def test_core_without_that_page(place):
    """As gcore may write it: the name is what there is."""
    exe = place / "built" / "app"
    (place / "cores" / "core").write_bytes(core_of(exe, b""))
    assert found(place).path == str(exe)
    assert "no build id" in found(place).warning
    # A file that lies elsewhere is not taken at its name.
    exe.rename(place / "cores" / "app")
    refused(place, str(exe), "not there")


def test_not_there(place):
    (place / "built" / "app").unlink()
    refused(place, str(place / "built" / "app"), "not there")


@pytest.mark.parametrize(
    "name", ["/a\nshell touch x", "/\x1b[2J", "relative", "", "/" + "x" * 9000]
)
def test_names_that_a_core_may_have(place, name):
    (place / "built" / "app").unlink()
    core = core_of(None, program(IDS), name or "\0")
    (place / "cores" / "core").write_bytes(core)
    with pytest.raises(executable.NotFoundError) as problem:
        found(place)
    assert str(problem.value).isprintable()


def test_no_device_or_pipe_is_opened(place):
    exe = place / "built" / "app"
    memory = exe.read_bytes()
    exe.unlink()
    os.mkfifo(exe)
    refused(place, "not there")
    (place / "cores" / "core").write_bytes(core_of(None, memory, "/dev/zero"))
    refused(place, "/dev/zero")


def test_execfn(place):
    """A core without the list of files."""
    exe = place / "built" / "app"
    text = os.fsencode(exe) + b"\0"
    at = BASE + len(exe.read_bytes())
    vector = note(b"CORE\0", AUXV, auxv(**{}) + struct.pack("<QQ", 31, at))
    core = core_of(exe, exe.read_bytes() + text, notes=vector)
    (place / "cores" / "core").write_bytes(core)
    assert found(place).path == str(exe)


CRAFTED = {
    "empty": b"",
    "header only": elf_file(4, [])[:64],
    "headers beyond the end": elf_file(4, [], phnum=65534),
    "headers at the end of all": elf_file(4, [], phnum=9, phoff=2**64 - 8),
    "no notes": elf_file(4, [(1, BASE, b"x" * 64)]),
    "huge note": elf_file(
        4, [(4, 0, note(b"CORE\0", AUXV, b"", size=2**32 - 1))]
    ),
    "huge name of a note": elf_file(
        4, [(4, 0, note(b"CORE\0", AUXV, b"", name_size=2**32 - 1))]
    ),
    "empty notes": elf_file(4, [(4, 0, bytes(12) * 400000)]),
    "notes for ever": elf_file(4, [(4, 0, bytes(12) * 40000)] * 200),
    "list of more files than there are": core_of(
        None, b"", notes=note(b"CORE\0", FILES, files([], count=2**63))
        + note(b"CORE\0", AUXV, auxv()),
    ),
    "files without end of name": core_of(
        None,
        b"",
        notes=note(b"CORE\0", AUXV, auxv())
        + note(b"CORE\0", FILES, files([(0, 1, 0, "x")] * 9)[:-8]),
    ),
    "many files": core_of(
        None,
        b"",
        notes=note(b"CORE\0", AUXV, auxv())
        + note(b"CORE\0", FILES, files([(0, 1, 0, "")] * 700000)),
    ),
    "program headers of headers": core_of(
        None,
        elf_file(2, [(4, BASE, b"")] * 512, phnum=512) + bytes(99),
        "/nowhere/app",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted(place, name):
    """An error, soon, and without much memory."""
    (place / "cores" / "core").write_bytes(CRAFTED[name])
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(executable.NotFoundError):
            found(place)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 30


def test_program_headers_beyond_16_bits(place):
    """PN_XNUM: section header 0 has their number."""
    exe = place / "built" / "app"
    core = bytearray(core_of(exe, exe.read_bytes()))
    struct.pack_into("<H", core, 56, 0xFFFF)
    struct.pack_into("<Q", core, 40, len(core))
    core += bytes(44) + struct.pack("<I", 2) + bytes(16)
    (place / "cores" / "core").write_bytes(core)
    assert found(place).path == str(exe)


@pytest.mark.parametrize(
    "tool, ending",
    [("zstd", ".zst"), ("xz", ".xz"), ("gzip", ".gz"), ("bzip2", ".bz2"),
     ("lz4", ".lz4")],
)  # fmt: skip
@pytest.mark.parametrize("is_named", [True, False])
def test_packed(tmp_path, tool, ending, is_named):
    """The command that is named unpacks it."""
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")
    plain = tmp_path / "it's a core"
    plain.write_bytes(CRAFTED["no notes"] * 50)
    done = subprocess.run([tool, "-c", plain], capture_output=True, check=True)
    packed = tmp_path / ("it's packed" + (ending if is_named else ""))
    packed.write_bytes(done.stdout)
    said = elf.how_packed(str(packed))
    assert "\n" not in said
    command = said.partition("unpack it first: ")[2]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    made = [p for p in tmp_path.iterdir() if p not in (plain, packed)]
    assert [p.read_bytes() for p in made] == [plain.read_bytes()]
    assert packed.exists()


def test_origin_of_no_core(tmp_path):
    (tmp_path / "x").write_bytes(b"text")
    with pytest.raises(executable.NotFoundError, match="does not name"):
        executable.find(str(tmp_path / "x"))
    assert not elf.is_core(str(tmp_path / "x"))

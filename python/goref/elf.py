# SPDX-License-Identifier: Apache-2.0
"""The little of ELF that choosing an executable needs. Never imports gdb."""

import os
import shlex
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO, Literal

_AT_KIND, _AT_MACHINE = 16, 18
_ET_CORE = 4
_FOREIGN = {183: "aarch64"}
_PT_LOAD = 1
_PT_NOTE = 4
_SHT_PROGBITS = 1
_EHDR_BYTES = 64
_PHDR_BYTES = 56
_PAGE = 4096
_MAX_PHNUM = 4096
_MAX_PATH = 4096
MAX_NOTE_BYTES = 1 << 16

Note = tuple[bytes, int, bytes]
"""Name, kind, content."""

# First bytes, name, the command that unpacks beside the packed file if its
# name has that ending, the ending, and the command that writes elsewhere.
_PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip -k", ".gz", "gunzip -c"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d", ".zst", "zstd -dc"),
    (b"\xfd7zXZ", "xz", "xz -dk", ".xz", "xz -dc"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dm", ".lz4", "lz4 -dc"),
    (b"BZh", "bzip2", "bunzip2 -k", ".bz2", "bunzip2 -c"),
)


def how_piped(path: str) -> str | None:
    """The error message for a pipe; None for any other file. Opening a pipe
    may block for ever."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None
    return f"{path} is a pipe: write it into a file first" if is_pipe else None


def how_packed(path: str) -> str | None:
    """The error message for a compressed file; None for any other (elf.c)."""
    if how_piped(path):
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except (OSError, ValueError):
        return None
    for magic, form, beside, ending, elsewhere in _PACKED:
        if not head.startswith(magic):
            continue
        file_name = shlex.quote(path)
        if path.endswith(ending) and len(os.path.basename(path)) > len(ending):
            command = f"{beside} {file_name}"
        else:
            command = f"{elsewhere} {file_name} >{file_name}.unpacked"
        return f"{path} is compressed with {form}: unpack it first: {command}"
    return None


def _half(path: str, at: int) -> int | None:
    """A number of two bytes in the header of an ELF file; None if it is none.
    Of other than regular files nothing is read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            head = file.read(_AT_MACHINE + 2)
    except (OSError, ValueError):
        return None
    if len(head) < _AT_MACHINE + 2 or not head.startswith(b"\x7fELF"):
        return None
    order: Literal["big", "little"] = "big" if head[5] == 2 else "little"
    return int.from_bytes(head[at : at + 2], order)


def is_elf(path: str) -> bool:
    return _half(path, _AT_KIND) is not None


def is_core(path: str) -> bool:
    return _half(path, _AT_KIND) == _ET_CORE


def foreign_processor(path: str) -> str | None:
    """gdb's name of the file's processor, if goref supports it but not every
    gdb does."""
    return _FOREIGN.get(_half(path, _AT_MACHINE) or 0)


def shown(path: str) -> str:
    """A name that anybody may have chosen, for a line of ours."""
    text = path.encode("utf-8", "surrogateescape")
    name = text.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else "?" for c in name)


def _end_of_start(file: BinaryIO, size: int) -> tuple[str, int] | None:
    """The part of a core's start that lies past the end of the file, and the
    end of that part. Without its start, gdb does not open a core."""
    head = file.read(_EHDR_BYTES)
    if len(head) < _EHDR_BYTES:
        return "ELF header", _EHDR_BYTES
    (phoff,) = struct.unpack_from("<Q", head, 32)
    phentsize, phnum = struct.unpack_from("<HH", head, 54)
    if phentsize != _PHDR_BYTES:
        return None
    end = phoff + phentsize * phnum
    if end > size:
        return "program headers", end
    file.seek(phoff)
    rows = file.read(phentsize * phnum)
    for row in struct.iter_unpack("<IIQQQQQQ", rows):
        if row[0] == _PT_NOTE and row[2] + row[5] > size:
            return "notes", row[2] + row[5]
    return None


def how_cut(path: str) -> str | None:
    """The error message for a core without its start, which gdb does not
    recognise; None for any other file."""
    if how_piped(path):
        return None
    try:
        size = os.stat(path).st_size
        with open(path, "rb") as file:
            head = file.read(18)
            file.seek(0)
            if not size:
                return f"{path} is empty"
            if head[:6] != b"\x7fELF\x02\x01"[: len(head)]:
                return None
            if len(head) == 18 and head[16] != _ET_CORE:
                return None
            found = _end_of_start(file, size)
    except (OSError, ValueError, OverflowError, struct.error):
        return None
    if not found:
        return None
    return (
        f"{path} is truncated or damaged: {found[1]:,} bytes are needed for "
        f"its {found[0]} alone, and it has {size:,}"
    )


def _header(file: BinaryIO) -> tuple[int, int, int, int] | None:
    """entry, phoff, phentsize, phnum of a 64-bit little-endian file."""
    head = file.read(64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        return None
    entry, phoff = struct.unpack_from("<QQ", head, 24)
    phentsize, phnum = struct.unpack_from("<HH", head, 54)
    return entry, phoff, phentsize, min(phnum, _MAX_PHNUM)


def _program_headers(
    file: BinaryIO, header: tuple[int, int, int, int]
) -> Iterator[tuple[int, ...]]:
    """As many as there are, whole."""
    _, phoff, phentsize, phnum = header
    for i in range(phnum):
        file.seek(phoff + i * phentsize)
        entry = file.read(_PHDR_BYTES)
        if len(entry) < _PHDR_BYTES:
            return
        yield struct.unpack("<IIQQQQQQ", entry)


def _notes(data: bytes) -> list[Note]:
    found = []
    off = 0
    while off + 12 <= len(data):
        name_size, desc_size, kind = struct.unpack_from("<III", data, off)
        name = off + 12
        desc = name + (name_size + 3) // 4 * 4
        end = desc + (desc_size + 3) // 4 * 4
        if desc + desc_size > len(data):
            break
        found.append(
            (
                data[name : name + name_size].rstrip(b"\0"),
                kind,
                data[desc : desc + desc_size],
            )
        )
        off = end
    return found


_BUILD_IDS = {(b"GNU", 3), (b"Go", 4)}


def build_ids(data: bytes) -> set[Note]:
    """The build ids of GNU and of Go among notes."""
    return {note for note in _notes(data) if note[:2] in _BUILD_IDS}


def identity(path: str) -> frozenset[Note]:
    """GNU's and Go's build ids of a file; empty if there is none."""
    found: set[Note] = set()
    try:
        with open(path, "rb") as file:
            header = _header(file)
            if not header:
                return frozenset()
            for row in _program_headers(file, header):
                if row[0] == _PT_NOTE:
                    file.seek(row[2])
                    data = file.read(min(row[5], MAX_NOTE_BYTES))
                    found |= build_ids(data)
    except (OSError, ValueError, OverflowError):
        return frozenset()
    return frozenset(found)


def has_build_id(path: str, text: str) -> bool:
    """Has a file this build id, as Info.build_id writes it: GNU's in hex, or
    Go's own?"""
    known = {
        note[2].hex() if note[0] == b"GNU" else note[2].decode("latin-1")
        for note in identity(path)
    }
    return bool(text) and text in known


def entry_point(path: str) -> int | None:
    """e_entry of a file, or None."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
    except OSError:
        return None
    return header[0] if header else None


def _sections(file: BinaryIO, name: bytes) -> list[tuple[int, ...]]:
    """The headers of the sections with that name."""
    file.seek(0)
    head = file.read(64)
    (shoff,) = struct.unpack_from("<Q", head, 40)
    shnum, shstrndx = struct.unpack_from("<HH", head, 60)
    file.seek(shoff)
    rows = list(struct.iter_unpack("<IIQQQQIIQQ", file.read(64 * shnum)))
    names, size = rows[shstrndx][4:6]
    whole = name + b"\0"
    found = []
    for row in rows:
        file.seek(names + row[0])
        if file.read(len(whole)) == whole and row[0] + len(whole) <= size:
            found.append(row)
    return found


def _first_page(file: BinaryIO, header: tuple[int, int, int, int]) -> int:
    """The lowest page of the segments that are loaded."""
    rows = _program_headers(file, header)
    return min(int(r[3]) for r in rows if r[0] == _PT_LOAD) & ~(_PAGE - 1)


def loader(path: str) -> str | None:
    """The loader that an executable names in its section .interp. None if
    there is no such section, or not just one: gdb then takes a name from
    elsewhere, such as the memory of the target."""
    try:
        with open(path, "rb") as file:
            rows = _sections(file, b".interp") if _header(file) else []
            if [row[1] for row in rows] != [_SHT_PROGBITS]:
                return None
            file.seek(rows[0][4])
            name = file.read(min(rows[0][5], _MAX_PATH)).split(b"\0")[0]
            return os.fsdecode(name)
    except (OSError, ValueError, IndexError, OverflowError, struct.error):
        return None


def load_bias(path: str, start: int, end: int) -> int | None:
    """The distance of a library from its own addresses. gdb gives a half-open
    range: that of .text until gdb 17, later that of the whole library."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
            texts = _sections(file, b".text") if header else []
            if not header or not texts:
                return None
            text = texts[0]
            if end - start == text[5]:
                return int(start - text[3])
            return start - _first_page(file, header)
    except (OSError, ValueError, IndexError, OverflowError, struct.error):
        return None

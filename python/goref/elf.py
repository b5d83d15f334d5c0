# SPDX-License-Identifier: Apache-2.0
"""The little of ELF that choosing an executable needs. Never imports gdb."""

import os
import stat
import struct
from typing import BinaryIO

_ET_CORE = 4
_PT_LOAD = 1
_PT_NOTE = 4
_EHDR_BYTES = 64
_PHDR_BYTES = 56
_PAGE = 4096
_MAX_PHNUM = 4096
_MAX_NOTE_BYTES = 1 << 16
_MAX_NAMES_BYTES = 1 << 20


_PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zXZ", "xz", "unxz"),
    (b"\x04\x22\x4d\x18", "lz4", "unlz4"),
    (b"BZh", "bzip2", "bunzip2"),
)


def how_piped(path: str) -> str | None:
    """What to tell of a pipe; None if it is none. To open one may take for
    ever."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None
    return f"{path} is a pipe: write it into a file first" if is_pipe else None


def how_packed(path: str) -> str | None:
    """What to tell of a compressed file; None if it is none (elf.c)."""
    if how_piped(path):
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except (OSError, ValueError):
        return None
    for magic, form, tool in _PACKED:
        if head.startswith(magic):
            return (
                f"{path} is compressed with {form}: unpack it first ({tool})"
            )
    return None


def _end_of_start(file: BinaryIO, size: int) -> tuple[str, int] | None:
    """Of a core, what of its start reaches past the file's size, and where it
    ends: gdb opens no core without it."""
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
    """What to tell of a core without its start, which gdb does not take for
    one; None if it is none."""
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


def _notes(data: bytes) -> list[tuple[bytes, int, bytes]]:
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


def identity(path: str) -> frozenset[tuple[bytes, int, bytes]]:
    """GNU's and Go's build ids of a file; empty if there is none."""
    wanted = {(b"GNU", 3), (b"Go", 4)}
    found = set()
    try:
        with open(path, "rb") as file:
            header = _header(file)
            if not header:
                return frozenset()
            _, phoff, phentsize, phnum = header
            for i in range(phnum):
                file.seek(phoff + i * phentsize)
                entry = file.read(56)
                if len(entry) < 56:
                    break
                if struct.unpack_from("<I", entry)[0] != _PT_NOTE:
                    continue
                offset = struct.unpack_from("<Q", entry, 8)[0]
                size = struct.unpack_from("<Q", entry, 32)[0]
                file.seek(offset)
                notes = _notes(file.read(min(size, _MAX_NOTE_BYTES)))
                found |= {n for n in notes if n[:2] in wanted}
    except (OSError, ValueError, OverflowError):
        return frozenset()
    return frozenset(found)


def entry_point(path: str) -> int | None:
    """e_entry of a file, or None."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
    except OSError:
        return None
    return header[0] if header else None


def _text(file: BinaryIO) -> tuple[int, int] | None:
    """Address and size of the section .text."""
    file.seek(0)
    head = file.read(64)
    (shoff,) = struct.unpack_from("<Q", head, 40)
    shnum, shstrndx = struct.unpack_from("<HH", head, 60)
    file.seek(shoff)
    rows = list(struct.iter_unpack("<IIQQQQIIQQ", file.read(64 * shnum)))
    file.seek(rows[shstrndx][4])
    names = file.read(min(rows[shstrndx][5], _MAX_NAMES_BYTES))
    for row in rows:
        if names[row[0] : row[0] + 6] == b".text\0":
            return int(row[3]), int(row[5])
    return None


def _first_page(file: BinaryIO, header: tuple[int, int, int, int]) -> int:
    """The lowest page of the segments that are loaded."""
    _, phoff, phentsize, phnum = header
    found: list[int] = []
    for i in range(phnum):
        file.seek(phoff + i * phentsize)
        entry = file.read(56)
        if struct.unpack_from("<I", entry)[0] == _PT_LOAD:
            found.append(struct.unpack_from("<Q", entry, 16)[0])
    return min(found) & ~(_PAGE - 1)


def load_bias(path: str, start: int, end: int) -> int | None:
    """How far from its own addresses a library lies, by the half-open range
    that gdb gives for it: until gdb 17 that of .text, then all of it."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
            text = _text(file) if header else None
            if not header or text is None:
                return None
            if end - start == text[1]:
                return start - text[0]
            return start - _first_page(file, header)
    except (OSError, ValueError, IndexError, OverflowError, struct.error):
        return None

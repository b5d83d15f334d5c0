# SPDX-License-Identifier: Apache-2.0
"""The little of ELF that choosing an executable needs. Never imports gdb."""

import struct
from typing import BinaryIO

_PT_NOTE = 4
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


def how_packed(path: str) -> str | None:
    """What to tell of a compressed file; None if it is none (elf.c)."""
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


def text_address(path: str) -> int | None:
    """Where the file wants its section .text, or None."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
                return None
            (shoff,) = struct.unpack_from("<Q", head, 40)
            shnum, shstrndx = struct.unpack_from("<HH", head, 60)
            file.seek(shoff)
            table = file.read(64 * shnum)
            rows = list(struct.iter_unpack("<IIQQQQIIQQ", table))
            file.seek(rows[shstrndx][4])
            names = file.read(min(rows[shstrndx][5], _MAX_NAMES_BYTES))
    except (OSError, ValueError, IndexError, OverflowError, struct.error):
        return None
    for row in rows:
        if names[row[0] : row[0] + 6] == b".text\0":
            return int(row[3])
    return None

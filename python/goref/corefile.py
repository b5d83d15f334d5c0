# SPDX-License-Identifier: Apache-2.0
"""A core's own word on what it is a core of. Never imports gdb.

Every size and count is the file's, and may be anything: each has a bound."""

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from . import elf

_PT_LOAD, _PT_NOTE = 1, 4
_PHDR = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_NT_AUXV, _NT_FILE = 6, 0x46494C45
_AT_PHDR, _AT_ENTRY, _AT_RANDOM, _AT_EXECFN = 3, 9, 25, 31
_NT_PRPSINFO, _PRPSINFO_PID = 3, 24
_RANDOM_BYTES = 16
_PN_XNUM = 0xFFFF
_PAGE = 4096

_MAX_PHDRS = 1 << 20
_MAX_NOTES = 1 << 17
_MAX_NOTE_BYTES = 16 << 20  # as the kernel's own for the list of files
_MAX_PATH = 4096
_MAX_ELF_PHDRS = 512


class Origin(NamedTuple):
    """path: as the kernel knew the executable; identity: the build ids that
    memory shows, none if that page is not in the core."""

    path: str
    identity: frozenset[elf.Note]


class Birth(NamedTuple):
    """pid: 0 if the core does not tell; secret: the random bytes that the
    kernel gave the program when it began, empty if they are not there."""

    pid: int
    secret: bytes


class _Mapped(NamedTuple):
    start: int
    end: int
    page: int  # of the file
    path: bytes

    def is_head_of(self, other: "_Mapped") -> bool:
        """Does the file begin here?"""
        return (
            self.path == other.path
            and not self.page
            and self.start <= other.start
        )


class _Core:
    """An open core: its notes and memory."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = os.fstat(fd).st_size
        self.notes: list[tuple[int, int]] = []
        self.loads: list[tuple[int, int, int]] = []
        for row in self._program_headers():
            kind, _, offset, address, _, size, _, _ = row
            size = max(min(size, self.size - offset), 0)
            if kind == _PT_NOTE:
                self.notes.append((offset, size))
            elif kind == _PT_LOAD and size:
                self.loads.append((address, offset, size))

    def at(self, offset: int, size: int) -> bytes:
        """Bytes of the file, as many as there are."""
        if offset >= self.size:
            return b""
        return os.pread(self.fd, min(size, self.size - offset), offset)

    def _program_headers(self) -> Iterator[tuple[int, ...]]:
        head = self.at(0, 64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return
        phoff, shoff = struct.unpack_from("<QQ", head, 32)
        phentsize, count = struct.unpack_from("<HH", head, 54)
        if phentsize != _PHDR.size:
            return
        if count == _PN_XNUM:
            section = self.at(shoff, 64)
            if len(section) == 64:
                (count,) = struct.unpack_from("<I", section, 44)
        rows = self.at(phoff, min(count, _MAX_PHDRS) * _PHDR.size)
        yield from _PHDR.iter_unpack(rows[: len(rows) // _PHDR.size * 56])

    def note(self, wanted: int) -> bytes:
        """The contents of the first note of a kind; empty if there is none."""
        left = _MAX_NOTES
        for offset, size in self.notes:
            end = offset + size
            while left and offset + _NOTE.size <= end:
                left -= 1
                head = self.at(offset, _NOTE.size)
                if len(head) < _NOTE.size:
                    break
                name, desc, kind = _NOTE.unpack(head)
                begin = offset + _NOTE.size + (name + 3) // 4 * 4
                if kind == wanted:
                    return self.at(begin, min(desc, _MAX_NOTE_BYTES))
                offset = begin + (desc + 3) // 4 * 4
        return b""

    def memory(self, address: int, size: int) -> bytes:
        """Bytes of the program, as many as there are from there on."""
        for start, offset, there in self.loads:
            if start <= address < start + there:
                skip = address - start
                return self.at(offset + skip, min(size, there - skip))
        return b""

    def auxv(self) -> dict[int, int]:
        data = self.note(_NT_AUXV)[:_PAGE]
        rows = struct.iter_unpack("<QQ", data[: len(data) // 16 * 16])
        return {kind: value for kind, value in rows}

    def mapped(self) -> Iterator[_Mapped]:
        """The list of mapped files."""
        data = self.note(_NT_FILE)
        if len(data) < 16:
            return
        (count,) = struct.unpack_from("<Q", data)
        count = min(count, (len(data) - 16) // 24)
        names = 16 + 24 * count
        for row in struct.iter_unpack("<QQQ", data[16:names]):
            end = data.find(b"\0", names)
            if end < 0:
                return
            yield _Mapped(row[0], row[1], row[2], data[names:end])
            names = end + 1


def _identity(core: _Core, base: int) -> frozenset[elf.Note]:
    """Build ids of the ELF file that is mapped at base."""
    head = core.memory(base, 64)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        return frozenset()
    (phoff,) = struct.unpack_from("<Q", head, 32)
    phentsize, count = struct.unpack_from("<HH", head, 54)
    if phentsize != _PHDR.size or count > _MAX_ELF_PHDRS:
        return frozenset()
    rows = core.memory(base + phoff, count * _PHDR.size)
    table = list(_PHDR.iter_unpack(rows[: len(rows) // 56 * 56]))
    lowest = min((r[3] for r in table if r[0] == _PT_LOAD), default=0)
    bias = base - lowest // _PAGE * _PAGE
    found: set[elf.Note] = set()
    for kind, _, _, address, _, size, _, _ in table:
        if kind == _PT_NOTE:
            data = core.memory(bias + address, min(size, elf.MAX_NOTE_BYTES))
            found |= elf.build_ids(data)
    return frozenset(found)


def _path(name: bytes) -> str:
    return os.fsdecode(name.removesuffix(b" (deleted)")[:_MAX_PATH])


def _origin(core: _Core) -> Origin | None:
    auxv = core.auxv()
    place = auxv.get(_AT_PHDR) or auxv.get(_AT_ENTRY) or 0
    for one in core.mapped():
        if one.start <= place < one.end and one.path.startswith(b"/"):
            base = max(
                (m.start for m in core.mapped() if m.is_head_of(one)),
                default=0,
            )
            return Origin(_path(one.path), _identity(core, base))
    # Without that list, what was given to execve().
    name = core.memory(auxv.get(_AT_EXECFN, 0), _MAX_PATH).split(b"\0")[0]
    if not name.startswith(b"/"):
        return None
    base = auxv.get(_AT_PHDR, 0) // _PAGE * _PAGE
    return Origin(_path(name), _identity(core, base))


def origin(path: str) -> Origin | None:
    """The executable according to the core; None if the core does not name
    it. OSError: the core cannot be read."""
    with open(path, "rb") as file:
        return _origin(_Core(file.fileno()))


def birth(path: str) -> Birth:
    """What tells one run of a program from others. OSError: the core cannot be
    read."""
    with open(path, "rb") as file:
        core = _Core(file.fileno())
        facts = core.note(_NT_PRPSINFO)
        pid = 0
        if len(facts) >= _PRPSINFO_PID + 4:
            (pid,) = struct.unpack_from("<I", facts, _PRPSINFO_PID)
        where = core.auxv().get(_AT_RANDOM, 0)
        return Birth(pid, core.memory(where, _RANDOM_BYTES))

# SPDX-License-Identifier: Apache-2.0
"""The code of a process against the files that it is from: a probe in it is a
byte that differs. And the BPF programs and links that are loaded."""

import ctypes
import os
import re
from contextlib import suppress

BREAKPOINT = 0xCC
PIECE = 1 << 12
_ROW = re.compile(
    r"([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) \S+ (\d+) +(/.*)\n"
)
_BPF = 321  # of <asm/unistd_64.h>
_PROG_GET_NEXT_ID, _LINK_GET_NEXT_ID = 11, 31


def _mapped_code(pid):
    """Rows: start, end, offset and path of the code of files."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            found = _ROW.fullmatch(line)
            if found:
                start, end, offset = (int(found[i], 16) for i in (1, 2, 3))
                yield start, end, offset, found[5].removesuffix(" (deleted)")


def _differences(memory, file, row):
    start, end, offset, _ = row
    for at in range(start, end, PIECE):
        ours = os.pread(file, PIECE, offset + at - start)
        theirs = os.pread(memory, len(ours), at)
        if ours != theirs:
            for i, (here, there) in enumerate(zip(ours, theirs)):
                if here != there:
                    yield at + i, there


def differences(pid):
    """{address: byte} of the code that is not as in its file."""
    found = {}
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        for row in _mapped_code(pid):
            with suppress(FileNotFoundError):
                file = os.open(row[3], os.O_RDONLY)
                found.update(_differences(memory, file, row))
                os.close(file)
    finally:
        os.close(memory)
    return found


def probes(pid):
    """The addresses of the code of a process that have a probe."""
    found = differences(pid)
    assert set(found.values()) <= {BREAKPOINT}, found
    return {*found}


def _numbers(command):
    attributes = (ctypes.c_uint32 * 4)(0)
    libc = ctypes.CDLL(None, use_errno=True)
    while not libc.syscall(_BPF, command, attributes, 16):
        yield attributes[1]
        attributes[0] = attributes[1]


def loaded():
    """The numbers of all BPF programs and links of the machine."""
    programs = {("program", n) for n in _numbers(_PROG_GET_NEXT_ID)}
    return programs | {("link", n) for n in _numbers(_LINK_GET_NEXT_ID)}

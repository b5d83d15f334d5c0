# SPDX-License-Identifier: Apache-2.0
"""A file and the page cache: put it out, see what came in, read just that."""

import ctypes
import mmap
import os
import time

PAGE = mmap.PAGESIZE
STEP = 64 << 20  # looked at in one go
READ = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                       ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def drop(path):
    """No page of the file is left in the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _present(fd, off, size):
    """A byte a page: is it in the page cache?"""
    vector = ctypes.create_string_buffer((size + PAGE - 1) // PAGE)
    addr = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, off)
    try:
        if _libc.mincore(addr, size, vector):
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        _libc.munmap(addr, size)
    return vector.raw


def cached_ranges(path):
    """(offset, size) of what the page cache holds of the file."""
    found = []
    with open(path, "rb") as file:
        end = os.fstat(file.fileno()).st_size
        for base in range(0, end, STEP):
            present = _present(file.fileno(), base, min(STEP, end - base))
            at = 0
            while (at := present.find(b"\1", at)) >= 0:
                stop = present.find(b"\0", at)
                stop = len(present) if stop < 0 else stop
                off = base + at * PAGE
                if found and sum(found[-1]) == off:
                    off = found.pop()[0]
                found.append((off, base + stop * PAGE - off))
                at = stop
    return found


def read(path, ranges):
    """Read them once, in order; milliseconds."""
    with open(path, "rb", buffering=0) as file:
        begin = time.monotonic()
        for off, size in ranges:
            for at in range(off, off + size, READ):
                os.pread(file.fileno(), min(READ, off + size - at), at)
        return (time.monotonic() - begin) * 1000

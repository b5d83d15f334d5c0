# SPDX-License-Identifier: Apache-2.0
"""Cores that are made once, and kept for other modules, other
processes of pytest-xdist and later runs.

A core lies in a folder `cores/KEY' of the cache, with the program's truth and
what else the program has left. KEY tells what goes into it: the program with
its toolchain and flags, and its files as they are, the arguments, the
environment, the kernel, the C library, and how it is made. Who uses it holds a
shared lock on `KEY.lock'. A core that was not used for a day is removed with
its lock, and the least recently used ones where all take too much of the disk.
"""

import fcntl
import functools
import hashlib
import json
import os
import shutil
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from toolchains import KEPT_S, cache_dir

MOST_BYTES = 6 << 30  # of all cores on the disk
MOST_BYTES_OF_ONE = 256 << 20
HOW = Path(__file__).with_name("targets.py")
PT_PHDR_AT, PT_COUNT_AT = 32, 56  # in the header of an ELF file


def folder():
    path = cache_dir() / "cores"
    path.mkdir(exist_ok=True)
    return path


def libc():
    """The C library that programs with cgo load: its core needs the same."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/libc.so" in line or "/libc-2" in line:
            return state(line.split(maxsplit=5)[5])
    return None


def state(path):
    """The identity of a file: another one of that name differs."""
    return str(path), os.stat(path).st_mtime_ns


@functools.cache
def contents(program):
    """A hash of the files in the folder of a program: built again, by another
    C compiler, it has another build id."""
    digest = hashlib.sha256()
    for file in sorted(program.iterdir()):
        if file.is_file():
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def key(exe, args, env, maker):
    """The name of the core's folder; the name of exe's says how it is built.
    maker: the kernel, or the file of the program that writes the core."""
    parts = (
        contents(exe.parent),
        list(map(str, args)),
        sorted((env or {}).items()),
        os.uname(),
        libc(),
        maker,
    )
    digest = hashlib.sha256(repr(parts).encode() + HOW.read_bytes())
    return f"{exe.parent.name}-{digest.hexdigest()[:16]}"


def is_whole(core):
    """Are all segments in the file? A full disk cuts a core off."""
    with open(core, "rb") as file:
        head = file.read(64)
        (begin,) = struct.unpack_from("<Q", head, PT_PHDR_AT)
        (count,) = struct.unpack_from("<H", head, PT_COUNT_AT)
        file.seek(begin)
        table = file.read(56 * count)
    size = os.stat(core).st_size
    rows = [struct.unpack_from("<6Q", table, 56 * i) for i in range(count)]
    return all(row[1] + row[4] <= size for row in rows)


def is_open_at(file, path):
    """Is the open file still the one of that name?"""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False


def disk_bytes(path):
    return sum(file.lstat().st_blocks << 9 for file in path.iterdir())


class Kept:
    """The cores that one farm uses, and holds the locks of."""

    def __init__(self):
        self._locks = {}

    def _lock(self, name, how):
        """Who removes a core removes its lock, which others may wait for."""
        path = folder() / f"{name}.lock"
        while True:
            if name not in self._locks:
                self._locks[name] = open(path, "w", encoding="ascii")
            fcntl.flock(self._locks[name], how)
            if is_open_at(self._locks[name], path):
                return
            self._drop(name)

    def find(self, name, make):
        """Path and truth of the core of that name. If there is none, make()
        gives path, truth, and the folder that is to be kept."""
        kept = folder() / name
        self._lock(name, fcntl.LOCK_SH)
        while not kept.exists():
            self._lock(name, fcntl.LOCK_EX)
            try:
                if not kept.exists():
                    core, truth, made = make()
                    size = disk_bytes(made)
                    if not is_whole(core) or size > MOST_BYTES_OF_ONE:
                        self._drop(name)
                        return core, truth
                    _move(made, kept, truth, core.name)
            except BaseException:
                self._drop(name)
                raise
            self._lock(name, fcntl.LOCK_SH)
        os.utime(kept)
        told = json.loads((kept / "truth.json").read_text())
        return kept / told["core"], told["truth"]

    def _drop(self, name):
        self._locks.pop(name).close()

    def close(self):
        for name in list(self._locks):
            self._drop(name)


def _move(made, kept, truth, name):
    """A half moved core has another name, also when it changes disks."""
    half = kept.with_name(f"{kept.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    subprocess.run(["mv", made, half], check=True)
    told = {"core": name, "truth": truth}
    (half / "truth.json").write_text(json.dumps(told))
    half.rename(kept)


def _remove(path):
    """Remove a core, or half of one, and its lock, unless somebody uses it.
    Did it go?"""
    lock_path = path.with_name(f"{path.name.removesuffix('.half')}.lock")
    with open(lock_path, "w", encoding="ascii") as lock:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_open_at(lock, lock_path):
                shutil.rmtree(path, ignore_errors=True)
                lock_path.unlink()
                return True
    return False


def sweep():
    """Remove what is old, and what is too much."""
    sizes, used = {}, {}
    for path in folder().iterdir():
        # Another run may sweep, too.
        with suppress(FileNotFoundError, NotADirectoryError):
            sizes[path] = disk_bytes(path)
            used[path] = path.stat().st_mtime
    total, now = sum(sizes.values()), time.time()
    for path in sorted(used, key=used.get):
        if now - used[path] <= KEPT_S and total <= MOST_BYTES:
            break
        if _remove(path):
            total -= sizes[path]
    for path in folder().glob("*.lock"):
        core = path.with_name(path.name.removesuffix(".lock"))
        if not core.exists():
            _remove(core)

# SPDX-License-Identifier: Apache-2.0
"""Files that `goref save' has written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import elf, native, shell
from .progress import Progress

if TYPE_CHECKING:
    from ._goref import Scan


def _read_nothing(_address: int, _length: int) -> bytes:
    raise OSError  # the file has all memory that there is


def _what_else(path: str) -> str | None:
    """What a file is that people take for a saved one, and how it is opened;
    None: the scanner will say what is wrong, if anything is."""
    if not os.path.isfile(path):
        return None
    packed = elf.how_packed(path)
    if packed:
        return packed
    name = elf.shown(path)
    if elf.is_core(path):
        return (
            f"{name} is a core, not a file of `goref save': open it with "
            f"`{shell.command('core', name)}'"
        )
    if elf.is_elf(path):
        return f"{name} is an executable, not a file of `goref save'"
    return None


def open_scan(
    path: str,
    progress: Progress,
    memory_limit: int | None,
    extent: str = "heap",
) -> Scan:
    """extent: what the question needs. A file has what it has: only the
    extents that record what is read, "save" and "save-values", differ."""
    goref = native.load()
    other = _what_else(path)
    if other:
        raise goref.FormatError(other)
    scan: Scan = goref.Scan(
        kind="saved",
        read=_read_nothing,
        modules=(),
        threads=(),
        progress=progress,
        memory_limit=memory_limit or 0,
        extent=extent if extent.startswith("save") else "goroutines",
        saved=path,
    )
    progress.clear()
    return scan


def identity(path: str) -> tuple[Any, ...]:
    """What tells that a file is still the same one. OSError: it is not
    there."""
    st = os.stat(path)
    return (
        os.path.abspath(path),
        st.st_dev,
        st.st_ino,
        st.st_size,
        st.st_mtime_ns,
    )

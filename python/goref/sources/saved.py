# SPDX-License-Identifier: Apache-2.0
"""A file that `goref save' has written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import elf, filenames, native, shell
from ..errors import Error
from .source import FileSource

if TYPE_CHECKING:
    from .._goref import Scan
    from ..progress import Progress

# Only these extents are opened as they are: they record what is read, or need
# no heap. For all others, the file is opened for goroutines and extended.
_OPENED = ("save", "save-values", "goroutines")


def _what_else(path: str) -> str | None:
    """The error message for a file of another kind, which says how to open it.
    None: the scanner finds out whether anything is wrong with the file."""
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


class Saved(FileSource):
    """A saved file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        filenames.check(filenames.absolute(path))
        self.path = path

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Scan:
        goref = native.load()
        other = _what_else(self.path)
        if other:
            raise goref.FormatError(other)
        scan: Scan = goref.Scan(
            kind="saved",
            read=self.read,
            modules=(),
            threads=(),
            progress=progress,
            memory_limit=memory_limit or 0,
            extent=extent if extent in _OPENED else "goroutines",
            saved=self.path,
        )
        if extent not in _OPENED:
            scan.extend(extent)
        return scan

    def identify(self) -> tuple[Any, ...]:
        """The file's identity, which changes when the file is written
        again."""
        try:
            st = os.stat(self.path)
        except OSError as problem:
            raise Error(f"goref: {self.path}: {problem.strerror}") from None
        return (st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns)

    def files(self) -> list[tuple[str, str]]:
        return [("saved file", self.path)]

# SPDX-License-Identifier: Apache-2.0
"""A core file, and the executable that it came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import elf, filenames, native, params
from ..errors import Error
from ..front import warn
from .source import FileSource

if TYPE_CHECKING:
    from .._goref import Scan
    from ..progress import Progress
    from ..render.overview import Stop


class Core(FileSource):
    """A core."""

    def __init__(self, core: str, exe: str | None = None) -> None:
        """exe: the executable; None: the one that the core names. Error: a
        file cannot be read, is not a core, or there is no executable."""
        super().__init__()
        for path in (exe, core):
            if path is not None:
                _check(path)
        wrong = elf.how_cut(core)
        if not wrong and not elf.is_core(core):
            wrong = f"{elf.shown(core)} is not a core file"
        if wrong:
            raise Error(f"goref: {wrong}")
        exe = self._find(core) if exe is None else exe
        self.exe = filenames.real_name(filenames.absolute(exe))
        self.core = filenames.absolute(core)

    def is_found(self) -> bool:
        """True if the core alone leads to this executable."""
        from .. import executable  # only needed here

        try:
            return os.path.samefile(executable.find(self.core).path, self.exe)
        except (executable.NotFoundError, OSError):
            return False

    def _find(self, core: str) -> str:
        from .. import executable  # only needed here

        try:
            found = executable.find(core)
        except executable.NotFoundError as problem:
            raise Error(f"goref: {problem}") from None
        if found.warning:
            self.notes.append(found.warning)
        filenames.check(found.path)
        return found.path

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Scan:
        goref = native.load()
        found = goref.core_modules(self.core, self.exe)
        for name in found.special:
            shown = elf.shown(name)
            self.notes.append(f"{shown} is not a regular file: left out")
        warn(self.notes)
        scan: Scan = goref.Scan(
            kind="core",
            read=self.read,
            modules=found.modules,
            threads=(),
            core=self.core,
            progress=progress,
            cache=params.cache(),
            memory_limit=memory_limit or 0,
            extent=extent,
            held=True,
        )
        return scan

    def files(self) -> list[tuple[str, str]]:
        return [("executable", self.exe), ("core", self.core)]

    def stop(self, scan: Scan) -> Stop | None:
        from .. import stop  # only a few questions need it

        return stop.of_core(scan, self.core)


def _check(path: str) -> None:
    """Error: the file cannot be read, or has to be unpacked first."""
    filenames.check(filenames.absolute(path))
    piped = elf.how_piped(path)
    if piped:
        raise Error(f"goref: {piped}")
    filenames.check_readable(path)
    wrong = elf.how_packed(path) or elf.how_cut(path)
    if wrong:
        raise Error(f"goref: {wrong}")

# SPDX-License-Identifier: Apache-2.0
"""The interface of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import Error

if TYPE_CHECKING:
    from .._goref import Scan
    from ..lifetime import Lifetime
    from ..progress import Progress
    from ..render.overview import Stop


class Source:
    """A source of the memory and the threads of one program."""

    is_whole = False
    """The scan reads everything when it is opened, and nothing later."""

    is_shared = False
    """Others use the source, too: a heap does not close it."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        """Notes about the program, one line each; open() sets them."""
        self.moves = 0
        """A number that grows whenever the program may have changed."""

    @property
    def pid(self) -> int | None:
        """The process; None: the source is a file, or the process is
        unknown."""
        return None

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Scan:
        """Open the program. extent: what the question needs; see Scan in
        _goref.pyi. Raises an error of the scanner, Error or
        KeyboardInterrupt."""
        raise NotImplementedError

    def identify(self) -> tuple[Any, ...]:
        """The identity of the program at its current stop. If two calls return
        the same, the program has not moved in between. Error: there is no
        program any more. A source that never changes returns ()."""
        return ()

    def extent(self, extent: str) -> str:
        """The extent with which to call open() for a question of an extent."""
        return extent

    def files(self) -> list[tuple[str, str]]:
        """The open files, which must not be overwritten: what each one is, and
        its path."""
        return []

    def lifetime(self) -> Lifetime | None:
        """The run of the program; None: the scan has to tell, if it can."""
        return None

    def stop(self, scan: Scan) -> Stop | None:
        """Why the program stopped; None: it runs on, or the reason is
        unknown."""
        return None

    def close(self) -> None:
        """Close the source; a process that is held goes on. May be called
        twice."""

    def address_of(self, text: str) -> int:
        """The address of an expression that goref's own tables do not know.
        Error, whose text continues a line: this source does not know it
        either."""
        raise Error("")


# Memory without pointers is read when it is asked for.
_LATER = {"values": "goroutines", "sites": "heap"}


class FileSource(Source):
    """A file, which is there as long as it is asked."""

    def extent(self, extent: str) -> str:
        return _LATER.get(extent, extent)

    @staticmethod
    def read(_address: int, _length: int) -> bytes:
        """The scanner reads the file itself; nothing else has memory."""
        raise OSError

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
    """Where the memory and the threads of one program come from."""

    is_whole = False
    """All that will ever be read is read when the scan is open."""

    is_shared = False
    """Others look at it, too: it is not for one user to close."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        """Lines for the person about what is looked at; open() sets them."""
        self.moves = 0
        """Grows whenever the program may have changed."""

    @property
    def pid(self) -> int | None:
        """The process; None: it is a file or not known."""
        return None

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Scan:
        """Open the program. extent: what the question needs; see Scan in
        _goref.pyi. The error of the scanner, Error or KeyboardInterrupt."""
        raise NotImplementedError

    def identify(self) -> tuple[Any, ...]:
        """Two equal answers mean the same program, unmoved between. Error:
        there is no program any more. A source that never changes returns
        nothing."""
        return ()

    def extent(self, extent: str) -> str:
        """What open() needs for a question of this extent."""
        return extent

    def files(self) -> list[tuple[str, str]]:
        """What the open files are, and their names: nothing may be written
        over them."""
        return []

    def lifetime(self) -> Lifetime | None:
        """The run of the program that was looked at; None: the scan or nobody
        knows."""
        return None

    def stop(self, scan: Scan) -> Stop | None:
        """Why the program stands still; None: it runs on."""
        return None

    def close(self) -> None:
        """Let go of the program. May be called twice."""

    def address_of(self, text: str) -> int:
        """The address that an expression is or has. goref's own tables do not
        know the expression; Error, in words that continue a line: nor does
        this source."""
        raise Error("")


# What is not pointers is read when it is asked for.
_LATER = {"values": "goroutines", "sites": "heap"}


class FileSource(Source):
    """A file, which is there as long as it is asked."""

    def extent(self, extent: str) -> str:
        return _LATER.get(extent, extent)

    @staticmethod
    def read(_address: int, _length: int) -> bytes:
        """The scanner reads the file itself; nothing else has memory."""
        raise OSError

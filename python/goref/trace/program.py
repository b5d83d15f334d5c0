# SPDX-License-Identifier: Apache-2.0
"""Is the program of a process still the one that was read?"""

from __future__ import annotations

import os

_WORD = 8  # bytes of pagemap for a page


class Program:
    """The program that a process runs as this is made."""

    def __init__(self, pid: int) -> None:
        """Never fails: what cannot be opened is not known."""
        # The file is about the memory of this program, and empties with it.
        try:
            self._fd = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)
        except OSError:
            self._fd = -1

    def has_gone(self) -> bool:
        """Has it ended, or has the process begun another one? False if that
        is not known."""
        if self._fd < 0:
            return False
        try:
            return not os.pread(self._fd, _WORD, 0)
        except OSError:
            return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

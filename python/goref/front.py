# SPDX-License-Identifier: Apache-2.0
"""The front end: where answers and notes go, and where settings come from.

There are three: a script (the default), the command line (cli.py), and gdb
(ingdb/front.py). The last two call use() when they start."""

from __future__ import annotations

import os
import sys

from . import elf, settings
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._goref import Scan
    from .sources import Source
    from .value import Value


class Front:
    """A script."""

    is_gdb = False

    def __init__(self) -> None:
        self.settings = dict(settings.DEFAULTS)

    def setting(self, name: str) -> object:
        """The value of a setting, as settings.DEFAULTS has it."""
        return self.settings[name]

    def write(self, text: str) -> None:
        """Write a piece of an answer."""
        sys.stdout.write(text)

    def note(self, text: str) -> None:
        """Write a note for the person at the terminal. In a script, this does
        nothing: the script reads Heap.warnings."""

    def is_news(self, line: str) -> bool:
        """True unless a command that runs once has printed this warning."""
        return True

    def flush(self) -> None:
        """Write what is buffered."""
        sys.stdout.flush()

    def has_line(self) -> bool:
        """Can a line of progress be drawn over on this terminal?"""
        try:
            return os.isatty(1) and os.environ.get("TERM", "dumb") != "dumb"
        except OSError:
            return False

    def has_color(self) -> bool:
        """True if answers go to a terminal that shows colors, and the user wants
        them (https://no-color.org)."""
        return False

    def may_draw(self) -> bool:
        """May progress be shown now? False if something else draws the
        screen."""
        return True

    def is_interactive(self) -> bool:
        """Does a person type commands here?"""
        return False

    def may_ask(self) -> bool:
        """Is there somebody who answers questions?"""
        return False

    def source(self, on_move: Callable[[Source], None]) -> Source:
        """The source that is used if no other one is named. on_move: called
        with the source when the program may have changed."""
        raise Error(
            "goref: goref.heap() is for scripts in gdb; elsewhere, use "
            "goref.core(), goref.open() or goref.attach()"
        )

    def gdb_value(
        self, source: Source, scan: Scan
    ) -> Callable[[Value], object] | None:
        """A function that makes a gdb.Value of a value; None outside of
        gdb."""
        return None

    def own_error(self, problem: BaseException) -> str | None:
        """The message of an error that is the front end's own (gdb.error);
        None for any other error."""
        return None


class Terminal(Front):
    """A process at a terminal."""

    def note(self, text: str) -> None:
        sys.stdout.flush()
        sys.stderr.write(text)
        sys.stderr.flush()


current = Front()


def use(front: Front) -> None:
    """Use another front end from now on."""
    global current
    current = front


def warn(lines: Iterable[str]) -> None:
    """Write warnings, one line each."""
    for line in lines:
        if current.is_news(line):
            current.note(f"warning: {elf.shown(line)}\n")

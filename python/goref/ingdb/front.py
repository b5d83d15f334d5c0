# SPDX-License-Identifier: Apache-2.0
"""gdb as the front end: its streams, its settings, its terminal."""

from __future__ import annotations

import os

import gdb

from ..front import Front

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .._goref import Scan
    from ..sources import Source
    from ..value import Value


def _is_batch() -> bool:
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return b"-batch" in words or b"--batch" in words


class GdbFront(Front):
    """The front end inside gdb."""

    is_gdb = True

    def setting(self, name: str) -> object:
        value: object = gdb.parameter(f"goref {name}")
        return value

    def write(self, text: str) -> None:
        gdb.write(text)

    def note(self, text: str) -> None:
        gdb.write(text, gdb.STDERR)

    def flush(self) -> None:
        gdb.flush()

    def may_draw(self) -> bool:
        """gdb draws the screen of its TUI itself."""
        if not self.has_line():
            return True
        try:
            text = str(gdb.execute("info win", to_string=True))
        except gdb.error:
            return True
        return "not active" in text

    def is_interactive(self) -> bool:
        return not _is_batch()

    def may_ask(self) -> bool:
        try:
            is_heard = os.isatty(0) and os.isatty(1) and not _is_batch()
        except OSError:
            return False
        return is_heard and bool(gdb.parameter("confirm"))

    def source(self, on_move: Callable[[Source], None]) -> Source:
        from ..sources.gdb import Gdb

        return Gdb(on_move)

    def gdb_value(
        self, source: Source, scan: Scan
    ) -> Callable[[Value], object] | None:
        from ..sources.gdb import Gdb
        from . import values

        if isinstance(source, Gdb):
            return values.of_memory
        return lambda value: values.of_saved(scan, value)

    def own_error(self, problem: BaseException) -> str | None:
        if isinstance(problem, gdb.error):
            return " ".join(str(problem).split())
        return None

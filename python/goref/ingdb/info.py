# SPDX-License-Identifier: Apache-2.0
"""info goref."""

import gdb

from ..errors import Error


class _Info(gdb.Command):
    """Show what goref knows of the current target.
    Usage: info goref

    The Go release, how its pointers are found, what was warned of, and the
    ledger of the last whole walk. Scans nothing."""

    def __init__(self) -> None:
        super().__init__("info goref", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        if arg.strip():
            raise Error("info goref takes no argument")
        from .. import native
        from ..render.info import info_text
        from ..session import current

        info = ledger = None
        if current.is_current():
            info = current.scan.info()
            if current.last is not None:
                ledger = current.last.ledger()
        text = info_text(native.load().VERSION, info, ledger, current.notes)
        gdb.write(text)


def register() -> None:
    _Info()

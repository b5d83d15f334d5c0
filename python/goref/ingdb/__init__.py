# SPDX-License-Identifier: Apache-2.0
"""goref as commands of gdb. With sources/gdb.py, these are the only modules that
import gdb. Every start of gdb may load this one: what a command needs is loaded
when it is first used."""

from __future__ import annotations

from ..front import use
from . import commands, functions, info, settings
from .front import GdbFront

_started = False


def start() -> None:
    """Register the commands, once."""
    global _started
    if _started:
        return
    use(GdbFront())
    settings.register()
    commands.register()
    info.register()
    functions.register()
    _started = True

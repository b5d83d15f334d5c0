# SPDX-License-Identifier: Apache-2.0
"""goref as commands of gdb. Only these modules and sources/gdb.py import gdb.
A start of gdb may load this module, so modules that only a command needs are
loaded when it is first used."""

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

# SPDX-License-Identifier: Apache-2.0
"""goref as commands of gdb. With sources/gdb.py, these are the only modules that
import gdb. Every start of gdb may load this one: what a command needs is loaded
when it is first used."""

from __future__ import annotations

from .. import native
from ..front import use
from . import commands, functions, info, settings
from .front import GdbFront

_started = False


def start(lib_dir: str | None, libexec_dir: str | None) -> None:
    """Register the commands. lib_dir holds _goref.abi3.so, libexec_dir the
    programs that run beside gdb; default: Python's path and lib_dir."""
    global _started
    # The first loader wins: Python and the module are of one installation.
    if lib_dir and not native.has_dirs():
        native.set_dirs(lib_dir, libexec_dir or lib_dir)
    if _started:
        return
    use(GdbFront())
    settings.register()
    commands.register()
    info.register()
    functions.register()
    _started = True

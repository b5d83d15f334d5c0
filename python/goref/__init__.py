# SPDX-License-Identifier: Apache-2.0
"""goref in gdb: who holds the memory of a Go program.

Importing this package changes nothing; start() registers the commands. The
native half, _goref, is loaded when a command first needs it. Scripts begin with
heap(); api.py has the classes.
"""

from __future__ import annotations

import signal

# Every start of gdb may import this module: it does without typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import (
        Frame,
        Goroutine,
        Heap,
        NoMemoryError,
        Object,
        Reference,
        Root,
        StaleError,
        Wait,
        heap,
        open,
        time_of,
    )

__all__ = [
    "Frame",
    "Goroutine",
    "Heap",
    "NoMemoryError",
    "Object",
    "Reference",
    "Root",
    "StaleError",
    "Wait",
    "heap",
    "is_started",
    "open",
    "start",
    "time_of",
]

_started = False


def __getattr__(name: str) -> Any:
    """The names of the API, which is loaded when one is first used."""
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def start(lib_dir: str | None = None, libexec_dir: str | None = None) -> None:
    """Register the commands. lib_dir holds _goref.abi3.so, libexec_dir the
    programs that run beside gdb; default: Python's path and lib_dir."""
    global _started
    # The script `goref` blocks it until all is loaded (ended.py).
    if signal.SIGINT in signal.sigpending():
        from . import ended

        if not ended.is_ignored(signal.SIGINT):
            raise KeyboardInterrupt
    from . import native

    # The first loader wins: Python and the module are of one installation.
    if lib_dir and not native.has_dirs():
        native.set_dirs(lib_dir, libexec_dir or lib_dir)
    if _started:
        return
    from . import commands, functions, readahead, settings

    readahead.end_with_gdb()
    settings.register()
    commands.register()
    functions.register()
    _started = True


def is_started() -> bool:
    """Do all commands and parameters exist? Ctrl-C may have come first."""
    return _started

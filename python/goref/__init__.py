# SPDX-License-Identifier: Apache-2.0
"""goref in gdb: who holds the memory of a Go program.

Importing this package changes nothing; start() registers the commands. The
native half, _goref, is loaded when a command first needs it.
"""

_started = False


def start(lib_dir: str | None = None) -> None:
    """Register the commands. lib_dir holds _goref.abi3.so."""
    global _started
    from . import native

    if lib_dir:
        native.set_lib_dir(lib_dir)
    if _started:
        return
    from . import ahead, commands, info, params, session

    ahead.end_with_gdb()
    params.register()
    commands.register()
    info.register()
    session.register()
    _started = True


def is_started() -> bool:
    """Whether all commands and parameters are there: Ctrl-C may come first."""
    return _started

# SPDX-License-Identifier: Apache-2.0
"""goref: who holds the memory of a Go program.

    import goref
    with goref.core("core.1234") as heap:
        print(heap.ledger)

core(), open() and attach() give the heap of a core, of a file of `goref save'
and of a process. In gdb, heap() gives the heap of the program that gdb looks
at. api.py has the classes. Importing this package starts nothing: the native
module _goref is loaded when it is first needed.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):
    raise ImportError(
        "goref needs Python 3.11 or newer; this is %d.%d"
        % sys.version_info[:2]
    )

# A start of gdb may import this module, so it does not import typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import (
        Error,
        Frame,
        Goroutine,
        Heap,
        Local,
        Locals,
        NoFieldError,
        NoMemoryError,
        NotInGdbError,
        Object,
        Reference,
        Root,
        StaleError,
        UnknownTypeError,
        Value,
        Wait,
        attach,
        core,
        heap,
        open,
        time_of,
    )

__all__ = [
    "Error",
    "Frame",
    "Goroutine",
    "Heap",
    "Local",
    "Locals",
    "NoFieldError",
    "NoMemoryError",
    "NotInGdbError",
    "Object",
    "Reference",
    "Root",
    "StaleError",
    "UnknownTypeError",
    "Value",
    "Wait",
    "attach",
    "core",
    "heap",
    "open",
    "time_of",
]


def __getattr__(name: str) -> Any:
    """The names of the API, which is loaded when one is first used."""
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The API."""
    return sorted(__all__)


def start() -> None:
    """Register the commands of gdb."""
    from . import ingdb

    ingdb.start()

# SPDX-License-Identifier: Apache-2.0
"""The errors of goref that are meant for a person.

str() of such an error is one line. In gdb, the base derives from gdb.GdbError,
which gdb prints without a traceback."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Base = Exception
else:
    # Inside gdb, the module gdb is loaded before any other.
    _gdb = sys.modules.get("gdb")
    _Base = getattr(_gdb, "GdbError", Exception)


class Error(_Base):
    """goref cannot do what it was asked; str() says why in one line."""


class StaleError(Error):
    """The program has run on, or the heap is closed."""


class NoMemoryError(Error):
    """The memory of the value is missing."""


class UnknownTypeError(Error):
    """There is no type of that name."""


class NoFieldError(Error, KeyError, AttributeError):
    """The struct has no field of that name."""

    # KeyError would print quotes around the text.
    __str__ = Exception.__str__


class NotInGdbError(Error, AttributeError):
    """Value.gdb was used outside of gdb."""

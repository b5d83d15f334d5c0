# SPDX-License-Identifier: Apache-2.0
"""The base of all errors that goref raises for a person to read.

str() of such an error is one line. In gdb, the base derives from gdb.GdbError,
which gdb prints without a traceback."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Base = Exception
else:
    # gdb's own interpreter has the module from its start.
    _gdb = sys.modules.get("gdb")
    _Base = getattr(_gdb, "GdbError", Exception)


class Error(_Base):
    """goref cannot do what it was asked; str() says why in one line."""

# SPDX-License-Identifier: Apache-2.0
"""What a person typed becomes a place in the target's memory."""

from typing import Any

import gdb

from . import native

Place = tuple[str, int, int, bool, int]  # as _goref.pyi has it

NO_TYPE = 0xFFFFFFFF
_MASK = 0xFFFFFFFFFFFFFFFF
_POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF)
_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_CHAR)


class _Neutral:
    """C, and no calls: gdb 13 aborts on some expressions in language Go, and
    a question must not run the program."""

    settings = (("language", "c"), ("may-call-functions", "off"))

    def __enter__(self) -> None:
        self.saved = []
        for name, value in self.settings:
            old = gdb.parameter(name)
            old = {True: "on", False: "off"}.get(old, old)
            self.saved.append((name, old))
            gdb.execute(f"set {name} {value}", to_string=True)

    def __exit__(self, *_: object) -> None:
        for name, value in self.saved:
            gdb.execute(f"set {name} {value}", to_string=True)


def _gdb_address(text: str) -> int:
    """The address that an expression is or has; gdb.error if none."""
    with _Neutral():
        value = gdb.parse_and_eval(text)
        kind = value.type.strip_typedefs().code
        if kind in _POINTERS or kind in _NUMBERS:
            return int(value) & _MASK
        if value.address is None:
            raise gdb.error("it has no address")
        return int(value.address) & _MASK


def place(scan: Any, text: str) -> Place:
    """Our own tables first, gdb's evaluator last."""
    goref = native.load()
    try:
        resolved: Place = scan.resolve(text)
        return resolved
    except goref.NotFoundError as problem:
        ours = str(problem)
    except goref.ArgumentError as problem:
        raise gdb.GdbError(f"goref: {problem}") from None
    try:
        return (text, _gdb_address(text), NO_TYPE, False, 0)
    except (gdb.error, RuntimeError, ValueError, OverflowError) as problem:
        reason = " ".join(str(problem).split()).rstrip(".")
        raise gdb.GdbError(f"goref: {ours}; gdb: {reason}") from None

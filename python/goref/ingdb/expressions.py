# SPDX-License-Identifier: Apache-2.0
"""Evaluates expressions and looks up types by gdb."""

from __future__ import annotations

from typing import Any

import gdb

from ..errors import Error

_MASK = 0xFFFFFFFFFFFFFFFF
_POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF)
_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_CHAR)


class Neutral:
    """A context in which gdb evaluates expressions in language C and calls no
    functions: gdb 13 aborts on some expressions in language Go, and a question
    must not run the program."""

    settings = (("language", "c"), ("may-call-functions", "off"))

    def __enter__(self) -> None:
        self.saved = []
        for name, value in self.settings:
            old: Any = gdb.parameter(name)
            old = {True: "on", False: "off"}.get(old, old)
            self.saved.append((name, old))
            gdb.execute(f"set {name} {value}", to_string=True)

    def __exit__(self, *_: object) -> None:
        for name, value in self.saved:
            gdb.execute(f"set {name} {value}", to_string=True)


def _gdb_address(text: str) -> int:
    """The address that an expression is or has; gdb.error if none."""
    with Neutral():
        value = gdb.parse_and_eval(text)
        kind = value.type.strip_typedefs().code
        if kind in _POINTERS or kind in _NUMBERS:
            number = int(value)
        elif value.address is None:
            raise gdb.error("it has no address")
        else:
            number = int(value.address)
    if not 0 <= number <= _MASK:
        raise gdb.error(f"{number} is not an address")
    return number


def address(text: str) -> int:
    """The address that an expression is or has; Error if gdb knows none."""
    try:
        return _gdb_address(text)
    except (gdb.error, RuntimeError, ValueError, OverflowError) as problem:
        reason = " ".join(str(problem).split()).rstrip(".")
        raise Error(f"gdb: {reason}") from None


def type_of_name(name: str) -> Any:
    """The type that gdb knows by the name of a Go type; gdb.error if none."""
    gdb_: Any = gdb  # mypy's stubs have little of it
    if not name.startswith("go."):
        return gdb_.lookup_type(name)
    # gdb takes `go.uber.org/zap.Logger' for a name that gccgo has mangled, in
    # every lookup. The linker lists all types beside those of the runtime.
    known = gdb_.lookup_static_symbol("runtime.g")
    is_type = gdb_.SYMBOL_LOC_TYPEDEF
    for symbol in known.symtab.static_block() if known else ():
        if symbol.name == name and symbol.addr_class == is_type:
            return symbol.type
    raise gdb.error(f"No type named {name}.")

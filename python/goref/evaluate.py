# SPDX-License-Identifier: Apache-2.0
"""Turns an expression that the user typed into a place in memory."""

import re
from typing import Any

import gdb

from . import native
from .session import current

Place = tuple[str, int, int, bool, int]  # as _goref.pyi has it

NO_TYPE = 0xFFFFFFFF
_MASK = 0xFFFFFFFFFFFFFFFF
_POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF)
_UNDERSTOOD = (
    "goref understands variables and conversions ((*main.T)(0xc000012345)) "
    "with fields (main.cache.head) and constant indexes (main.users[3]), and "
    "& before them"
)
_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_CHAR)


class Neutral:
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


def place(scan: Any, text: str) -> Place:
    """Evaluate an expression: by our own tables, or else by gdb."""
    goref = native.load()
    # gdb would read an int of C at that address.
    bare = re.fullmatch(r"\s*\*\s*(0[xX][0-9a-fA-F]+|\d+)\s*", text)
    if bare:
        raise gdb.GdbError(
            f"goref: {text}: of what type? Write {bare[1]}, or with its type "
            f"*(*main.T)({bare[1]})"
        )
    try:
        resolved: Place = scan.resolve(text)
        return resolved
    except goref.NotFoundError as problem:
        ours = str(problem)
        if _is_type(scan, text):
            raise gdb.GdbError(
                f"goref: {text} is a type, not a variable; `goref why --type "
                f"{text}' says what holds its objects"
            ) from None
    except goref.ArgumentError as problem:
        raise gdb.GdbError(f"goref: {problem}") from None
    if current.is_kept or scan.info().kind == "saved":
        # The process has gone on, or is another one: gdb cannot read it.
        raise gdb.GdbError(f"goref: {ours}")
    try:
        return (text, _gdb_address(text), NO_TYPE, False, 0)
    except (gdb.error, RuntimeError, ValueError, OverflowError) as problem:
        reason = " ".join(str(problem).split()).rstrip(".")
        if "syntax error" in reason and re.match(r"[*&]*[\w/]+\.\w", text):
            # In C, which is not what was written.
            reason = _UNDERSTOOD
        else:
            reason = f"gdb: {reason}"
        raise gdb.GdbError(f"goref: {ours}; {reason}") from None


def _is_type(scan: Any, text: str) -> bool:
    """Is this the name of a type of the program?"""
    try:
        scan.resolve(f"(*{text.strip()})(0x1)")
    except native.load().Error:
        return False
    return True


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


def held_by(scan: Any, text: str, limits: Any) -> Place:
    """A place to begin a walk at: a variable, or an object. limits: as
    scan.why() takes them."""
    found = place(scan, text)
    name, address, type_, is_variable, value = found
    if is_variable:
        return found
    if value:
        address = value  # of a variable whose type is not known
    answer = scan.why(address, *limits)
    if not answer.is_object:
        raise gdb.GdbError(
            f"goref: {text} is not an object of the heap: "
            f"{answer.description}"
        )
    if type_ == NO_TYPE and answer.type and not answer.offset:
        type_ = _type_of_struct(scan, answer.type, address)
    return (name, address, type_, False, value)


def _type_of_struct(scan: Any, name: str, address: int) -> int:
    """The number of the type that goref why has for an object. The array of a
    slice, the bytes of a string, the parts of a map go by the type of what
    refers to them: only a struct or an array is what it is called."""
    if not re.fullmatch(r"[\w./*\[\]\-]+", name) or name[0] == "*":
        return NO_TYPE
    if name.startswith(("[]", "map[", "chan", "func")) or name == "string":
        return NO_TYPE
    try:
        type_: int = scan.resolve(f"(*{name})({address:#x})")[2]
        return type_
    except native.load().Error:
        return NO_TYPE

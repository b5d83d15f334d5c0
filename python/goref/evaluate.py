# SPDX-License-Identifier: Apache-2.0
"""Turns an expression that the user typed into a place in memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import native
from .errors import Error
from .render import block as of_block
from .session import current

if TYPE_CHECKING:
    from .sources import Source

Place = tuple[str, int, int, bool, int]  # as _goref.pyi has it

NO_TYPE = 0xFFFFFFFF
# A text that is meant as the name of a variable.
_NAME = r"[A-Za-z_][^\s()*&]*"
_UNDERSTOOD = (
    "goref understands addresses, variables and conversions "
    "((*main.T)(0xc000012345)) with fields (main.cache.head) and constant "
    "indexes (main.users[3]), and & before them"
)


def place(scan: Any, text: str, source: Source | None = None) -> Place:
    """Evaluate an expression by goref's own tables or else by the source. The
    default source is that of the session."""
    goref = native.load()
    # gdb would read an int of C at that address.
    bare = re.fullmatch(r"\s*\*\s*(0[xX][0-9a-fA-F]+|\d+)\s*", text)
    if bare:
        raise Error(
            f"goref: {text}: of what type? Write {bare[1]}, or with its type "
            f"*(*main.T)({bare[1]})"
        )
    try:
        resolved: Place = scan.resolve(text)
        return resolved
    except goref.NotFoundError as problem:
        ours = str(problem)
        if _is_type(scan, text):
            raise Error(
                f"goref: {text} is a type, not a variable; `goref why --type "
                f"{text}' says what holds its objects"
            ) from None
    except goref.ArgumentError as problem:
        raise Error(f"goref: {problem}") from None
    try:
        source = source or current.source
        assert source
        return (text, source.address_of(text), NO_TYPE, False, 0)
    except Error as problem:
        if ours.endswith("?"):
            # It is similar to a name, and probably meant as that.
            raise Error(f"goref: {ours}") from None
        reason = str(problem)
        is_go = re.match(r"[*&]*[\w/]+\.\w", text)
        if "syntax error" in reason and is_go:
            # In C, which is not what was written.
            reason = _UNDERSTOOD
        if not reason and not re.fullmatch(_NAME, text.strip()):
            reason = f"{_UNDERSTOOD}; in gdb, gdb's expressions, too"
    raise Error(f"goref: {ours}" + (f"; {reason}" if reason else ""))


def _is_type(scan: Any, text: str) -> bool:
    """Is this the name of a type of the program?"""
    try:
        scan.resolve(f"(*{text.strip()})(0x1)")
    except native.load().Error:
        return False
    return True


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
        raise Error(
            f"goref: {text} is not an object of the heap: "
            f"{what_instead(scan, answer)}"
        )
    if type_ == NO_TYPE and answer.type and not answer.offset:
        type_ = _type_of_struct(scan, answer.type, address)
    return (name, address, type_, False, value)


def what_instead(scan: Any, answer: Any) -> str:
    """The memory at an address in no object of Go. Only a block of C has no
    description."""
    if answer.description:
        return str(answer.description)
    block = scan.object_info(answer.addr, 0, 0)
    return (
        f"{block.type or of_block.NAME}, {block.bytes:,} bytes at "
        f"{block.base_addr:#x} (`goref object' describes it)"
    )


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

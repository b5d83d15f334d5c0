# SPDX-License-Identifier: Apache-2.0
"""Makes a gdb.Value of a goref.Value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb

from .. import elf
from ..errors import Error, NoMemoryError
from . import expressions, target

if TYPE_CHECKING:
    from .._goref import Scan
    from ..value import Value

gdb_: Any = gdb  # mypy's stubs have little of it


def of_memory(value: Value) -> Any:
    """A gdb.Value in the memory that gdb has, or of bytes of registers."""
    try:
        type_ = expressions.type_of_name(value.type)
        if value.address is None:
            return gdb_.Value(value.content()[: type_.sizeof], type_)
        pointer = gdb_.Value(value.address).cast(type_.pointer())
        made = pointer.dereference()
        made.fetch_lazy()
    except gdb_.MemoryError as problem:
        raise NoMemoryError(f"goref: {problem}") from None
    except (gdb.error, ValueError) as problem:
        raise Error(
            f"goref: gdb has no value of type {value.type}: {problem}"
        ) from None
    return made


def of_saved(scan: Scan, value: Value) -> Any:
    """A gdb.Value of a heap that is not gdb's: a saved file, a core, a process.
    The heap has the bytes and gdb the type, if it has opened the executable."""
    info = scan.info()
    content = value.content()
    other = (
        f"use `goref open {info.saved_path} object --print'"
        if info.saved_path
        else "use str()"
    )
    exe = target.exe_path(gdb.selected_inferior())
    if not exe or not elf.has_build_id(exe, info.build_id or ""):
        why = (
            f"{exe} does not have the build id of the saved program"
            if exe
            else "gdb needs the executable for the types of values"
        )
        raise Error(
            f"goref: {why}: write `file {info.exe_path}' first, or {other}"
        )
    try:
        type_ = expressions.type_of_name(value.type)
        return gdb_.Value(content[: type_.sizeof], type_)
    except (gdb.error, ValueError) as problem:
        raise Error(
            f"goref: gdb has no value of type {value.type}: {problem}; "
            f"{other}"
        ) from None

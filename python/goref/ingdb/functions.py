# SPDX-License-Identifier: Apache-2.0
"""Convenience functions for gdb's expressions: print $_goref_size($rax)."""

from __future__ import annotations

import gdb

from ..errors import Error

# The rest is loaded at the first call: every start of gdb may register these.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._goref import Why

    class _Function:  # the stubs of gdb have none
        def __init__(self, name: str) -> None:
            ...

else:
    _Function = gdb.Function


_MASK = (1 << 64) - 1


def _address(name: str, values: tuple[gdb.Value, ...]) -> int:
    """The only argument of a function: an address, or what points there."""
    if len(values) != 1:
        raise Error(f"goref: ${name} takes one address")
    try:
        address = int(values[0])
    except (gdb.error, TypeError, ValueError, OverflowError) as problem:
        raise Error(
            f"goref: ${name} takes an address or a pointer: {problem}"
        ) from None
    if not 0 <= address <= _MASK:
        raise Error(f"goref: ${name}: {address} is not an address")
    return address


def _object(address: int) -> Why:
    from .. import evaluate
    from ..commands.base import why_limits
    from ..session import running

    with running() as scan:
        found: Why = scan.why(address, *why_limits("nearest"))
        if not found.is_object:
            raise Error(
                f"goref: {found.addr:#x} is not an object of the heap: "
                f"{evaluate.what_instead(scan, found)}"
            )
    return found


class _Type(_Function):
    """Type of the object at an address, as text; "" if it is not known.
    Usage: $_goref_type (ADDRESS)"""

    def __init__(self) -> None:
        super().__init__("_goref_type")

    def invoke(self, *values: gdb.Value) -> str:
        return _object(_address("_goref_type", values)).type or ""


class _Size(_Function):
    """Bytes of the object at an address.
    Usage: $_goref_size (ADDRESS)"""

    def __init__(self) -> None:
        super().__init__("_goref_size")

    def invoke(self, *values: gdb.Value) -> int:
        return _object(_address("_goref_size", values)).bytes


class _Retained(_Function):
    """Bytes that only the object at an address keeps alive.
    Usage: $_goref_retained (ADDRESS)

    A command that shows retained sizes must have run before at this stop, such
    as `goref dominators'."""

    def __init__(self) -> None:
        super().__init__("_goref_retained")

    def invoke(self, *values: gdb.Value) -> int:
        address = _address("_goref_retained", values)
        from .. import evaluate
        from ..session import current

        scan = current.scan if current.is_current() else None
        if scan is None or not scan.has_retained():
            raise Error(
                "goref: $_goref_retained needs retained sizes: run `goref "
                "dominators' first"
            )
        place = ("", address, evaluate.NO_TYPE, False, 0)
        vertex = scan.find(place)
        row = None if vertex is None else scan.vertex(vertex, True)
        if row is None or row.is_leaked:
            raise Error(
                f"goref: no reached object of the heap is at {address:#x}"
            )
        retained: int = row.retained_bytes
        return retained


def register() -> None:
    _Type()
    _Size()
    _Retained()

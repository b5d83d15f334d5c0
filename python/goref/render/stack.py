# SPDX-License-Identifier: Apache-2.0
"""Which calls of a goroutine a person sees first: those of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .units import counted

if TYPE_CHECKING:
    from .._goref import Backtrace, Call, Location

_WAITING = ("runtime.", "sync.", "internal/", "runtime/", "sync/")
_C_CALL = "._Cfunc_"
_RUNTIME = "/runtime/"

# The first elements of the paths of Go's own packages.
_LIBRARY = frozenset(
    """archive arena bufio builtin bytes cmd cmp compress container context
    crypto database debug embed encoding errors expvar flag fmt go hash html
    image index internal io iter log maps math mime net os path plugin reflect
    regexp runtime simd slices sort strconv strings structs sync syscall
    testing text time unicode unique unsafe uuid vendor weak""".split()
)


def place(at: Location) -> str:
    """`main.f at FILE:LINE', the file without its folders."""
    name = (at.file or "?").rpartition("/")[2]
    return f"{at.function or '?'} at {name}:{at.line}"


def c_function(at: Location) -> str | None:
    """`C.f' if the place is the call of a function of C."""
    _package, is_c, name = (at.function or "").partition(_C_CALL)
    return f"C.{name}" if is_c else None


def is_library(at: Location) -> bool:
    """True if the function's package has the name of one of Go's own."""
    package, _, name = (at.function or "").rpartition("/")
    first = (package or name.partition(".")[0]).partition("/")[0]
    return first in _LIBRARY


def own_call(calls: Sequence[Call]) -> Call | None:
    """The innermost call that is not Go's own library's."""
    roots = _roots(calls)
    return next((call for call in calls if _is_own(call.at, roots)), None)


def _roots(calls: Sequence[Call]) -> tuple[str, ...]:
    """The folders of the library, by the files of the runtime."""
    return tuple(
        {
            call.at.file.rpartition(_RUNTIME)[0] + "/"
            for call in calls
            if (call.at.function or "").startswith("runtime.")
            and call.at.file
            and call.at.file.startswith("/")
            and _RUNTIME in call.at.file[1:]
        }
    )


def _is_own(at: Location, roots: tuple[str, ...]) -> bool:
    if not at.file or at.file.startswith("<") or c_function(at):
        return False
    if at.file.startswith("/"):
        return not at.file.startswith(roots)
    # Built with -trimpath: the file begins with the path of the package.
    first = at.file.partition("/")[0]
    is_main = (at.function or "").startswith("main.")
    return is_main or first not in _LIBRARY


def stack_lines(backtrace: Backtrace, max_calls: int) -> list[str]:
    """The innermost calls, without the functions that wait, and the program's
    own one, however deep it lies."""
    calls = [call for call in backtrace.calls if not _is_waiting(call)]
    own = own_call(backtrace.calls)
    at = calls.index(own) if own in calls else 0
    if at < max_calls:
        lines = _lines(calls[:max_calls])
        left = len(calls) - max_calls
    else:
        between = at - max_calls + 1
        lines = _lines(calls[: max_calls - 1])
        lines.append(f"      {counted(between, 'call')} of Go's library")
        lines += _lines(calls[at : at + 1])
        left = len(calls) - at - 1
    if left > 0:
        lines.append(f"      and {counted(left, 'more call')}")
    return lines


def _lines(calls: Sequence[Call]) -> list[str]:
    return [f"      {place(call.at)}" for call in calls]


def _is_waiting(call: Call) -> bool:
    return (call.at.function or "").startswith(_WAITING)

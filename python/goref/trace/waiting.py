# SPDX-License-Identifier: Apache-2.0
"""Whether the goroutines that should free memory wait, for what, and for how
long, as the look at the end of a trace finds them.

A goroutine that is in a call of the kernel or of C is not proven to wait. The
time for which one has waited is a lower bound, and is known only if a garbage
collection has seen it wait."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from .. import native
from ..render.goroutine_wait import wait_text
from ..render.stack import c_function, place
from ..render.units import counted

if TYPE_CHECKING:
    from .._goref import Goroutine, Scan

_MOST_AWAITED = 32  # goroutines that are asked what they wait for
_RUN = ("running", "runnable", "preempted")


class Wait(NamedTuple):
    """A goroutine at the end of a trace.

    is_waiting: None: it is not known, as in a call of the kernel or of C.
    reason: as verbs print it: "chan receive", "syscall", "running".
    seconds: it has waited at least so long; None: not known.
    function, place: the user's innermost call; None: not known. place is
        `main.f at FILE:LINE`.
    c_function: the function of C that it has called, `C.f`; or None.
    awaits: what it waits for, in the words that `goroutine ID wait` prints
        after "It waits"; None: not known, or beyond the first few goroutines.
    is_woken: what it waits for has come, so it is about to run."""

    goroutine_id: int
    is_waiting: bool | None
    reason: str
    seconds: float | None
    function: str | None
    place: str | None
    c_function: str | None
    awaits: str | None = None
    is_woken: bool = False


def waits_of(scan: Scan, ids: Collection[int]) -> dict[int, Wait]:
    """The waits of goroutines, by id. Goroutines that have ended have none."""
    wanted = frozenset(ids)
    if not wanted:
        return {}
    rows = scan.goroutines((), with_system=True).rows
    found = {row.id: _of_row(row) for row in rows if row.id in wanted}
    asked = 0
    for number, wait in found.items():
        if asked == _MOST_AWAITED:
            break
        if wait.is_waiting is not False:
            found[number] = _with_awaited(scan, wait)
            asked += 1
    return found


def _is_waiting(state: str) -> bool | None:
    if state == "waiting":
        return True
    return False if state in _RUN else None


def _of_row(row: Goroutine) -> Wait:
    at = row.user if row.user.function else row.current
    return Wait(
        goroutine_id=row.id,
        is_waiting=_is_waiting(row.state),
        reason=row.wait_reason or row.state,
        seconds=None if row.waited_ns is None else row.waited_ns / 10**9,
        function=at.function,
        place=place(at) if at.function else None,
        c_function=c_function(row.user),
    )


def _with_awaited(scan: Scan, wait: Wait) -> Wait:
    """The same wait with its `awaits', without the value that it sends."""
    try:
        found = scan.goroutine_wait(wait.goroutine_id, False)
    except (native.load().Error, MemoryError):
        return wait
    if not found.waits:
        return wait
    first = found.waits[0]
    text = wait_text(first, found.goroutine)
    if first.value:
        text = text.removesuffix(f"; sends {first.value}")
    others = len(found.waits) - 1
    if others:
        text += f", or for {counted(others, 'other case')} of a select"
    return wait._replace(awaits=text, is_woken=first.is_woken)

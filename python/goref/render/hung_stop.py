# SPDX-License-Identifier: Apache-2.0
"""goref hung: what keeps all goroutines from running: the program has ended, or
the scheduler runs none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .panic import fault_text, is_sent
from .scheduler import scheduler_cause
from .stack import place

if TYPE_CHECKING:
    from .._goref import Panic, Scheduler

_PER_P = 8  # runnable goroutines: a busy service has some


def ended_text(panic: Panic | None) -> str:
    """The cause of the program's end, without values of it; "" if nothing did,
    or if somebody has sent a signal to see it."""
    if not panic or not panic.kind or panic.kind == "panicking":
        return ""
    text: str = panic.kind
    if panic.kind == "signal":
        if is_sent(panic) or not panic.signal:
            return ""
        text = fault_text(panic)
    elif panic.kind == "fatal error":
        text += f": {panic.fatal_text}" if panic.fatal_text else ""
    elif panic.values and panic.values[-1].type:
        text += f" ({panic.values[-1].type})"
    row = panic.goroutine
    where = f"; goroutine {row.id}" if row else ""
    if row and row.user.function:
        where += f" in {place(row.user)}"
    return f"ended by {' '.join(text.split())}{where}"


def scheduler_text(found: Scheduler | None, most_waiting: int) -> str:
    """The cause, if it is the scheduler: the world is about to stop and waits
    for a goroutine, or more goroutines are runnable than wait anywhere, and
    nothing runs them."""
    if not found or found.is_freezing or not found.is_known:
        return ""
    if found.is_stopping:
        return scheduler_cause(found) if found.stop_wait else ""
    if found.is_user_disabled:
        return scheduler_cause(found)
    has_idle = any(p.status == "idle" for p in found.ps)
    if has_idle or found.runnable <= max(most_waiting, _PER_P * len(found.ps)):
        return ""
    return scheduler_cause(found)


def runnable_text(found: Scheduler | None) -> str:
    """A sentence that names no cause, if more goroutines are runnable than the
    Ps can run."""
    if not found or not found.is_known or found.runnable <= len(found.ps):
        return ""
    if any(p.status == "idle" for p in found.ps):
        return ""
    return scheduler_cause(found)

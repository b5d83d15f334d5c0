# SPDX-License-Identifier: Apache-2.0
"""Finds out from gdb why the program stopped. The user's thread and frame stay
selected."""

from typing import Any

import gdb

from .. import procfs
from ..render.overview import Signal, Stop
from ..stop import BY_PROCESS, OF_DEBUGGERS, WITH_ADDRESS, name_of
from . import target
from .expressions import Neutral


def _number(expression: str) -> int | None:
    """None: gdb cannot tell."""
    try:
        with Neutral():
            return int(gdb.parse_and_eval(expression))
    except (gdb.error, RuntimeError, ValueError, OverflowError):
        return None


def _signal(inferior: Any) -> Signal | None:
    """The signal that ended the program of a core or stopped the process."""
    number = _number("$_siginfo.si_signo")
    is_core = target.kind_of(inferior) == "core"
    if is_core:
        ended = gdb.convenience_variable("_exitsignal")
        if ended is None:
            return None
        is_known = int(ended) == number
        number = int(ended)
    else:
        is_known = True
    if not number or number in OF_DEBUGGERS:
        return None
    signal_ = Signal(name_of(number))
    return _with_details(signal_, number) if is_known else signal_


def _with_details(found: Signal, number: int) -> Signal:
    """Add the sender or the address of the fault from siginfo."""
    code = _number("$_siginfo.si_code")
    if code is None:
        return found
    if code <= BY_PROCESS:
        sender = _number("$_siginfo._sifields._kill.si_pid")
        return found._replace(sent_by=sender)
    if number in WITH_ADDRESS:
        place = "$_siginfo._sifields._sigfault.si_addr"
        return found._replace(addr=_number(f"(unsigned long) {place}"))
    return found


def _thread(inferior: Any) -> Any:
    """The thread that got the signal: the first one of a core, or the one that
    gdb has selected in a process."""
    if target.kind_of(inferior) == "core":
        threads = sorted(inferior.threads(), key=lambda t: int(t.num))
        return threads[0] if threads else None
    return gdb.selected_thread()


def reason(scan: Any) -> Stop | None:
    inferior = gdb.selected_inferior()
    thread = _thread(inferior)
    if thread is None:
        return None
    tid = thread.ptid[1]
    if not tid:
        return None  # a core of a processor that this gdb does not know
    own = tid
    if target.kind_of(inferior) == "native":
        own = procfs.own_tid(inferior.pid, tid)
    return Stop(
        pid=inferior.pid,
        thread=tid,
        goroutine_id=scan.goroutine_of_thread(own),
        signal=_signal(inferior),
    )

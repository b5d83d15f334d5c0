# SPDX-License-Identifier: Apache-2.0
"""The reason why the program stopped, from its source or from a saved file."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from . import native
from .render.overview import Signal, Stop
from .session import current

if TYPE_CHECKING:
    from ._goref import CoreFacts

# Debuggers stop a process by these signals; gcore leaves them in its cores.
OF_DEBUGGERS = (signal.SIGTRAP, signal.SIGSTOP, signal.SIGINT)
# These come with the address of a fault if the kernel has sent them.
WITH_ADDRESS = (
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
)
BY_PROCESS = 0  # si_code is this or less if a process has sent the signal


def name_of(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _signal(facts: CoreFacts) -> Signal | None:
    """The signal that ended the program of a core."""
    number, code = facts.signal, facts.signal_code
    if not number or number in OF_DEBUGGERS:
        return None
    found = Signal(name_of(number))
    if code is None:
        return found
    if code <= BY_PROCESS:
        return found._replace(sent_by=facts.sender_pid)
    if number in WITH_ADDRESS:
        return found._replace(addr=facts.fault_addr)
    return found


def of_core(scan: Any, path: str) -> Stop | None:
    """The reason why the program of a core ended. None: the core has no
    thread."""
    facts = native.load().core_facts(path)
    if not facts.thread_ids:
        return None
    thread = facts.thread_ids[0]
    return Stop(
        facts.pid, thread, scan.goroutine_of_thread(thread), _signal(facts)
    )


def pack(stop: Stop | None) -> str | None:
    """The stop as text, for a saved file."""
    import json  # only needed here

    return None if stop is None else json.dumps(stop)


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int)


def _unpack(text: str | None) -> Stop | None:
    """The stop that a file has; None if its text makes no sense."""
    import json  # only needed here

    try:
        pid, thread, goroutine_id, sent = json.loads(text or "null")
        found = None
        if sent is not None:
            name, sent_by, addr = sent
            found = Signal(str(name), sent_by, addr)
            if not (_is_number(sent_by) and _is_number(addr)):
                return None
    except (TypeError, ValueError, RecursionError):
        return None
    if not all(_is_number(n) for n in (pid, thread, goroutine_id)):
        return None
    return Stop(pid, thread, goroutine_id, found)


def reason(scan: Any) -> Stop | None:
    """The reason of the stop. None: the process goes on, or it is unknown."""
    if scan.info().kind == "saved":
        return _unpack(scan.info().stop)
    return current.source.stop(scan) if current.source else None

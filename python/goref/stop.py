# SPDX-License-Identifier: Apache-2.0
"""Finds out why the program stopped, from gdb and the runtime's list of
threads. Nothing is selected in gdb, and only a few words are read."""

import re
import signal
from typing import Any

import gdb

from . import evaluate, native, target
from .render.overview import Signal, Stop
from .session import current

# By which debuggers stop a process, and gcore leaves in its cores.
_OF_DEBUGGERS = (signal.SIGTRAP, signal.SIGSTOP, signal.SIGINT)
_WITH_ADDRESS = (
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
)
_MAX_THREADS = 1 << 16  # of a list that need not end
_BY_PROCESS = 0  # and less: si_code of what a process has sent


def _number(expression: str) -> int | None:
    """None: gdb cannot tell."""
    try:
        with evaluate.Neutral():
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
    if not number or number in _OF_DEBUGGERS:
        return None
    signal_ = Signal(_name(number))
    return _with_details(signal_, number) if is_known else signal_


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _with_details(found: Signal, number: int) -> Signal:
    """Add the sender or the address of the fault from siginfo."""
    code = _number("$_siginfo.si_code")
    if code is None:
        return found
    if code <= _BY_PROCESS:
        sender = _number("$_siginfo._sifields._kill.si_pid")
        return found._replace(sent_by=sender)
    if number in _WITH_ADDRESS:
        place = "$_siginfo._sifields._sigfault.si_addr"
        return found._replace(addr=_number(f"(unsigned long) {place}"))
    return found


def _thread(inferior: Any) -> Any:
    """The one that the signal came to: the first of a core; gdb selects it
    in a process."""
    if target.kind_of(inferior) == "core":
        threads = sorted(inferior.threads(), key=lambda t: int(t.num))
        return threads[0] if threads else None
    return gdb.selected_thread()


class _Words:
    """Fields of the runtime's structs, by the names of the layout table."""

    def __init__(self, scan: Any, inferior: Any) -> None:
        self.read = inferior.read_memory
        self.offsets = {
            name: int(off)
            for name, off in re.findall(
                r"^([mg]\.\w+) (\d+) 8$", scan.layout(), re.M
            )
        }

    def field(self, struct: int, name: str) -> int:
        at = struct + self.offsets[name]
        return int.from_bytes(bytes(self.read(at, 8)), "little")


def _goroutine(scan: Any, inferior: Any, tid: int) -> int | None:
    """The goroutine that a thread runs: of the M with its number."""
    try:
        words = _Words(scan, inferior)
        m = scan.resolve("runtime.allm").value
        for _ in range(_MAX_THREADS):
            if not m:
                break
            if words.field(m, "m.procid") == tid:
                g = words.field(m, "m.curg")
                return words.field(g, "g.goid") if g else None
            m = words.field(m, "m.alllink")
    except (native.load().Error, gdb.error, KeyError, OverflowError):
        pass  # without debug information, or damaged
    return None


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
    """None: the process goes on."""
    if scan.info().kind == "saved":
        return _unpack(scan.info().stop)
    if current.is_kept:
        return None
    inferior = gdb.selected_inferior()
    thread = _thread(inferior)
    if thread is None:
        return None
    tid = thread.ptid[1]
    if not tid:
        return None  # a core of a processor that this gdb does not know
    own = tid
    if target.kind_of(inferior) == "native":
        own = target.own_tid(inferior.pid, tid)
    return Stop(
        pid=inferior.pid,
        thread=tid,
        goroutine_id=_goroutine(scan, inferior, own),
        signal=_signal(inferior),
    )

# SPDX-License-Identifier: Apache-2.0
"""goref goroutine ID wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import syscalls
from .goroutines import goroutine_document, status_text
from .report import Report, fields_of, partial_lines

if TYPE_CHECKING:
    from .._goref import Goroutine, GoroutineWait, Wait
    from .report import Document

_VERBS = {
    "channel send": "send to",
    "channel receive": "receive from",
    "select send": "send to",
    "select receive": "receive from",
}
_PLAIN = {
    "nil channel": "for a nil channel: nothing can end this wait",
    "empty select": "in a select without a case that could go on: nothing "
    "can end this wait",
    "sleep": "for the end of a sleep",
    "network": "for the network, a pipe or a terminal",
    "signal": "for a signal of the operating system (os/signal)",
    "coroutine": "for the other side of a coroutine (iter.Pull)",
    "synctest": "for the goroutines of its synctest bubble",
    "runtime": "for the runtime",
    "unknown": "for something: the target does not tell what",
}
_LOCKS = {
    "RWMutex read": ("RWMutex", ", to read"),
    "RWMutex write": ("RWMutex", ", to write"),
}


_TIMERS = {"sleep": "", "network": "its deadline is "}
_ACTIONS = {
    "read": ("to read", "from"),
    "write": ("to write", "to"),
    "accept": ("to accept a connection", "from"),
    "connect": ("for a connection", "to"),
}


def duration(nanoseconds: int) -> str:
    """`2h0m0.1s', as Go prints it, in tenths of a second."""
    tenths = nanoseconds // 10**8
    minutes, rest = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    words = f"{hours}h" if hours else ""
    words += f"{minutes}m" if hours or minutes else ""
    return f"{words}{rest // 10}.{rest % 10}s"


def _due(wait: Wait) -> list[str]:
    if not wait.due_ns:
        return []
    after = duration(wait.due_ns)
    timer = _TIMERS.get(wait.kind, "its timer is ")
    return [f"{timer}due {after} after the start of the program"]


def _fill(wait: Wait) -> str:
    closed = ", closed" if wait.is_closed else ""
    if not wait.capacity:
        return "without a buffer" + closed
    return f"{wait.count:,} of {wait.capacity:,} elements{closed}"


def _others(wait: Wait) -> list[str]:
    others = wait.waiters - 1
    if others < 1:
        return []
    one = "1 other goroutine waits for it"
    return [one if others == 1 else f"{others:,} others wait for it"]


def _channel_text(wait: Wait) -> str:
    if not wait.primitive:
        return f"{_VERBS[wait.kind]} a channel: which one is not known"
    parts = [
        f"{_VERBS[wait.kind]} {wait.path or 'a channel'}: "
        f"{wait.type or 'chan'} at {wait.primitive:#x}, {_fill(wait)}",
        *_due(wait),
        *_others(wait),
    ]
    if wait.value:
        parts.append(f"sends {wait.value}")
    return "; ".join(parts)


def _holders(wait: Wait) -> list[str]:
    if wait.kind == "WaitGroup":
        return [f"{wait.holders:,} not done"]
    if wait.kind == "RWMutex write":
        plural = "s hold" if wait.holders != 1 else " holds"
        return [f"{wait.holders:,} reader{plural} it"]
    return []


def _lock_text(wait: Wait) -> str:
    what, purpose = _LOCKS.get(wait.kind, (wait.kind, ""))
    if not wait.primitive:
        return f"for a {what}{purpose}: which one is not known"
    named = f"the {what} {wait.path}" if wait.path else f"a {what}"
    if wait.part_of and wait.part_of != wait.type:
        named += f" of a {wait.part_of}"
    place = f"at {wait.primitive:#x}"
    if wait.holder_type and wait.holder_type != wait.part_of:
        place += f" in {wait.holder_type}"
    parts = [f"for {named} {place}{purpose}", *_holders(wait), *_others(wait)]
    return "; ".join(parts)


def _call_text(wait: Wait, thread_id: int | None) -> str:
    thread = f" on thread {thread_id}" if thread_id else ""
    if wait.is_in_c:
        return f"for C to return (cgo){thread}"
    if wait.number is None:
        return f"for a system call{thread}"
    name = syscalls.name(wait.number) or "unknown"
    return f"for system call {name} ({wait.number}){thread}"


def _network_text(wait: Wait) -> str:
    """`to read from 127.0.0.1:80 (tcp, local address 127.0.0.1:4000,
    descriptor 7)'."""
    if wait.descriptor is None:
        return _PLAIN["network"]
    verb, preposition = _ACTIONS[wait.action or "read"]
    if wait.remote:
        verb += f" {preposition} {wait.remote}"
    facts = [f"descriptor {wait.descriptor}"]
    if wait.local:
        facts.insert(0, f"local address {wait.local}")
    if wait.has_unsaved_addresses:
        facts.insert(0, "addresses not in the file")
    if wait.network:
        facts.insert(0, wait.network)
    return f"{verb} ({', '.join(facts)})"


def _coroutine_text(wait: Wait) -> str:
    if wait.awaited_id:
        return f"for goroutine {wait.awaited_id}, a coroutine (iter.Pull)"
    if wait.is_callee:
        return "to be asked for the next value, as a coroutine (iter.Pull)"
    return _PLAIN["coroutine"]


def wait_text(wait: Wait, row: Goroutine) -> str:
    """The words behind `It waits': one thing that a goroutine waits for."""
    if wait.kind in _VERBS:
        return "to " + _channel_text(wait)
    if wait.kind == "system call":
        return _call_text(wait, row.thread_id)
    if wait.kind == "coroutine":
        return _coroutine_text(wait)
    if wait.kind == "network":
        return "; ".join([_network_text(wait), *_due(wait)])
    if wait.kind in _PLAIN:
        return "; ".join([_PLAIN[wait.kind], *_due(wait)])
    return _lock_text(wait)


def wait_lines(found: GoroutineWait) -> list[str]:
    """The waits of a goroutine, below its own line."""
    bubble = []
    if found.is_in_bubble:
        number = f" {found.bubble_id}" if found.bubble_id else ""
        bubble = [f"It is in synctest bubble{number}."]
    if not found.waits:
        return ["It does not wait.", *bubble]
    if found.waits[0].is_woken:
        return ["It has been woken, and is about to run.", *bubble]
    if not found.waits[0].kind.startswith("select "):
        text = wait_text(found.waits[0], found.goroutine)
        return [f"It waits {text}.", *bubble]
    counted = f"{len(found.waits)} case{'s' if len(found.waits) != 1 else ''}"
    cases = [f"  {_channel_text(wait)}" for wait in found.waits]
    return [f"It waits in a select of {counted}:", *cases, *bubble]


def wait_document(wait: Wait) -> Document:
    """One thing that a goroutine waits for, in JSON."""
    is_channel = wait.kind in _VERBS and wait.primitive is not None
    number = wait.number
    return {
        "kind": "cgo call" if wait.is_in_c else wait.kind,
        "primitive": wait.primitive and f"{wait.primitive:#x}",
        **fields_of(wait, "type path holder_type field part_of waiters"),
        "woken": wait.is_woken,
        "count": wait.count if is_channel else None,
        "capacity": wait.capacity if is_channel else None,
        "closed": wait.is_closed if is_channel else None,
        "value": wait.value,
        "due_ns": wait.due_ns,
        "holders": wait.holders
        if wait.kind in ("WaitGroup", "RWMutex write")
        else None,
        "network": None
        if wait.descriptor is None
        else fields_of(
            wait,
            "descriptor action network local remote " "has_unsaved_addresses",
        ),
        "coroutine": {
            "waits_for": wait.awaited_id,
            "is_callee": wait.is_callee,
        }
        if wait.kind == "coroutine"
        else None,
        "syscall": None
        if number is None
        else {"number": number, "name": syscalls.name(number)},
    }


def waits_document(found: GoroutineWait) -> Document:
    return {
        "in_bubble": found.is_in_bubble,
        "bubble_id": found.bubble_id,
        "waits": [wait_document(wait) for wait in found.waits],
    }


class GoroutineWaitReport(Report):
    """The waits of one goroutine."""

    found: GoroutineWait

    def lines(self) -> list[str]:
        row = self.found.goroutine
        return [
            f"goroutine {row.id} [{status_text(row)}]",
            *wait_lines(self.found),
            *partial_lines(self.partial),
        ]

    def body(self) -> Document:
        return {
            **goroutine_document(self.found.goroutine),
            **waits_document(self.found),
        }

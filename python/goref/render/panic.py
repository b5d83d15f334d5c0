# SPDX-License-Identifier: Apache-2.0
"""goref panic."""

from __future__ import annotations

import os.path
import signal
from typing import TYPE_CHECKING

from .goroutines import call_lines, labels_text, location_document, status_text
from .report import Report, partial_lines
from .values import value_lines

if TYPE_CHECKING:
    from .._goref import Backtrace, Panic, PanicValue
    from .report import Document

_NOTHING = "Nothing has ended the program, and no goroutine panics."
_UNKNOWN_TEXT = "fatal error: its text is not known"
_LEFT_OUT = "not in the file (`goref save --values' keeps it)"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"{number}"


def value_text(value: PanicValue) -> str:
    """As the runtime prints it: with its type, unless it is a text."""
    if value.text is None:
        return f"of type {value.type}; its value is {_LEFT_OUT}"
    if value.type in (None, "string") or value.text.startswith(
        (f"{value.type} ", f"*{value.type[1:]} " if value.type else "")
    ):
        return value.text
    return f"{value.type}({value.text})"


_MAX_CAUSE = 160  # characters


def is_sent(panic: Panic) -> bool:
    """Did kill(2) send the signal? Then the kernel chose the thread. Mostly
    that is another process; the runtime does not keep which."""
    return bool(
        panic.kind == "signal" and panic.signal and panic.signal_code == 0
    )


def c_code_text(panic: Panic) -> str:
    """Where the signal was, if that is C: ` in C: parse of libfoo.so.1'."""
    if not panic.signal_file:
        return ""
    file = os.path.basename(panic.signal_file)
    function = panic.signal_function
    return f" in C: {function} of {file}" if function else f" in C: {file}"


def fault_text(panic: Panic) -> str:
    """A signal that nobody has sent, and where it was."""
    text = signal_name(panic.signal)
    if panic.signal_addr is not None:
        text += f" at address {panic.signal_addr:#x}"
    return text + c_code_text(panic)


def cause_text(panic: Panic) -> str:
    """The cause of a program's end, in one line."""
    text = panic.kind or ""
    if panic.kind == "signal" and panic.signal:
        if is_sent(panic):
            text = f"{signal_name(panic.signal)}, sent with kill"
        else:
            text = fault_text(panic)
    elif panic.kind == "fatal error":
        text += f": {panic.fatal_text}" if panic.fatal_text else ""
        if panic.signal and panic.signal_file:
            text += f" ({fault_text(panic)})"
    elif panic.values:
        text += f": {value_text(panic.values[-1])}"
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CAUSE else f"{text[:_MAX_CAUSE]}..."


class PanicReport(Report):
    """The cause of the program's end."""

    panic: Panic
    backtrace: Backtrace | None
    has_values: bool = True

    def lines(self) -> list[str]:
        if self.panic.kind is None:
            return [_NOTHING, *partial_lines(self.partial)]
        return [
            *self._cause_lines(),
            *self._signal_lines(),
            *self._goroutine_lines(),
            *self._deferred_lines(),
            *partial_lines(self.partial),
        ]

    def _cause_lines(self) -> list[str]:
        panic = self.panic
        lines = []
        indent = ""
        for value in panic.values:
            words = [
                word
                for word, holds in (
                    ("recovered", value.is_recovered),
                    ("repanicked", value.is_repanicked),
                )
                if holds
            ]
            state = f" [{', '.join(words)}]" if words else ""
            colon = ":" if value.text is not None else ""
            lines += value_lines(f"{indent}panic{colon} ", value_text(value))
            lines[-1] += state
            indent = "    "
        if panic.kind == "fatal error":
            text = panic.fatal_text
            lines.insert(
                0, f"fatal error: {text}" if text else self._unknown()
            )
        if panic.kind == "panicking":
            lines.append(
                "The program has not ended: deferred calls still run."
            )
        return lines

    def _unknown(self) -> str:
        if self.has_values:
            return _UNKNOWN_TEXT
        return f"fatal error: its text is {_LEFT_OUT}"

    def _signal_lines(self) -> list[str]:
        panic = self.panic
        if not panic.signal:
            if panic.kind == "signal":
                return ["a signal ended the program; which one is not known"]
            return []
        words = [signal_name(panic.signal)]
        if panic.signal_addr is not None:
            words.append(f"address {panic.signal_addr:#x}")
        if panic.signal_pc:
            words.append(f"pc {panic.signal_pc:#x}{c_code_text(panic)}")
        return [f"signal {', '.join(words)}"]

    def _goroutine_lines(self) -> list[str]:
        row, calls = self.panic.goroutine, self.backtrace
        if not row or not calls:
            return self._thread_lines()
        system = ", the runtime's own" if row.is_system else ""
        sent = (
            ["It was sent with kill. The thread that took it ran this:"]
            if is_sent(self.panic)
            else []
        )
        return [
            *sent,
            f"goroutine {row.id} [{status_text(row)}]{system}"
            f"{labels_text(row)}",
            *call_lines(calls.calls, calls.is_cut),
        ]

    def _thread_lines(self) -> list[str]:
        thread = self.panic.thread_id
        if not thread:
            return []
        if is_sent(self.panic):
            return [
                f"It was sent with kill. Thread {thread}, which received it, "
                "ran no goroutine: `goref hung' says what goroutines did."
            ]
        return [f"thread {thread} ran no goroutine: it was in the scheduler"]

    def _deferred_lines(self) -> list[str]:
        if not self.panic.deferred:
            return []
        return [
            "deferred calls that have not run, the next first:",
            *(
                f"    {at.function} at {at.file or '?'}:{at.line}"
                for at in self.panic.deferred
            ),
        ]

    def body(self) -> Document:
        panic = self.panic
        row = panic.goroutine
        address, pc = panic.signal_addr, panic.signal_pc
        return {
            "kind": panic.kind,
            "goroutine_id": row.id if row else None,
            "thread_id": panic.thread_id,
            "fatal_error": panic.fatal_text,
            "values": [
                {
                    "value": value.text,
                    "type": value.type,
                    "recovered": value.is_recovered,
                    "repanicked": value.is_repanicked,
                }
                for value in panic.values
            ],
            "signal": signal_name(panic.signal) if panic.signal else None,
            "sent_with_kill": is_sent(panic),
            "address": None if address is None else f"{address:#x}",
            "pc": f"{pc:#x}" if pc else None,
            "c_function": panic.signal_function,
            "c_file": panic.signal_file,
            "deferred": [location_document(at) for at in panic.deferred],
            "frames": [
                {**location_document(call.at), "inlined": call.is_inlined}
                for call in (self.backtrace.calls if self.backtrace else ())
            ],
        }

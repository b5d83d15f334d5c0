# SPDX-License-Identifier: Apache-2.0
"""The line that says that something still happens."""

import os
import time

import gdb

_FIRST_S = 0.5
_STEP_S = 0.2
_PLAIN_STEP_S = 5.0


def _is_batch() -> bool:
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return b"-batch" in words or b"--batch" in words


def _is_terminal() -> bool:
    try:
        return os.isatty(1) and os.environ.get("TERM", "dumb") != "dumb"
    except OSError:
        return False


def _is_tui() -> bool:
    try:
        text = gdb.execute("info win", to_string=True)
    except gdb.error:
        return False
    return "not active" not in text


class Progress:
    """Called often while a scan runs; prints seldom. The line is written
    beside gdb's streams: it is no part of what is logged or piped."""

    def __init__(self, mode: str) -> None:
        self.begin = time.monotonic()
        self.next = self.begin + _FIRST_S
        self.is_line = _is_terminal()
        self.is_on = mode == "on" or (
            mode == "auto" and self.is_line and not _is_batch()
        )
        self.is_shown = False

    def __call__(self) -> None:
        now = time.monotonic()
        if not self.is_on or now < self.next:
            return
        if not self.is_shown and self.is_line and _is_tui():
            self.is_on = False
            return
        text = f"goref: scanning, {now - self.begin:.1f} s (Ctrl-C stops)"
        if self.is_line:
            gdb.flush()
            os.write(1, f"\r{text}\x1b[K".encode())
        else:
            gdb.write(text + "\n", gdb.STDERR)
        self.is_shown = True
        self.next = now + (_STEP_S if self.is_line else _PLAIN_STEP_S)

    def clear(self) -> None:
        """The line goes before anything else is printed."""
        if self.is_shown and self.is_line:
            os.write(1, b"\r\x1b[K")
        self.is_shown = False

    def end(self) -> None:
        """The last of it."""
        self.clear()
        self.is_on = False

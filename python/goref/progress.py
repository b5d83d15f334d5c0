# SPDX-License-Identifier: Apache-2.0
"""The line that says that something still happens."""

import math
import os
import time

from . import ended, front

_FIRST_S = 0.5
_STEP_S = 0.2
_PLAIN_STEP_S = 5.0


def _count(number: float) -> str:
    """1.2 M and the like."""
    for unit in ("", " k", " M"):
        if number < 999.5:
            break
        number /= 1000
    else:
        unit = " G"
    return f"{number:.0f}{unit}" if not unit else f"{number:.1f}{unit}"


def _left(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


class Progress:
    """Called often while a scan runs; prints seldom. The progress line is not
    part of the answer: it is neither logged nor piped.

    It also ends what takes too long, as Ctrl-C would; reason then says so."""

    def __init__(
        self,
        mode: str,
        timeout_s: float | None = None,
        begin: float | None = None,
    ) -> None:
        """begin: of the time that timeout_s limits; None: now."""
        now = time.monotonic()
        self.begin = now if begin is None else begin
        self.next = now + _FIRST_S
        self.is_line = front.current.has_line()
        self.is_on = mode == "on" or (
            mode == "auto"
            and self.is_line
            and front.current.is_interactive()
        )
        self.is_shown = False
        self.timeout_s = timeout_s
        self.reason = ""
        self.walk_begin = 0.0

    def __call__(self, done: int = 0, total: int = 0) -> None:
        """done of total objects are reached, if there is a walk."""
        ended.check()
        now = time.monotonic()
        self._check(now)
        if done and not self.walk_begin:
            self.walk_begin = now
        if not self.is_on or now < self.next:
            return
        if not self.is_shown and not front.current.may_draw():
            self.is_on = False
            return
        text = f"goref: scanning, {self._amount(now, done, total)}"
        if self.is_line:
            front.current.flush()
            os.write(1, f"\r{text} (Ctrl-C stops)\x1b[K".encode())
        else:
            front.current.note(text + "\n")
        self.is_shown = True
        self.next = now + (_STEP_S if self.is_line else _PLAIN_STEP_S)

    def _amount(self, now: float, done: int, total: int) -> str:
        text = f"{now - self.begin:.1f} s"
        spent = now - self.walk_begin
        if not done or not self.walk_begin or spent < _STEP_S:
            return text
        rate = done / spent
        text += f", {100 * done / total:.0f} % of {_count(total)} objects"
        text += f", {_count(rate)}/s"
        if total > done:
            text += f", {_left((total - done) / rate)} left"
        return text

    def left_s(self) -> float:
        """Seconds until it is over."""
        if self.timeout_s is None:
            return math.inf
        return max(self.begin + self.timeout_s - time.monotonic(), 0.0)

    def _check(self, now: float) -> None:
        if self.timeout_s is not None and now - self.begin > self.timeout_s:
            self._end("timed out")

    def _end(self, reason: str) -> None:
        self.timeout_s = None
        self.reason = reason
        raise KeyboardInterrupt

    def clear(self) -> None:
        """The line goes before anything else is printed."""
        if self.is_shown and self.is_line:
            os.write(1, b"\r\x1b[K")
        self.is_shown = False

    def end(self) -> None:
        """The last of it."""
        self.clear()
        self.is_on = False

# SPDX-License-Identifier: Apache-2.0
"""The line that says that something still happens."""

import math
import os
import time

from collections.abc import Sequence

from . import ended, front
from .render.units import printable

_FIRST_S = 0.5
_STEP_S = 0.2
_PLAIN_STEP_S = 5.0
_WALK = "walking the heap"  # as the scanner calls it
# The rate of a step is that of its beginning, which may be its slowest part: no
# estimate before so much of it.
_SURE_S = 1.0
_SURE_SHARE = 0.1


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
    """A time that is an estimate: 4 s, 40 s, 3 min."""
    if seconds < 10:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 100:
        return f"{10 * math.ceil(round(seconds) / 10)} s"
    return f"{seconds / 60:.0f} min"


def _fitting(text: str) -> str:
    """The text in one line of the terminal: one that wraps could not be drawn
    over."""
    try:
        room = os.get_terminal_size(1).columns - 1
    except OSError:
        room = 79
    whole = f"{text} (Ctrl-C stops)"
    for less in whole, text, text.removesuffix(" in this step"):
        if len(less) <= room:
            return less
    return text[:room]


class _Step:
    """A step of the work, and how far it is.

    begin: when it was first heard of.
    first: what was done by then."""

    def __init__(self, name: str, begin: float, first: int) -> None:
        self.name = name
        self.begin = begin
        self.first = first

    def text(self, now: float, done: int, total: int) -> str:
        """Its name, and its share and the time left as far as they are
        known. The total of some steps is an estimate."""
        if not total or not done:
            return self.name
        share = min(done / total, 0.99)
        text = f"{self.name}, {100 * share:.0f} %"
        if self.name.startswith(_WALK):
            text += f" of {_count(total)} objects"
        spent, part = now - self.begin, (done - self.first) / total
        if spent >= _SURE_S and part >= _SURE_SHARE:
            left = spent * max(1 - done / total, 0) / part
            text += f", about {_left(left)} left in this step"
        return text


class Progress:
    """Called often while a scan runs; prints seldom. The progress line is not
    part of the answer: it is neither logged nor piped.

    It also ends what takes too long, as Ctrl-C would; reason then says so.

    doing: what goes on when the scanner does not say it.
    known: lines of the answer that are known by now. On a terminal, they stand
        above the line of progress until the answer comes."""

    doing = "reading the program"

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
        self.known: list[str] = []
        self.above = 0  # lines that are drawn above the line of progress
        self.timeout_s = timeout_s
        self.reason = ""
        self.step = _Step("", now, 0)

    def __call__(self, step: str = "", done: int = 0, total: int = 0) -> None:
        """step: the scanner's; it has done so much of total."""
        ended.check()
        now = time.monotonic()
        self._check(now)
        if not self.is_on:
            return
        name = step or self.doing
        if name != self.step.name or done < self.step.first:
            self.step = _Step(name, now, done)
        if now >= self.next:
            self._show(now, self.step.text(now, done, total))

    def _show(self, now: float, text: str) -> None:
        if not self.is_shown and not front.current.may_draw():
            self.is_on = False
            return
        text = f"goref: {now - self.begin:.1f} s, {text}"
        if self.is_line:
            front.current.flush()
            text = f"{self._lines_above()}\r{_fitting(text)}\x1b[K"
            os.write(1, text.encode("utf-8", "backslashreplace"))
        else:
            front.current.note(text + "\n")
        self.is_shown = True
        self.next = now + (_STEP_S if self.is_line else _PLAIN_STEP_S)

    def announce(self, lines: Sequence[str]) -> None:
        """Show what is known by now, as soon as the progress is shown."""
        if self.is_on and self.is_line and not front.current.is_gdb:
            self.clear()
            self.known = list(lines)

    def _lines_above(self) -> str:
        """Draw what is known, unless it is there or there is no room. A line
        that wraps could not be taken back."""
        if self.is_shown or not self.known:
            return ""
        try:
            columns, rows = os.get_terminal_size(1)
        except OSError:
            return ""
        if rows < len(self.known) + 2:
            return ""
        self.above = len(self.known)
        lines = [printable(line)[: columns - 1] for line in self.known]
        return "".join(f"\r{line}\x1b[K\n" for line in lines)

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
            up = f"\x1b[{self.above}A" if self.above else ""
            os.write(1, f"\r{up}\x1b[J".encode())
        self.is_shown = False
        self.above = 0

    def end(self) -> None:
        """The last of it."""
        self.clear()
        self.is_on = False

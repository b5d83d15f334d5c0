# SPDX-License-Identifier: Apache-2.0
"""The time of a trace: intervals, each with the growth by class and what the
helper has seen."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .. import procfs, standing
from ..errors import Error
from ..interrupt import Owned
from .helper import Silent

if TYPE_CHECKING:
    from .._goref import GrowthTick
    from ..progress import Progress
    from .gathered import Gathered
    from .helper import Helper

_STEP_S = 0.1  # of Ctrl-C, and of the line of progress
_BUSY_S = 0.002  # the helper has more to say

_PATIENCE_S = 1.0  # with the helper, before a second Ctrl-C counts

INTERRUPTED = "Ctrl-C"
SILENT = "goref-trace does not answer"


class Interval(NamedTuple):
    """Seconds since the start, and what the scanner and the helper have seen.
    before: the tick at the beginning."""

    number: int
    begin_s: float
    end_s: float
    before: GrowthTick
    tick: GrowthTick
    events: int
    lost: dict[str, int]
    overhead: float | None
    """The processor time of the probes, as a percentage of a processor; None:
    the helper has not told it."""
    off_s: float = 0.0
    """For how long the probes were taken away, because the limit was
    reached."""

    @property
    def growth_bytes(self) -> int:
        return self.tick.rss_bytes - self.before.rss_bytes


class Watch:
    """Watches a process until its time is over, it ends, or Ctrl-C comes.

    ended: why it ended before its time; "" if it did not. If the helper does
    not answer, there is no more to wait for: what it saw last is lost."""

    ended = ""
    is_ending = False  # Ctrl-C has come
    has_begun = False  # there is something to print

    def __init__(
        self,
        pid: int,
        helper: Helper,
        gathered: Gathered,
        progress: Progress,
        owned: Owned,
        *,
        from_empty: bool,
        forgets: bool = False,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """owned: holds back Ctrl-C while this runs. from_empty: the program has
        just begun, so all of its memory is growth. forgets: events before the
        first tick are not about the growth. begun: called when the
        first tick is there, which reads most."""
        self.from_empty = from_empty
        self.forgets = forgets
        self.begun = begun
        self.pid = pid
        self.helper = helper
        self.gathered = gathered
        self.progress = progress
        self.owned = owned
        self.begin = time.monotonic()
        self.rss = 0  # at the start

    def intervals(
        self, end_s: Callable[[int], float], seconds: float
    ) -> Iterator[Interval]:
        """Each interval as it ends. end_s: the end of interval N."""
        if self.from_empty:
            # Its first pages are growth, too: they need their events.
            self._flush("tick 0")
        elif self.forgets:
            self._flush("tick 0")
            self.gathered.forget_events()
        seen = before = self.gathered.tick()
        if self.from_empty:
            before = before._replace(classes=(), total_bytes=0, rss_bytes=0)
        self.begun()
        # The first tick takes long: its time is no part of interval 1.
        self._flush("tick 0")
        self.gathered.forget_cost()
        self.rss = before.rss_bytes
        self.begin = time.monotonic()
        self.has_begun = True
        last_s, number = 0.0, 1
        while True:
            self._wait(end_s(number), seconds)
            self._flush(f"tick {number}")
            now_s = time.monotonic() - self.begin
            tick = self._tick(seen)
            yield self._interval(number, (last_s, now_s), (before, tick))
            before = seen = tick
            last_s = now_s
            if end_s(number) >= seconds or self.ended:
                return
            number += 1

    def _tick(self, before: GrowthTick) -> GrowthTick:
        """The pages now; those of the tick before, if the process has ended or
        has begun another program."""
        if self.gathered.gone:
            return before
        try:
            return self.gathered.tick()
        except Error:
            if standing.of(self.pid) is not standing.Standing.ENDED:
                raise
            self.ended = self.ended or f"process {self.pid} has ended"
            return before

    def _interval(
        self,
        number: int,
        span: tuple[float, float],
        ticks: tuple[GrowthTick, GrowthTick],
    ) -> Interval:
        cost = self.gathered.take_cost()
        seconds = max(span[1] - span[0], 1e-3)
        return Interval(
            number,
            *span,
            *ticks,
            cost.events,
            dict(cost.lost),
            None if self.ended == SILENT else cost.bpf_ns / 1e7 / seconds,
            cost.off_ms / 1e3,
        )

    # ------------------------------------------------------------------- time

    def _wait(self, end_s: float, seconds: float) -> None:
        """Take what the helper says until a time, Ctrl-C or the end."""
        end = self.begin + end_s
        while not self.ended and time.monotonic() < end:
            self._poll(seconds)
            left = min(end - time.monotonic(), _STEP_S)
            for message in self.helper.read(left):
                self.gathered.take(message)
            if self.gathered.gone:
                self.ended = self.gathered.gone

    def _flush(self, word: str) -> None:
        if self.ended == SILENT:
            return
        try:
            self.helper.flush(word, self.gathered.take, self._is_given_up)
        except Silent:
            if not self.has_begun:
                raise
            self.ended = SILENT
        if self.gathered.gone:
            self.ended = self.ended or self.gathered.gone

    def _is_given_up(self, waited_s: float) -> bool:
        """Is the helper's answer not waited for? The first Ctrl-C asks for the
        end, and the second one for the end without it."""
        if waited_s < _PATIENCE_S:
            return False
        self.progress.doing = "waiting for goref-trace; Ctrl-C ends that"
        self.progress()
        if not self.owned.has_come():
            return False
        if not self.has_begun:
            self.owned.check()
        signal.sigtimedwait({signal.SIGINT}, 0)
        is_second, self.is_ending = self.is_ending, True
        self.ended = self.ended or INTERRUPTED
        return is_second

    def finish(self) -> None:
        """Remove the probes, and take what they have seen last. What they cost
        after the last interval, as it was read, is no part of the trace."""
        self._flush("end")
        self.gathered.forget_rest()

    def _poll(self, seconds: float) -> None:
        if self.owned.has_come():
            signal.sigtimedwait({signal.SIGINT}, 0)
            self.ended, self.is_ending = INTERRUPTED, True
            return
        self.progress.doing = self._doing(seconds)
        self.progress()

    def _doing(self, seconds: float) -> str:
        grown = resident_bytes(self.pid) - self.rss
        sign = "+" if grown >= 0 else "-"
        of = "" if math.isinf(seconds) else f" of {seconds:.0f} s"
        return (
            f"tracing process {self.pid}{of}: {sign}{abs(grown) >> 10:,} KiB, "
            f"{self.gathered.all_events:,} events"
        )


def resident_bytes(pid: int) -> int:
    """The resident memory of a process, nearly: the kernel counts in batches.
    0 if it is not there."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def faults_per_s(pid: int, seconds: float, pause: Callable[[], None]) -> float:
    """The rate of page faults of a process, measured for a short time. pause:
    called again and again meanwhile; it waits for a moment."""
    before, begin = procfs.page_faults(pid), time.monotonic()
    while time.monotonic() - begin < seconds:
        pause()
    count = procfs.page_faults(pid) - before
    return max(count, 0) / max(time.monotonic() - begin, 1e-3)

# SPDX-License-Identifier: Apache-2.0
"""From the blocks that were seen in windows to those of the whole time.

Windows open at random moments, one in each period. So the calls of a window
stand for those of its period: a stratified sample (Cochran, Sampling
Techniques, chapter 5). A call was seen with the chance 1 / f, where f is the
time for which its window stands, divided by the time of the window.

* The estimate of a sum is the sum of f times what was seen (Horvitz, Thompson
  1952). If calls are seen independently of each other, its variance is the sum
  of f (f - 1) x^2, for x of 1 or of the bytes.
* Calls come in bursts. So the variance is multiplied by how unevenly the calls
  lie in time: the variance of their number in short spans, divided by the mean
  (the index of dispersion; McCullagh and Nelder, Generalized Linear Models,
  chapter 4.5).
* Windows may differ by more than that. With four windows or more, the variance
  is not less than that of a ratio estimate from windows of different lengths,
  with the correction for a finite population (Cochran, chapters 6.4 and 2.6).
* A block that is freed at once, and whose address a later call gets outside of
  the windows, would look as if it were still in use. So a block counts only if
  it has survived for the last quarter of its window, in which its address would
  have been seen allocated again. That quarter is no part of the window then.
  Where one window follows another, nothing is left out.
* A walk of the heap tells how many blocks of a size there are at the end. The
  estimate for a stack has no more of them. Blocks that come and go, and use the
  same addresses again and again, would otherwise be scaled, too. The interval
  is cut off there if each size of the stack was seen at least twice: sizes that
  were not seen are rare then.
* A sample of a library stands for `weight' bytes. Samplers take a block with
  the chance 1 - exp(-bytes / rate) or bytes / rate, so the sum of the weights
  is the estimate, and f is weight / bytes. A weight may be less than the bytes
  of its block; the sum is not less than what was seen.

The interval has each number that differs from the estimate by at most three of
its own standard deviations. With few blocks, three standard deviations of the
estimate would be too short at the upper end: who sees one block of ten knows
little about the variance. The variance grows in proportion to the number, so
the bounds are the solutions of |number - estimate| = 3 sqrt(number * v), where
v is the variance of the estimate divided by the estimate."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .blocks import Record, Window

_SIGMAS = 3.0
_LEAST_WINDOWS = 4  # that tell how much windows differ
# The helper tells the start and the end of the trace at most so much later.
_EDGE_NS = 20_000_000
_SPANS_NS = 1_000_000, 10_000_000, 100_000_000  # in which calls are counted
_SETTLING = 4  # a part of a window, at its end
_NEXT_NS = 5_000_000  # to the next window, at most, if the probes stay
_ALL = 1 + 1e-9  # a factor up to here is 1


class Range(NamedTuple):
    """An estimate and its interval."""

    value: int
    low: int
    high: int


class Share(NamedTuple):
    """A window as a part of the whole: factor: for how many calls one of it
    stands. open_ns: for how long it was open. scale: the part of the factor
    that is not due to time."""

    factor: float
    open_ns: int
    scale: float


class Time:
    """The whole time, and the windows in it.

    whole_ns, open_ns: sums; squares_ns2: of the squares of open times. shares:
    by the number of a window. periods, without_window: the number of periods,
    and of those without a window."""

    def __init__(
        self,
        span_ns: tuple[int, int],
        period_ns: int,
        windows: Sequence[Window],
        sample: int = 1,
    ) -> None:
        """span_ns: the start and the end of the trace. sample: one of so many
        allocations in a window was seen."""
        # A window without a single recorded call tells nothing.
        told = [
            w
            for w in windows
            if w.end_ns > w.begin_ns and _tells(w, sample)
        ]
        begin, end = _span(span_ns, told)
        told = [*_settled(told, end)]
        self._until_ns = {w.number: w.end_ns for w in told}
        self.begin_ns, self.whole_ns = begin, max(end - begin, 0)
        self._period_ns = period_ns
        # A trace ends a moment after its last period.
        nearly_all_ns = self.whole_ns - period_ns // 20
        self.periods = max(-(-nearly_all_ns // period_ns), 1)
        open_ns = self._open_by_period(told)
        covered = sum(map(self._length, open_ns))
        self.open_ns = sum(open_ns.values())
        self.without_window = self.periods - len(open_ns)
        rest = self.whole_ns / covered if covered else 1.0
        self.shares = {
            w.number: self._share(w, open_ns, rest, sample) for w in told
        }
        self.squares_ns2 = sum(s.open_ns**2 for s in self.shares.values())

    @property
    def is_whole(self) -> bool:
        """Was each call seen?"""
        return bool(self.shares) and all(
            share.factor <= 1 for share in self.shares.values()
        )

    def _length(self, period: int) -> int:
        """The last period may be shorter, and is a little longer if the trace
        is."""
        if period < self.periods - 1:
            return self._period_ns
        return self.whole_ns - period * self._period_ns

    def _parts(self, window: Window) -> Iterator[tuple[int, int]]:
        """Each period of a window, and for how long the window was open in
        it."""
        begin = max(window.begin_ns - self.begin_ns, 0)
        end = min(window.end_ns - self.begin_ns, self.whole_ns)
        while begin < end:
            period = min(begin // self._period_ns, self.periods - 1)
            until = end
            if period < self.periods - 1:
                until = min((period + 1) * self._period_ns, end)
            yield period, until - begin
            begin = until

    def _open_by_period(self, windows: Sequence[Window]) -> dict[int, int]:
        found: dict[int, int] = defaultdict(int)
        for window in windows:
            for period, ns in self._parts(window):
                found[period] += ns
        return found

    def _share(
        self, window: Window, open_ns: dict[int, int], rest: float, sample: int
    ) -> Share:
        """Periods without a window are shared in proportion."""
        stands_ns = length_ns = 0.0
        for period, ns in self._parts(window):
            stands_ns += self._length(period) * min(ns / open_ns[period], 1.0)
            length_ns += ns
        scale = float(sample)
        if window.lost:
            wanted = window.calls / sample
            scale *= wanted / (wanted - window.lost)
        time = stands_ns * rest / length_ns if length_ns else 1.0
        factor = time * scale if time > _ALL else scale
        return Share(factor, int(length_ns), scale)

    def is_settled(self, record: Record) -> bool:
        """Has a block survived for long enough to count?"""
        until_ns = self._until_ns.get(record.window)
        return until_ns is None or record.time_ns <= until_ns

    def factor(self, record: Record) -> float:
        """For how many blocks one stands."""
        if record.weight and record.bytes:
            return record.weight / record.bytes
        share = self.shares.get(record.window)
        return share.factor if share else 1.0


def _tells(window: Window, sample: int) -> bool:
    """Was a call recorded, or was there none?"""
    return not window.lost or window.lost < window.calls / sample


def _settled(windows: Sequence[Window], end_ns: int) -> Iterator[Window]:
    """The windows without the part in which blocks have to survive. There is
    none where the probes stay."""
    begins = {w.number: w.begin_ns for w in windows}
    for w in windows:
        follows = begins.get(w.number + 1, end_ns) - w.end_ns < _NEXT_NS
        rest = 0 if follows else (w.end_ns - w.begin_ns) // _SETTLING
        yield w._replace(end_ns=w.end_ns - rest)


def _span(
    span_ns: tuple[int, int], windows: Sequence[Window]
) -> tuple[int, int]:
    """The start and the end of the trace by the helper's clock: goref learns
    of them a moment later."""
    begin, end = span_ns
    if windows:
        first = min(w.begin_ns for w in windows)
        last = max(w.end_ns for w in windows)
        if first < begin + _EDGE_NS:
            begin = first
        if last > end - _EDGE_NS:
            end = last
    return begin, end


class Room(NamedTuple):
    """All blocks of a size that are in use at the end. size: the bytes that
    the program may use of each."""

    size: int
    blocks: int


class Estimate:
    """The sums of one group of blocks."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self.seen_blocks = self.seen_bytes = 0
        self._blocks = _Sum()
        self._bytes = _Sum()
        self._sizes: dict[Room, _Size] = {}
        self._times = array("Q")  # of blocks that stand for others

    def add(self, record: Record, room: Room | None = None) -> float:
        """Add a block. room: None: not known. Returns for how many it
        stands."""
        factor = self._time.factor(record)
        self.seen_blocks += 1
        self.seen_bytes += record.bytes
        self._blocks.add(1, factor, record.window)
        self._bytes.add(record.bytes, factor, record.window)
        if record.window and factor > 1:
            self._times.append(record.time_ns)
        if room:
            self._sizes.setdefault(room, _Size()).add(record.bytes, factor)
        return factor

    @property
    def blocks(self) -> Range:
        found = self._range(self._blocks, self.seen_blocks)
        surplus = sum(
            size.surplus(room) for room, size in self._sizes.items()
        )
        most = sum(room.blocks for room in self._sizes)
        return self._cut(found, surplus, most)

    @property
    def bytes(self) -> Range:
        found = self._range(self._bytes, self.seen_bytes)
        surplus = sum(
            size.surplus(room) * size.bytes / size.blocks
            for room, size in self._sizes.items()
        )
        most = sum(room.blocks * room.size for room in self._sizes)
        return self._cut(found, surplus, most)

    @property
    def part(self) -> float:
        """The part of the sums that there is room for."""
        value = self._range(self._bytes, self.seen_bytes).value
        return self.bytes.value / value if value else 1.0

    def _range(self, of: _Sum, seen: int) -> Range:
        uneven = dispersion(self._times, self._time.open_ns)
        return of.range(self._time, seen, uneven)

    def _cut(self, found: Range, surplus: float, most: int) -> Range:
        """Without what there is no room for."""
        seen = sum(size.seen for size in self._sizes.values())
        if not self._sizes or seen < self.seen_blocks:
            return found  # of some, nothing is known
        value = max(round(found.value - surplus), 0)
        low, high = min(found.low, value), found.high
        if all(size.seen > 1 for size in self._sizes.values()):
            high = max(min(high, most), value)
        return Range(value, low, high)


class _Size:
    """The blocks of one size: as they were seen, and estimated."""

    def __init__(self) -> None:
        self.seen = 0
        self.blocks = self.bytes = 0.0

    def add(self, size: int, factor: float) -> None:
        self.seen += 1
        self.blocks += factor
        self.bytes += factor * size

    def surplus(self, room: Room) -> float:
        """The blocks for which there is no room."""
        return max(self.blocks - max(room.blocks, self.seen), 0.0)


class _Sum:
    """A sum of blocks or of bytes."""

    def __init__(self) -> None:
        self._value = self._variance = 0.0
        self._seen: dict[int, int] = {}  # by window

    def add(self, x: int, factor: float, window: int) -> None:
        self._value += x * factor
        self._variance += x * x * factor * max(factor - 1, 0)
        if window:
            self._seen[window] = self._seen.get(window, 0) + x

    def range(self, time: Time, seen: int, uneven: float) -> Range:
        """uneven: as of dispersion()."""
        variance = max(self._variance * uneven, self._between(time))
        value = max(round(self._value), seen)
        if not variance or not self._value:
            return Range(value, value, value)
        low, high = bounds(self._value, variance)
        return Range(
            value, max(seen, math.floor(low)), max(math.ceil(high), value)
        )

    def _between(self, time: Time) -> float:
        """The variance of a ratio estimate, by how much windows differ."""
        shares, count = time.shares, len(time.shares)
        seen = {n: x for n, x in self._seen.items() if n in shares}
        if count < _LEAST_WINDOWS or not seen or time.is_whole:
            return 0.0
        return _ratio_variance(time, seen, count)


def _ratio_variance(time: Time, seen: dict[int, int], count: int) -> float:
    """seen: by window; the other windows have seen nothing."""
    shares = time.shares
    sums = {n: x * shares[n].scale for n, x in seen.items()}
    ratio = sum(sums.values()) / time.open_ns
    squares = sum(
        (x - ratio * shares[n].open_ns) ** 2 - (ratio * shares[n].open_ns) ** 2
        for n, x in sums.items()
    )
    squares += ratio * ratio * time.squares_ns2
    unseen = max(1 - time.open_ns / time.whole_ns, 0.0)
    spread = squares * count / (count - 1) / time.open_ns**2
    return max(time.whole_ns**2 * unseen * spread, 0.0)


def dispersion(times_ns: Sequence[int], open_ns: int) -> float:
    """How unevenly calls lie in the time for which windows were open: 1 if each
    comes at its own time, and about N if they come N at a time."""
    count, most = len(times_ns), 1.0
    for span_ns in _SPANS_NS:
        spans = max(open_ns / span_ns, 1.0)
        if count < 2 or spans < 2:
            continue
        numbers = Counter(time_ns // span_ns for time_ns in times_ns)
        squares = sum(n * n for n in numbers.values())
        mean = count / spans
        most = max(most, (squares - count * mean) / (spans - 1) / mean)
    return most


def bounds(value: float, variance: float) -> tuple[float, float]:
    """The least and the largest number that differ from the estimate by three
    of their own standard deviations."""
    v = variance / value * _SIGMAS**2
    middle = value + v / 2
    reach = math.sqrt(v * value + v * v / 4)
    return middle - reach, middle + reach

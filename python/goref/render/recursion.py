# SPDX-License-Identifier: Apache-2.0
"""Recursion in stacks: calls that repeat, and rows that differ only in its
depth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .traced_stack import TracedFrame, TracedStack

_PERIODS = (1, 2)  # calls of a cycle that is recognized


class Repeated(NamedTuple):
    """One call, or a cycle of two, that occurs so often in a row. least, most:
    of the stacks that were merged; equal if there is only one."""

    frames: tuple[TracedFrame, ...]
    least: int
    most: int

    @property
    def times(self) -> str:
        """×15, ×2 to 15; "" for a call that occurs once."""
        if self.most == 1:
            return ""
        if self.least == self.most:
            return f"×{self.most:,}"
        return f"×{self.least:,} to {self.most:,}"


class MergedStack(NamedTuple):
    """Stacks that differ only in the depth of recursion: their sums, and the
    calls with the number of times that each occurs."""

    stack: TracedStack
    calls: tuple[Repeated, ...]


def repeats(frames: Sequence[TracedFrame]) -> tuple[Repeated, ...]:
    """The calls of a stack, those that repeat only once."""
    found = []
    at = 0
    while at < len(frames):
        period, times = _cycle(frames, at)
        found.append(Repeated(tuple(frames[at : at + period]), times, times))
        at += period * times
    return tuple(found)


def _cycle(frames: Sequence[TracedFrame], at: int) -> tuple[int, int]:
    """The number of calls that repeat from here on, and how often they occur.
    A call that does not repeat occurs once."""
    for period in _PERIODS:
        end = at + period
        while end < len(frames) and frames[end] == frames[end - period]:
            end += 1
        times = (end - at) // period
        if times > 1:
            return period, times
    return 1, 1


def _all(calls: tuple[Repeated, ...]) -> tuple[Repeated, ...]:
    return calls


def merged(
    stacks: Iterable[TracedStack],
    shown: Callable[[tuple[Repeated, ...]], tuple[Repeated, ...]] = _all,
) -> list[MergedStack]:
    """One row for stacks that differ only in the depth of recursion, the
    largest first. They hold the same, as they have the same class, type and
    holder. A cycle of two calls that occurs once does not repeat, so it has a
    row of its own. shown: the part of the calls that a person sees; the rest
    makes no difference."""
    found: dict[object, MergedStack] = {}
    for stack in stacks:
        calls = shown(repeats(stack.frames))
        key = stack._replace(
            frames=(), bytes=0, blocks=None, goroutines=(), oldest_s=None,
            labels=None if stack.labels is None else tuple(stack.labels),
            native=stack.native.identity() if stack.native else None,
        ), tuple(call.frames for call in calls)  # fmt: skip
        row = MergedStack(stack, calls)
        found[key] = _sum(found[key], row) if key in found else row
    return sorted(found.values(), key=lambda row: -row.stack.bytes)


def _sum(one: MergedStack, other: MergedStack) -> MergedStack:
    """Two rows with the same calls as one."""
    a, b = one.stack, other.stack
    blocks = [n for n in (a.blocks, b.blocks) if n is not None]
    ages = [age for age in (a.oldest_s, b.oldest_s) if age is not None]
    stack = a._replace(
        bytes=a.bytes + b.bytes,
        blocks=sum(blocks) if blocks else None,
        goroutines=sorted({*a.goroutines, *b.goroutines}),
        oldest_s=max(ages, default=None),
        native=a.native.plus(b.native) if a.native and b.native else None,
    )
    calls = tuple(
        Repeated(x.frames, min(x.least, y.least), max(x.most, y.most))
        for x, y in zip(one.calls, other.calls, strict=True)
    )
    return MergedStack(stack, calls)

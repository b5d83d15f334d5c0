# SPDX-License-Identifier: Apache-2.0
"""The process to trace, and for how long. Pure: never imports gdb."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import args
from . import native_plan
from .native_plan import NativePlan

MODES = ("rss", "go", "kernel", native_plan.MODE)
_FOR_S = 60.0
_FOR_FULL_S = 10.0
_SHORTEST_S = 0.1  # of an interval
_LONGEST_S = 31 * 86400.0


class Plan(NamedTuple):
    """pid: None if there is a command. seconds: math.inf until it ends.
    overhead: a percentage of a processor. native: the options of the mode
    native."""

    mode: str
    pid: int | None
    command: tuple[str, ...]
    seconds: float
    every_s: float
    overhead: float
    idle: bool
    look: str
    native: NativePlan = NativePlan()

    def intervals(self) -> float:
        """How many intervals there are, math.inf if that is not known. The
        last one may be shorter."""
        return math.ceil(round(self.seconds / self.every_s, 6))

    def end_s(self, number: int) -> float:
        """The end of an interval, in seconds since the start; the first one is
        1."""
        return min(number * self.every_s, self.seconds)


def of(options: Any) -> Plan:
    """The plan that the command line has. UsageError if it makes no sense."""
    words = list(options.words)
    command: tuple[str, ...] = ()
    if options.behind is not None:
        at = len(words) - options.behind
        words, command = words[:at], tuple(words[at:])
        if not command:
            raise args.UsageError("no COMMAND after `--'")
    if command and words and args.process_number(words[0]) is not None:
        raise args.UsageError("give a PID or `-- COMMAND', not both")
    pid = None if command else _take_pid(words)
    mode = _mode(words)
    every_s, seconds = _times(options, bool(command))
    if mode == "kernel":
        for name in ("look", "max-pause"):
            if name in options.given:
                raise args.UsageError(
                    f"--{name} has no meaning in the mode kernel, which has "
                    "no look at the end"
                )
    if options.look == "none" and "max-pause" in options.given:
        raise args.UsageError("--max-pause has no meaning with --look none")
    return Plan(
        mode,
        pid,
        command,
        seconds,
        every_s,
        options.max_overhead,
        options.idle,
        options.look,
        native_plan.of(options, mode, seconds),
    )


def _take_pid(words: list[str]) -> int:
    if not words:
        raise args.UsageError("no PID given")
    pid = args.process_number(words.pop(0)) if words else None
    if pid is None:
        raise args.UsageError("PID comes first, or `-- COMMAND' last")
    return pid


def _mode(words: Sequence[str]) -> str:
    for word in words:
        if word not in MODES:
            known = ", ".join(MODES)
            raise args.UsageError(f"there is no mode {word} ({known})")
    if len(words) > 1:
        raise args.UsageError("only one mode")
    return words[0] if words else MODES[0]


def _times(options: Any, has_command: bool) -> tuple[float, float]:
    """Seconds of an interval, and of the trace."""
    every_s = options.every
    count = options.count or None
    if options.for_ is not None:
        seconds = options.for_
    elif count:
        seconds = math.inf
    elif options.full:
        seconds = _FOR_FULL_S
    else:
        seconds = math.inf if has_command else _FOR_S
    if count:
        seconds = min(seconds, count * every_s)
    if every_s < _SHORTEST_S:
        raise args.UsageError(f"--every: at least {_SHORTEST_S:g}s")
    if max(every_s, 0 if math.isinf(seconds) else seconds) > _LONGEST_S:
        raise args.UsageError("--for and --every: at most a month")
    return min(every_s, seconds), seconds

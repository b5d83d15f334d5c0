# SPDX-License-Identifier: Apache-2.0
"""goref goroutine: the calls and the variables of one goroutine, and what it
waits for."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .. import args, native, partial
from ..render.goroutine_wait import GoroutineWaitReport
from ..render.goroutines import GoroutineReport
from ..session import running
from .base import answer_report

_NO_LIMIT = 2**32 - 1


class Question(NamedTuple):
    """The question about the goroutine."""

    goroutine_id: int
    with_variables: bool
    frame: Optional[int]
    is_wait: bool = False


def extent(options: Any) -> str:
    """Variables lead into the heap, and so do locks and channels."""
    asked = _question(options.words)
    is_in_heap = asked.with_variables or asked.is_wait
    return "values" if is_in_heap else "goroutines"


def check(options: Any) -> None:
    _question(options.words)


def run(options: Any) -> list[str]:
    asked = _question(options.words)
    return _wait(asked, options) if asked.is_wait else _calls(asked, options)


def _wait(asked: Question, options: Any) -> list[str]:
    # All of the heap: a walk names what no package variable leads to.
    with running(options.memory_limit, options.timeout) as scan:
        found = scan.goroutine_wait(
            asked.goroutine_id,
            True,
            options.max_string or _NO_LIMIT,
            options.max_elements or _NO_LIMIT,
            options.max_depth or _NO_LIMIT,
        )
        lost = partial.reasons(scan.info(), None)
    report = GoroutineWaitReport(
        tool_version=native.load().VERSION, partial=lost, found=found
    )
    answer_report(report, options)
    return lost


def _calls(asked: Question, options: Any) -> list[str]:
    depth = options.depth if asked.frame is None else asked.frame + 1
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as scan:
        found = scan.backtrace(
            asked.goroutine_id,
            depth,
            asked.with_variables,
            asked.frame or 0,
            0 if asked.frame is None else 1,
            options.max_string or _NO_LIMIT,
            options.max_elements or _NO_LIMIT,
            options.max_depth or _NO_LIMIT,
        )
        lost = partial.reasons(scan.info(), None)
    if asked.frame is not None and asked.frame >= len(found.calls):
        raise args.UsageError(
            f"goroutine {asked.goroutine_id} has no call {asked.frame}"
        )
    report = GoroutineReport(
        tool_version=native.load().VERSION,
        partial=lost,
        backtrace=found,
        frame=asked.frame,
    )
    answer_report(report, options)
    return lost


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise args.UsageError(f"not the number of a {what}: {text}")
    return int(text)


def _question(words: list[str]) -> Question:
    if not words:
        raise args.UsageError("which goroutine? Give its number")
    number, *rest = words
    goroutine_id = min(_number(number, "goroutine"), 2**64 - 1)
    if rest in ([], ["bt"]):
        return Question(goroutine_id, False, None)
    if rest == ["locals"]:
        return Question(goroutine_id, True, None)
    if rest == ["wait"]:
        return Question(goroutine_id, False, None, True)
    if rest[0] == "frame" and len(rest) == 2:
        frame = min(_number(rest[1], "frame"), 2**31)
        return Question(goroutine_id, True, frame)
    raise args.UsageError(
        f"a goroutine has no {' '.join(rest)}; try bt, locals, frame N or wait"
    )

# SPDX-License-Identifier: Apache-2.0
"""One look at the process at the end of a trace: what the new pages hold, and
who holds that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Error
from ..session import as_error
from ..sources import process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._goref import Scan
    from ..progress import Progress

_EXTENT = "report"


class Seen(NamedTuple):
    """found: of a question, or None. problem: why there is no answer.
    pause_s: for how long the process was stopped, and slowed_s: for how long
    its writes were slower after that; None: not known, or not looked at."""

    found: Any
    problem: str = ""
    pause_s: float | None = None
    slowed_s: float | None = None


@contextmanager
def _opened(
    source: process.Process, progress: Progress, memory_limit: int | None
) -> Iterator[Scan]:
    try:
        yield source.open(progress, memory_limit, _EXTENT)
    finally:
        source.close()


def ask(
    pid: int,
    way: str,
    question: Callable[[Scan], Any],
    progress: Progress,
    limits: tuple[int | None, ...],
) -> Seen:
    """Ask a scan of the process. way: snapshot or attach. limits: of the pause
    in ms, and of memory in bytes. A process that cannot be read, or Ctrl-C,
    leaves the rest of the trace as it is."""
    max_pause_ms, memory_limit = limits
    source = None
    try:
        source = process.Process(
            pid,
            _EXTENT,
            max_pause_ms=max_pause_ms,
            with_snapshot=way == "snapshot",
        )
        with _opened(source, progress, memory_limit) as scan:
            scan.set_progress(progress)
            seen = _answer(question(scan))
    except KeyboardInterrupt:
        seen = Seen(None, "Ctrl-C")
    except Exception as problem:
        error = as_error(problem)
        if not isinstance(error, Error):
            raise
        seen = Seen(None, str(error).removeprefix("goref: "))
    return _with_pause(seen, source)


def _answer(found: Any) -> Seen:
    if getattr(found, "is_known", True):
        return Seen(found)
    return Seen(None, "the program does not tell what was freed")


def _with_pause(seen: Seen, source: process.Process | None) -> Seen:
    """The process was stopped, too, if the look had no result."""
    if source is None or source.look is None or not source.look.stood_s:
        return seen
    return seen._replace(
        pause_s=source.look.stood_s, slowed_s=source.look.slowed_s
    )

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
    """found: of a question, or None. problem: why there is no answer."""

    found: Any
    problem: str = ""


@contextmanager
def _opened(
    pid: int, way: str, progress: Progress, limits: tuple[int | None, ...]
) -> Iterator[Scan]:
    max_pause_ms, memory_limit = limits
    source = process.Process(
        pid,
        _EXTENT,
        max_pause_ms=max_pause_ms,
        with_snapshot=way == "snapshot",
    )
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
    try:
        with _opened(pid, way, progress, limits) as scan:
            scan.set_progress(progress)
            found = question(scan)
            if getattr(found, "is_known", True):
                return Seen(found)
            return Seen(None, "the program does not tell what was freed")
    except KeyboardInterrupt:
        return Seen(None, "Ctrl-C")
    except Exception as problem:
        error = as_error(problem)
        if not isinstance(error, Error):
            raise
        return Seen(None, str(error).removeprefix("goref: "))

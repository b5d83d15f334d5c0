# SPDX-License-Identifier: Apache-2.0
"""The scan of the current source. It is made when a question first needs it,
kept for the questions that follow, and dropped when the program may have
changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import front, native, params
from .errors import Error
from .front import warn
from .progress import Progress

if TYPE_CHECKING:
    from .sources import Source

_MAX_RESULTS = 2
_SAVES = ("save", "save-values")  # extents that record what is read
_NATIVE = ("residency", *_SAVES)  # extents with more than native
# Extents with the heap.
_WHOLE = ("heap", "native", "pages", *_NATIVE)


class Session:
    """At most one scan, and the latest of its walks."""

    def __init__(self, source: Source | None = None, file: str = "") -> None:
        """source: the current source; None: the one of the front end. file:
        its path, if it is a saved file that was opened in gdb."""
        self.source = source
        self.file = file
        self.scan: Any = None
        self.extent = ""  # as for _goref.Scan()
        self.identity: Any = None
        self.results: dict[Any, Any] = {}
        self.last: Any = None  # the result that `info goref` shows
        self.progress: Progress | None = None
        # Only the command line sets this: it asks one question.
        self.command_begin: float | None = None

    def look(self) -> Source:
        """The current source."""
        if self.source is None:
            self.source = front.current.source(self._moved)
        return self.source

    def switch(self, to: Session) -> Session:
        """Become the session `to`. Returns a copy of this one as it was."""
        before = Session()
        before.__dict__.update(self.__dict__)
        self.__dict__.update(to.__dict__)
        self.command_begin = before.command_begin
        return before

    @contextmanager
    def instead(self, source: Source, file: str = "") -> Iterator[None]:
        """A context in which all questions are about another source."""
        before = self.switch(Session(source, file))
        try:
            yield
        finally:
            self.switch(before)

    def _moved(self, source: Source) -> None:
        """The program of a source may have changed. If another source is
        current, such as a saved file, this scan stays; the session with the
        moved source notices the change by identify()."""
        if self.source is source:
            self.drop()

    def drop(self) -> None:
        """Forget the scan and its walks."""
        self.scan = None
        self.identity = None
        self.results = {}
        self.last = None

    def close(self) -> None:
        """Close the current source."""
        self.drop()
        if self.source is not None:
            self.source.close()

    @property
    def notes(self) -> list[str]:
        """Notes about the current source, one line each."""
        return self.source.notes if self.source else []

    def files(self) -> list[tuple[str, str]]:
        """The open files: what each one is, and its path."""
        return self.source.files() if self.source else []

    def is_current(self) -> bool:
        """True if there is a scan, and the program has not moved since."""
        if self.scan is None or self.source is None:
            return False
        try:
            return bool(self.source.identify() == self.identity)
        except Error:
            return False

    def is_read(self) -> bool:
        """True if all that will ever be read is read."""
        return bool(self.scan and self.source and self.source.is_whole)

    def _suffices(self, extent: str) -> bool:
        """Can the scan answer a question of this extent? The scan of a file
        reads more when it is needed. A whole source cannot read more."""
        assert self.source
        if self.source.is_whole:
            return True
        if extent in _SAVES:
            return extent == self.extent
        is_whole = extent == self.extent or (
            self.extent in (_NATIVE if extent == "native" else _WHOLE)
            and extent != "residency"
        )
        return is_whole or self.scan.info().kind in ("core", "saved")

    def _extend(self, progress: Progress, extent: str) -> None:
        if self.extent in (*_WHOLE, extent):
            return
        self.scan.set_progress(progress)
        self.scan.extend(extent)
        self.extent = extent

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Any:
        """The scan of the current source. extent: what the question needs; see
        Scan in _goref.pyi."""
        source = self.look()
        extent = source.extent(extent)
        if self.is_current() and self._suffices(extent):
            self.scan.set_memory_limit(memory_limit or 0)
            if not source.is_whole:
                self._extend(progress, extent)
            return self.scan
        self.drop()
        identity = source.identify()
        scan = source.open(progress, memory_limit, extent)
        progress.clear()
        warn(scan.info().warnings)
        self.scan, self.identity, self.extent = scan, identity, extent
        return scan

    def walk(
        self,
        depth: int,
        nodes: int,
        places: tuple[Any, ...],
        attribution: str,
        per_goroutine: bool,
        weight: str = "bytes",
    ) -> Any:
        """A walk of the open scan; the latest few are kept."""
        how = (depth, nodes, places, attribution, per_goroutine)
        key = (*how, weight)
        result = self.results.get(key)
        if result is None:
            result = self.scan.walk(*how, keep_partial=True, weight=weight)
            if result.ledger().is_partial:
                return result
            while len(self.results) >= _MAX_RESULTS:
                self.results.pop(next(iter(self.results)))
            self.results[key] = result
        if not places and weight == "bytes":
            self.last = result
        return result

    def end_progress(self) -> None:
        """No progress line from here on: the answer is being printed."""
        if self.progress is not None:
            self.progress.end()


current = Session()


class running:
    """A context in which one command uses the scan: `with running() as scan:
    ...`. It shows progress, and turns errors into errors of one line.

    memory_limit: as in options; None: the setting.
    extent: what the question needs of the program."""

    def __init__(
        self,
        memory_limit: int | None = None,
        timeout_s: float | None = None,
        extent: str = "heap",
    ) -> None:
        self.extent = extent
        self.memory_limit = params.memory_limit(memory_limit)
        self.progress = Progress(
            params.progress(), timeout_s, current.command_begin
        )

    def __enter__(self) -> Any:
        current.progress = self.progress
        try:
            scan = current.open(self.progress, self.memory_limit, self.extent)
            scan.set_progress(self.progress)
            self.progress.doing = "preparing the answer"
            return scan
        except BaseException as problem:
            self.progress.clear()
            current.progress = None
            raise as_error(problem, self.progress.reason) from None

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> None:
        self.progress.clear()
        current.progress = None
        if current.scan is not None:
            current.scan.set_progress(None)
        if problem is not None:
            raise as_error(problem, self.progress.reason) from None


def as_error(problem: BaseException, reason: str = "") -> BaseException:
    """An error of the scanner or the system as one in a line for a person.
    reason: why the scan was ended, if not by Ctrl-C."""
    goref = native.load()
    if isinstance(problem, KeyboardInterrupt) and reason:
        return Error(f"goref: {reason}")
    if isinstance(problem, goref.MemoryLimitError):
        return Error(f"goref: {problem} {params.MEMORY_WAY_OUT}")
    if isinstance(problem, goref.Error):
        return Error(f"goref: {problem}")
    if isinstance(problem, MemoryError):
        return Error(f"goref: {params.no_memory(problem)}")
    own = front.current.own_error(problem)
    if own is not None:
        return Error(f"goref: {own}")
    return problem

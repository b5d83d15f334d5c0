# SPDX-License-Identifier: Apache-2.0
"""The scan of the current stop: made when first needed, kept for the
questions that follow, dropped when the target may have changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gdb

from . import elf, native, params, target
from .progress import Progress

if TYPE_CHECKING:
    from .lifetime import Lifetime

_MAX_RESULTS = 2
_SAVES = ("save", "save-values")  # extents that record what is read
_WHOLE = ("heap", "pages", "residency", *_SAVES)  # extents with the heap
_HELD = {"values": "goroutines", "sites": "heap"}

# Not in every gdb: what is absent is made up for by comparing identities.
_EVENTS = (
    "cont",
    "exited",
    "memory_changed",
    "register_changed",
    "new_objfile",
    "clear_objfiles",
    "free_objfile",
    "new_inferior",
    "inferior_deleted",
    "new_thread",
    "inferior_call",
    "executable_changed",
    "corefile_changed",
)


class Session:
    """At most one scan, and the latest of its walks."""

    def __init__(self) -> None:
        self.scan: Any = None
        self.file = ""  # that `goref open' was told in gdb
        self.extent = ""  # as goref.Scan() takes it
        self.identity: Any = None
        self.notes: list[str] = []
        self.results: dict[Any, Any] = {}
        self.last: Any = None  # the result that `info goref` shows
        self.progress: Progress | None = None
        self.is_kept = False
        # Whose life it was before the command line looked at a process.
        self.life: Lifetime | None = None
        # Of the command line, which asks one question only.
        self.command_begin: float | None = None

    def keep(self, scan: Any, notes: list[str]) -> None:
        """A scan of what is gone: all questions are about it."""
        self.drop()
        _watch_events()
        self.scan, self.notes = scan, notes
        self.is_kept = True

    @contextmanager
    def instead(
        self, scan: Any, notes: list[str], file: str = ""
    ) -> Iterator[None]:
        """A context in which all questions are about another scan, which is
        kept until its end. file: where the user says that it comes from."""
        before = dict(self.__dict__)
        self.__dict__.update(Session().__dict__)
        self.keep(scan, notes)
        self.file = file
        try:
            yield
        finally:
            self.__dict__.update(before)

    def drop(self, *_: object) -> None:
        if self.is_kept:
            return
        self.scan = None
        self.identity = None
        self.notes = []
        self.results = {}
        self.last = None

    def is_current(self) -> bool:
        """True if the scan is one of the selected target as it is now."""
        if self.scan is None or self.is_kept:
            return self.is_kept
        try:
            return bool(target.identify() == self.identity)
        except (gdb.GdbError, gdb.error):
            return False

    def _suffices(self, extent: str) -> bool:
        """Can the scan answer a question of this extent? That of a core reads
        what it lacks, and nothing else is left of what a kept one was of."""
        if extent in _SAVES:
            return self.is_kept or extent == self.extent
        is_whole = extent == self.extent or (
            self.extent in _WHOLE and extent != "residency"
        )
        return is_whole or self.is_kept or self.scan.info().kind == "core"

    def _extend(self, progress: Progress, extent: str) -> None:
        if self.extent in (*_WHOLE, extent):
            return
        self.scan.set_progress(progress)
        self.scan.extend(extent)
        self.extent = extent

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Any:
        """The scan of the selected target. extent: what the question needs;
        see Scan in _goref.pyi."""
        # gdb holds the process: what is not pointers is read late.
        extent = _HELD.get(extent, extent)
        if self.is_current() and self._suffices(extent):
            self.scan.set_memory_limit(memory_limit or 0)
            if not self.is_kept or self.scan.info().kind == "saved":
                self._extend(progress, extent)
            return self.scan
        self.drop()
        _watch_events()
        goref = native.load()
        identity = target.identify()
        described = target.collect(goref)
        warn(described.notes)
        is_native = described.kind == "native"
        scan = goref.Scan(
            kind=described.kind,
            read=target.read_memory(gdb.selected_inferior()),
            modules=described.modules,
            threads=described.threads,
            core=described.core,
            pid=described.pid,
            progress=progress,
            cache=params.cache(),
            copy_threads=params.threads(),
            prepare=is_native,
            memory_limit=memory_limit or 0,
            extent=extent,
            held=True,
        )
        if is_native:
            params.nodes_within(scan.estimate(), 0, memory_limit)
            scan.capture(described.threads)
            scan.finish()
        progress.clear()
        warn(scan.info().warnings)
        self.notes = described.notes
        self.scan, self.identity, self.extent = scan, identity, extent
        return scan

    def walk(
        self,
        depth: int,
        nodes: int,
        places: tuple[Any, ...],
        attribution: str,
        per_goroutine: bool,
    ) -> Any:
        """A walk of the open scan; the latest few are kept."""
        key = (depth, nodes, places, attribution, per_goroutine)
        result = self.results.get(key)
        if result is None:
            result = self.scan.walk(*key, keep_partial=True)
            if result.ledger().is_partial:
                return result
            while len(self.results) >= _MAX_RESULTS:
                self.results.pop(next(iter(self.results)))
            self.results[key] = result
        if not places:
            self.last = result
        return result

    def end_progress(self) -> None:
        """No progress line from here on: the answer is being printed."""
        if self.progress is not None:
            self.progress.end()


current = Session()


def warn(lines: Sequence[str]) -> None:
    for line in lines:
        gdb.write(f"warning: {elf.shown(line)}\n", gdb.STDERR)


class running:
    """One command's use of the scan: the progress line, and errors in one
    line. `with running() as scan: ...`

    memory_limit: as options have it; None: the setting.
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
            return scan
        except BaseException as problem:
            self.progress.clear()
            current.progress = None
            raise as_gdb_error(problem, self.progress.reason) from None

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> None:
        self.progress.clear()
        current.progress = None
        if current.scan is not None:
            current.scan.set_progress(None)
        if problem is not None:
            raise as_gdb_error(problem, self.progress.reason) from None


def as_gdb_error(problem: BaseException, reason: str = "") -> BaseException:
    """reason: why it was ended, if not by Ctrl-C."""
    goref = native.load()
    if isinstance(problem, KeyboardInterrupt) and reason:
        return gdb.GdbError(f"goref: {reason}")
    if isinstance(problem, goref.MemoryLimitError):
        return gdb.GdbError(f"goref: {problem} {params.MEMORY_WAY_OUT}")
    if isinstance(problem, goref.Error):
        return gdb.GdbError(f"goref: {problem}")
    if isinstance(problem, MemoryError):
        return gdb.GdbError(f"goref: {params.no_memory(problem)}")
    if isinstance(problem, gdb.error):
        return gdb.GdbError(f"goref: {' '.join(str(problem).split())}")
    return problem


_is_watching = False


def _watch_events() -> None:
    """From the first scan on."""
    global _is_watching
    for name in () if _is_watching else _EVENTS:
        registry = getattr(gdb.events, name, None)
        if registry is not None:
            registry.connect(current.drop)
    _is_watching = True

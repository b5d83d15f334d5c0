# SPDX-License-Identifier: Apache-2.0
"""The scan of the current stop: made when first needed, kept for the
questions that follow, dropped when the target may have changed."""

from collections.abc import Sequence
from typing import Any

import gdb

from . import native, params, target
from .progress import Progress

_MAX_RESULTS = 2

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
        self.identity: Any = None
        self.notes: list[str] = []
        self.results: dict[Any, Any] = {}
        self.last: Any = None  # the result that `info goref` shows
        self.progress: Progress | None = None
        self.is_kept = False

    def keep(self, scan: Any, notes: list[str]) -> None:
        """A scan of what is gone: all questions are about it."""
        self.drop()
        self.scan, self.notes = scan, notes
        self.is_kept = True

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

    def open(self, progress: Progress, memory_limit: int | None) -> Any:
        """The scan of the selected target."""
        if self.is_current():
            return self.scan
        self.drop()
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
        )
        if is_native:
            params.nodes_within(scan.estimate(), 0, memory_limit)
            scan.capture(described.threads)
            scan.finish()
        progress.clear()
        warn(scan.info()["warnings"])
        self.notes = described.notes
        self.scan, self.identity = scan, identity
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
            if result.ledger()["is_partial"]:
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
        gdb.write(f"warning: {line}\n", gdb.STDERR)


class running:
    """One command's use of the scan: the progress line, and errors in one
    line. `with running() as scan: ...`

    memory_limit: as options have it; None: the setting."""

    def __init__(
        self, memory_limit: int | None = None, timeout_s: float | None = None
    ) -> None:
        self.memory_limit = params.memory_limit(memory_limit)
        self.progress = Progress(
            params.progress(),
            timeout_s,
            # What is free changes while we look, for other reasons, too.
            None if params.memory_is_auto(memory_limit) else self.memory_limit,
        )

    def __enter__(self) -> Any:
        current.progress = self.progress
        try:
            scan = current.open(self.progress, self.memory_limit)
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
    if isinstance(problem, goref.Error):
        return gdb.GdbError(f"goref: {problem}")
    if isinstance(problem, MemoryError):
        return gdb.GdbError("goref: out of memory")
    if isinstance(problem, gdb.error):
        return gdb.GdbError(f"goref: {' '.join(str(problem).split())}")
    return problem


def register() -> None:
    for name in _EVENTS:
        registry = getattr(gdb.events, name, None)
        if registry is not None:
            registry.connect(current.drop)

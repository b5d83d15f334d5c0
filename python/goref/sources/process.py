# SPDX-License-Identifier: Apache-2.0
"""A process on this machine. goref stops it itself, or makes it fork."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import lifetime, live, native, params, procfs, standing
from ..errors import Error
from ..front import warn
from .source import Source

if TYPE_CHECKING:
    from .._goref import Scan
    from ..progress import Progress


class Process(Source):
    """A running process: it stands still only to be copied."""

    is_whole = True

    def __init__(
        self,
        pid: int,
        extent: str,
        *,
        max_pause_ms: int | None = None,
        max_nodes: int | None = None,
        with_snapshot: bool = False,
        threads: int | None = None,
        is_held: bool = False,
    ) -> None:
        """extent: what all questions need; nothing more can be read later.
        max_nodes: the largest number of nodes of a tree. threads: the number
        of our threads that copy; None: the setting. is_held: the process
        stands still until close()."""
        super().__init__()
        self._pid = pid
        self.needed = extent
        self.max_pause_ms = max_pause_ms
        self.max_nodes = max_nodes
        self.with_snapshot = with_snapshot
        self.threads = threads
        self.is_held = is_held
        self.look: live.Look | None = None
        self.check()
        self.life = lifetime.of_process(self.reader)

    @property
    def pid(self) -> int:
        return self._pid

    def check(self) -> None:
        """Raise an Error if the process cannot be attached."""
        if not 0 < self.pid < 1 << 31:
            raise Error(f"goref: not a process number: {self.pid}")
        try:
            native.load().Process(self.pid)
        except native.load().ProcessError as problem:
            raise procfs.why_not_attached(self.pid, str(problem)) from None
        self.reader = native.load().process_reader(self.pid)
        try:
            os.stat(f"/proc/{self.reader}/exe")
        except PermissionError:
            reason = native.load().why_not_traced(self.pid)
            raise procfs.why_not_attached(self.pid, reason) from None
        except OSError:
            raise procfs.why_not_attached(
                self.pid, procfs.NO_EXE
            ) from None

    def extent(self, extent: str) -> str:
        return self.needed

    def lifetime(self) -> lifetime.Lifetime | None:
        return self.life

    def _modules(self) -> list[live.Module]:
        """The executable, then the libraries, each with its separate debug
        file."""
        proc = f"/proc/{self.reader}/exe"
        files = [procfs.executable(self.reader, None, self.notes)]
        for path in procfs.mapped_files(self.reader):
            if not procfs.is_same_file(path, proc):
                files.append(procfs.Executable(path, path))
        debug_file = native.load().debug_file
        return [(f.path, debug_file(f.path), None, f.name) for f in files]

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Scan:
        deadline = live.Deadline(
            params.progress(), progress.timeout_s, progress.begin
        )
        try:
            return self._look(deadline, memory_limit, extent)
        finally:
            progress.reason = deadline.reason
            deadline.clear()

    def prepare(
        self, progress: live.Deadline, memory_limit: int | None, extent: str
    ) -> live.Look:
        """Read what can be read while the process runs."""
        modules = self._modules()
        warn(self.notes)
        way = live.Look
        if self.with_snapshot:
            from ..snapshot import Look

            way = Look
        return way(
            self.pid,
            modules,
            progress,
            self.max_pause_ms,
            memory_limit,
            extent,
            threads=self.threads or params.threads(),
            is_held=self.is_held,
        )

    def _look(
        self, progress: live.Deadline, memory_limit: int | None, extent: str
    ) -> Scan:
        it = self.prepare(progress, memory_limit, extent)
        nodes = self.max_nodes or params.max_nodes()
        it.announce(nodes)
        params.nodes_within(it.estimate, nodes, memory_limit)
        it.check_pause()
        self.look = it
        self._copy(it)
        it.finish()
        return it.scan

    def _copy(self, it: live.Look) -> None:
        try:
            it.copy()
        except Exception:
            if standing.of(self.pid) is not standing.Standing.ENDED:
                raise
            raise Error(
                f"goref: process {self.pid} ended meanwhile"
            ) from None

    def identify(self) -> tuple[Any, ...]:
        """A copy stays what it is; a process that is held may be killed."""
        if self.is_held and not (self.look and self.look.process.is_held()):
            raise Error(f"goref: process {self.pid} is held no more")
        return ()

    def close(self) -> None:
        if self.look is not None:
            self.look.release()

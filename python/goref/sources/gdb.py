# SPDX-License-Identifier: Apache-2.0
"""The target of gdb: a core, a process that gdb holds, or a remote target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gdb

from .. import native, params
from ..errors import Error
from ..front import warn
from .source import Source

if TYPE_CHECKING:
    from .._goref import Scan
    from ..progress import Progress
    from ..render.overview import Stop

# Not every gdb has all of these events: identify() finds what they would tell.
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
# The target stays: objects without pointers are read when they are needed.
_HELD = {"values": "goroutines", "sites": "heap"}


class Gdb(Source):
    """The selected inferior."""

    is_shared = True

    def __init__(self, on_move: Callable[[Source], None]) -> None:
        """on_move: called with this source when the program may have
        changed."""
        super().__init__()
        self.on_move = on_move
        self.is_watching = False

    def _moved(self, *_: object) -> None:
        self.moves += 1
        self.on_move(self)

    def _watch(self) -> None:
        """Watch gdb's events from the first scan on."""
        for name in () if self.is_watching else _EVENTS:
            registry = getattr(gdb.events, name, None)
            if registry is not None:
                registry.connect(self._moved)
        self.is_watching = True

    def extent(self, extent: str) -> str:
        return _HELD.get(extent, extent)

    def identify(self) -> tuple[Any, ...]:
        from ..ingdb import target

        try:
            return (self.moves, *target.identify())
        except gdb.error as problem:
            raise Error(f"goref: {' '.join(str(problem).split())}") from None

    def open(
        self, progress: Progress, memory_limit: int | None, extent: str
    ) -> Scan:
        from ..ingdb import target

        self._watch()
        goref = native.load()
        described = target.collect(goref)
        self.notes = described.notes
        warn(self.notes)
        is_native = described.kind == "native"
        scan: Scan = goref.Scan(
            kind=described.kind,
            read=gdb.selected_inferior().read_memory,
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
        return scan

    @property
    def pid(self) -> int | None:
        """The process; None: gdb has a core."""
        from ..ingdb import target

        inferior = gdb.selected_inferior()
        kind = target.kind_of(inferior)
        return inferior.pid if kind not in (None, "core") else None

    def files(self) -> list[tuple[str, str]]:
        from ..ingdb import target

        return target.files()

    def stop(self, scan: Scan) -> Stop | None:
        from ..ingdb import stop

        return stop.reason(scan)

    def address_of(self, text: str) -> int:
        from ..ingdb import expressions

        return expressions.address(text)

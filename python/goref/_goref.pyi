# SPDX-License-Identifier: Apache-2.0
"""The native half of goref: types and documentation.

Nothing here knows gdb. Everything runs on the thread that calls; Ctrl-C
(Python's signal check) raises KeyboardInterrupt from any long call and leaves
the scan as it was.
"""

from collections.abc import Callable, Sequence
from typing import Any

VERSION: str
"""Of goref-gdb."""

MAX_SAMPLES: int
"""Samples of a profile unless the user says otherwise."""

class Error(Exception):
    """What the scanner cannot do; str() is one line for a person."""

class FaultError(Error): ...
class FileError(Error): ...
class FormatError(Error): ...
class ArchitectureError(Error): ...
class NotGoError(Error): ...
class NoDwarfError(Error): ...
class LayoutError(Error): ...
class UnsettledError(Error): ...
class MismatchError(Error): ...
class ArgumentError(Error): ...
class NotFoundError(Error): ...
class LimitError(Error): ...

Registers = Sequence[int]
"""rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip (DWARF's order), fs_base."""

Place = tuple[str, int, int, bool, int]
"""Name, address, type number (NO_TYPE if not known), package variable?, the
address that it holds (0: none)."""

def check_writable(path: str) -> None:
    """FileError if a profile could not be written there. Changes nothing."""

def read_registers(tid: int) -> Registers:
    """Of a stopped thread that this process traces; OSError if not."""

class Scan:
    """One stopped target, opened once: what it holds does not change."""

    def __new__(
        cls,
        kind: str,
        read: Callable[[int, int], bytes | bytearray | memoryview],
        modules: Sequence[tuple[str, str | None, int | None]],
        threads: Sequence[tuple[int, Registers]],
        core: str | None = None,
        pid: int = 0,
        progress: Callable[[int, int], None] | None = None,
        cache: bool = False,
        prepare: bool = False,
    ) -> Scan:
        """Open a target.

        kind: "core", "native" or "remote".
        read: (address, length) -> the bytes; any exception but
            KeyboardInterrupt means that they are not there.
        modules: (path, separate debug file, load bias), executable first.
        threads: (lwp as the target counts, registers); none for cores.
        progress: called every 20 ms or so with the objects reached and those
            that there are, 0 and 0 outside of a walk; what it raises ends
            the call.
        cache: whether tables of debug information are kept in the user's
            cache folder.
        prepare: only do what can be done while the process still runs; then
            come estimate(), reserve(), and, while it stands still, capture(),
            and finish(), and nothing else before that.
        """
    def estimate(self) -> dict[str, int]:
        """What a scan costs: copy_bytes, of the process; table_bytes, and
        node_bytes of each of at most max_nodes, of memory; read_us, copy_us,
        for which a process stands still; is_rough: an upper bound, for the
        heap could not be read while it ran."""
    def reserve(self) -> None:
        """Take and touch the memory for the copy."""
    def capture(
        self, threads: Sequence[tuple[int, Registers]], copy: int = 0
    ) -> None:
        """Copy what is needed: the process may run again. copy: the number of
        a process that is a stopped copy of it, and is read in its place."""
    def finish(self) -> None:
        """Make a whole scan of what was captured."""
    def info(self) -> dict[str, Any]:
        """go_version, gc_phase, pointer_scheme, exe, core, pid, kind,
        build_id, missing_bytes, bad_headers, broken_list, warnings,
        goroutines, types."""
    def layout(self) -> str:
        """The resolved layout table as text."""
    def resolve(self, text: str) -> Place:
        """What a person typed. NotFoundError: perhaps gdb knows."""
    def complete(self, prefix: str) -> list[str]:
        """Names of package variables."""
    def set_progress(
        self, progress: Callable[[int, int], None] | None
    ) -> None: ...
    def walk(
        self,
        max_depth: int,
        max_nodes: int,
        places: Sequence[Place] = (),
        attribution: str = "nearest",
        per_goroutine: bool = False,
        keep_partial: bool = False,
    ) -> Result:
        """Walk the heap: from all roots, or only from places.

        attribution: whom to bill for what several roots reach: "nearest",
            or "first" with all that hangs on it.
        per_goroutine: a root of its own for each goroutine.
        keep_partial: KeyboardInterrupt ends the walk, and what was found
            until then is a result, whose ledger says so.
        """
    def why(
        self,
        address: int,
        max_depth: int,
        max_nodes: int,
        attribution: str = "nearest",
    ) -> dict[str, Any]:
        """address, object {base, bytes, type, offset} or None, reachable,
        root {name, kind, goroutine_id} or None, path [{name, type,
        address}], description of what is no object, gaps {cause: count}."""
    def verify(self, max_differences: int) -> dict[str, Any]:
        """Hold the walk against the allocator. At most so many differences
        (those without a reason always), 0: no limit.

        allocated, reached, kept (by the last collection) and kept_reached
        {objects, bytes}, is_most_lost (of these), stats (the runtime's own, or None) and rebuilt
        {objects, bytes}, free_slot_pointers, free_slots (the first of them)
        [(address, base of the object that has the pointer, or 0 for a
        root)], missed_pointers, unexplained, classes that differ [(span
        class, slot bytes or 0, allocated, reached)], differences [(address,
        bytes, type or None, reason or None)], gaps {cause: count}."""
    def objects(self, where: str | Callable[[str], None]) -> dict[str, int]:
        """Write a line for every reached object, by address: the address in
        hexadecimal, and the bytes of its slot. where: a file's name (it is
        written whole or not at all), or what takes pieces of the text. Gives
        objects, bytes."""

class Result:
    """What one walk found; keeps its scan alive."""

    def ledger(self) -> dict[str, Any]:
        """allocated, reached, typed, runtime_type, header, masked, unreached
        {objects, bytes}, gaps {cause: count}, phases_us, peak_private_bytes,
        is_partial."""
    def roots(
        self,
    ) -> list[tuple[str, str, str | None, str | None, int, int, int, int]]:
        """(name, kind, goroutine state, file, line, objects, bytes,
        goroutine id or 0), the most bytes first."""
    def types(self) -> list[tuple[str, int, int]]:
        """(type, objects, bytes), the most bytes first."""
    def write_profile(
        self, path: str, max_samples: int, partial: str | None = None
    ) -> dict[str, int]:
        """Write a pprof profile, whole or not at all; 0: no limit. partial:
        why it is not about all of the heap. Gives samples, folded, objects,
        bytes."""

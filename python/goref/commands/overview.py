# SPDX-License-Identifier: Apache-2.0
"""goref overview: a first look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import native, params, stop
from ..render.overview import TOP, OverviewReport
from ..render.scan import TOP as SCAN_TOP
from ..render.verdict import early_lines
from ..render.waste import share_of
from ..session import current, running
from ..verbs.waste import CHECKS, OF_VALUES
from . import hung
from .base import (
    answer_report,
    elapsed_us,
    graph_is_too_large,
    how,
    nodes,
    partial_reasons,
    why_limits,
)

if TYPE_CHECKING:
    from ..render.hung import HungReport
    from .._goref import (
        Dominators,
        Finalization,
        GoroutineList,
        Info,
        Leaks,
        Native,
        NativeLeaks,
        Panic,
        Result,
        RootTotal,
        Rss,
        Scan,
        Suspects,
        Waits,
        Waste,
    )

TOP_KEPT = 7
KEPT_DEPTH = 3
WASTED = 5.0  # percent of the heap, from which on a finding is named


def extent(_options: Any) -> str:
    """The object graph has C memory, too."""
    return "native"


def run(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        found = report(opened, options)
    answer_report(found, options)
    return list(found.partial)


def _suspect(scan: Scan, names: Sequence[str]) -> str | None:
    """The first package variable that refers to something."""
    for name in names:
        try:
            value = scan.resolve(name).value
            if value and scan.why(value, *why_limits("nearest")).is_object:
                return name
        except native.load().Error:
            continue
    return None


def _names(kept: Dominators | None, roots: Sequence[RootTotal]) -> list[str]:
    """Package variables: those that keep most alive, then those that most is
    billed to."""
    tops = kept.rows if kept else ()
    names = [r.name for r in tops if r.depth == 1 and r.kind == "global"]
    return names + [r.name for r in roots[:TOP] if r.kind == "global"]


def _ended() -> str:
    """Why a KeyboardInterrupt came."""
    ended = current.progress.reason if current.progress else ""
    return ended or "interrupted"


def _kept(
    scan: Scan, max_nodes: int, options: Any
) -> tuple[Dominators | None, str, bool]:
    """The holders that keep most alive; or why that is not known, and whether
    because it was ended. Too little memory for the graph makes no answer
    partial."""
    goref = native.load()
    reason = graph_is_too_large(scan, max_nodes, options.memory_limit)
    if reason:
        return None, reason, False
    try:
        if options.top is None:
            kept = scan.dominators(max_depth=KEPT_DEPTH, max_rows=TOP_KEPT)
        else:
            kept = scan.dominators(max_children=options.top)
        return kept, "", False
    except (goref.MemoryLimitError, MemoryError) as problem:
        return None, params.no_memory(problem), False
    except goref.LimitError as problem:
        return None, str(problem), False
    except KeyboardInterrupt:
        return None, _ended(), True


def _suspects(
    scan: Scan, kept: Dominators | None
) -> tuple[Suspects | None, str]:
    """None if there is no graph or no memory for more; or if the search was
    ended, and by what."""
    if kept is None:
        return None, ""
    try:
        return scan.suspects(), ""
    except (native.load().Error, MemoryError):
        return None, ""
    except KeyboardInterrupt:
        return None, _ended()


def _native(
    scan: Scan, kept: Dominators | None
) -> tuple[Native | None, NativeLeaks | None, str]:
    """C memory, while there is a graph; None: not known; or if the search was
    ended, and by what."""
    try:
        found = scan.native() if kept else None
        leaks = scan.native_leaks() if found and found.heaps else None
    except (native.load().Error, MemoryError):
        return None, None, ""
    except KeyboardInterrupt:
        return None, None, _ended()
    return found, leaks, ""


def _waits(scan: Scan) -> Waits | None:
    """Deadlocks, which need no walk; None: not known."""
    try:
        return scan.waits(0, 1, 1, False)
    except (native.load().Error, MemoryError):
        return None


def _leaks(scan: Scan, kept: Dominators | None) -> tuple[Leaks | None, str]:
    """The leaks, while there is a graph; None if not; or if the search was
    ended, and by what."""
    if kept is None:
        return None, ""
    try:
        return scan.leaks(), ""
    except (native.load().Error, MemoryError):
        return None, ""
    except KeyboardInterrupt:
        return None, _ended()


def _finalization(scan: Scan) -> tuple[Finalization | None, str]:
    """Finalizers, cleanups and pools; None: not known; or if the search was
    ended, and by what."""
    try:
        return hung.find_finalization(scan, True), ""
    except KeyboardInterrupt:
        return None, _ended()


def _hung(
    scan: Scan, leaks: Leaks, finalization: Finalization | None
) -> tuple[HungReport | None, str]:
    """Why goroutines wait; None: not known; or if the search was ended, and by
    what."""
    try:
        return hung.report(scan, leaks, finalization), ""
    except (native.load().Error, MemoryError):
        return None, ""
    except KeyboardInterrupt:
        return None, _ended()


def _retained(
    result: Result, options: Any
) -> tuple[Sequence[int | None], str]:
    """The bytes that each of the first roots alone keeps alive; none if memory
    is short; or why the search was ended."""
    count = SCAN_TOP if options.top is None else options.top
    try:
        return result.retained(max_roots=count), ""
    except (native.load().Error, MemoryError):
        return (), ""
    except KeyboardInterrupt:
        return (), _ended()


def _waste(
    scan: Scan, kept: Dominators | None
) -> tuple[Waste | None, str]:
    """Large findings; None if there is no graph or no memory for more; or if
    the search was ended, and by what. Checks that read values are left out:
    they would read all memory of a core."""
    if kept is None:
        return None, ""
    checks = tuple(check for check in CHECKS if check not in OF_VALUES)
    try:
        return scan.waste(checks, share_of(WASTED)), ""
    except (native.load().Error, MemoryError):
        return None, ""
    except KeyboardInterrupt:
        return None, _ended()


_PAGE_BYTES = 4096


def _resident(scan: Scan, info: Info) -> tuple[Rss | None, int | None]:
    """The resident memory: of a core or a saved file by classes, which takes
    no walk; of a process one number, because the page tables are not read in
    every stop."""
    if info.kind in ("core", "saved"):
        try:
            return scan.rss(False), None
        except (native.load().Error, MemoryError, KeyboardInterrupt):
            return None, None
    if info.kind == "remote" or not info.pid:
        return None, None
    try:
        with open(f"/proc/{info.pid}/statm", encoding="ascii") as file:
            return None, int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None, None


_PANIC = (120, 4, 2)  # the longest text, elements, depth of its value


def _panic(scan: Scan) -> Panic | None:
    """The end of the program; None: not known."""
    try:
        return scan.panic(*_PANIC)
    except (native.load().Error, MemoryError, KeyboardInterrupt):
        return None


def _places(scan: Scan) -> GoroutineList | None:
    """Where the goroutines are, for a first look; None: not known."""
    try:
        return scan.goroutines((), False, "userloc", 1)
    except (native.load().Error, MemoryError):
        return None


def report(scan: Scan, options: Any) -> OverviewReport:
    """The answer for the options memory_limit and top."""
    panic, waits = _panic(scan), _waits(scan)
    if current.progress:
        current.progress.announce(
            early_lines(scan.info(), panic, waits, _places(scan))
        )
    max_nodes = nodes(scan, params.max_nodes(), options.memory_limit)
    result = current.walk(params.max_depth(), max_nodes, (), "nearest", False)
    info, ledger = scan.info(), result.ledger()
    lost = partial_reasons(info, ledger)
    kept, unknown, unfinished = None, "the walk is not complete", ""
    if not ledger.is_partial:
        kept, unknown, is_ended = _kept(scan, max_nodes, options)
        if is_ended:
            lost, unfinished = [*lost, unknown], "object graph"
    suspects, ended = _suspects(scan, kept)
    if ended:
        lost, unfinished = [*lost, ended], "search for suspects"
    leaks = None
    if not unfinished:
        leaks, ended = _leaks(scan, kept)
        if ended:
            lost, unfinished = [*lost, ended], "search for leaks"
    finalization: Finalization | None = None
    if leaks is not None and not unfinished:
        finalization, ended = _finalization(scan)
        if ended:
            lost, unfinished = [*lost, ended], "search for finalizers"
    blocked: HungReport | None = None
    if leaks is not None and not unfinished:
        blocked, ended = _hung(scan, leaks, finalization)
        if ended:
            lost, unfinished = [*lost, ended], "search for the cause of waits"
    retained: Sequence[int | None] = ()
    if kept is not None and not unfinished:
        retained, ended = _retained(result, options)
        if ended:
            lost, unfinished = [*lost, ended], "retained sizes of roots"
    waste: Waste | None = None
    if not unfinished:
        waste, ended = _waste(scan, kept)
        if ended:
            lost, unfinished = [*lost, ended], "search for waste"
    # Those without objects come last.
    roots = [root for root in result.roots() if root.total.objects]
    resident, rss_bytes = _resident(scan, info)
    in_c, c_leaks, ended = _native(scan, kept)
    if ended and not unfinished:
        lost, unfinished = [*lost, ended], "search for leaks of C memory"
    return OverviewReport(
        tool_version=native.load().VERSION,
        partial=lost,
        info=info,
        ledger=ledger,
        roots=roots,
        types=result.types(),
        warnings=[*current.notes, *info.warnings],
        stop=stop.reason(scan),
        how=how(),
        suspect=_suspect(scan, _names(kept, roots)),
        suspects=suspects,
        waits=waits,
        leaks=leaks,
        top=options.top,
        kept=kept,
        unknown=unknown,
        unfinished=unfinished,
        resident=resident,
        native=in_c,
        native_leaks=c_leaks,
        rss_bytes=rss_bytes,
        panic=panic,
        hung=blocked,
        finalization=finalization,
        waste=waste,
        elapsed_us=elapsed_us(),
        retained=retained[: len(roots)],
    )

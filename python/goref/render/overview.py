# SPDX-License-Identifier: Apache-2.0
"""goref overview: sections, each a function that gives its lines and its keys
of the JSON document.

A further question adds its section to SECTIONS. A section only shows what the
report holds; what would cost a step of its own is named under "next"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .command import command, next_lines
from .dominators import below_document, branches, kept_lines
from .finalization import finalization_document, finalization_lines
from .ledger import gap_lines, gaps_document, total_document
from .native import overview_document, overview_lines
from .panic import cause_text, is_sent
from .report import BOTH, LOWER_BOUNDS, Report, partial_lines
from .rss import ZEROS, beside_zeros, zero_bytes
from .scan import Ranked, merged_roots, ranking, root_document
from .sizes import sizes_of
from .suspects import commands, suspects_line
from .table import of_how_many
from .target import collector_text, target_document, target_name
from .units import human_bytes, percent, seconds
from .waste import overview_document as waste_document
from .waste import overview_line as waste_line
from .verdict import (
    ended_line,
    goroutines_line,
    has_c_leak,
    is_blocked,
    is_hung,
    is_partial_in_c,
    state_counts,
    verdict_lines,
)

if TYPE_CHECKING:
    from .._goref import (
        Dominators,
        Finalization,
        Info,
        Leaks,
        Ledger,
        Native,
        NativeLeaks,
        Panic,
        RootTotal,
        Rss,
        Suspects,
        TypeTotal,
        Waits,
        Waste,
    )
    from .hung import HungReport
    from .report import Document

TOP = 5  # rows of JSON
TOP_BILLED = 3  # rows of the tables below what keeps most alive
NEXT = 5  # commands
_LINES = 4  # of commands as text, so that all fits on a screen
_GARBAGE_SHARE = 10  # of the heap: said from a tenth on


class Signal(NamedTuple):
    """The signal that ended or stopped the program."""

    name: str
    sent_by: int | None = None
    """The number of a process, if one has sent it."""
    addr: int | None = None
    """The address of a fault."""


class Stop(NamedTuple):
    """The thread that a signal came to, or that a debugger stopped."""

    pid: int
    thread: int
    goroutine_id: int | None
    signal: Signal | None


class OverviewReport(Report):
    """A first look.

    stop: None if the program goes on.
    how: the command up to the verb, as a person types it.
    suspect: without suspects, the package variable to ask about next.
    suspects, waits, leaks: None if they were not looked for.
    top: rows of each table; 0: all; not given: as many as fit.
    kept: what keeps most alive; None: unknown says why not.
    elapsed_us: the time of the command so far.
    retained: what each of roots alone keeps alive, as far as it is known.
    unfinished: what the last reason of partial has ended, if the walk was
        complete by then.
    resident: the classes of resident memory, if the target tells.
    rss_bytes: of a process, what the kernel says of it just now.
    panic: what ended the program, if anything did.
    hung: why goroutines wait, as `hung' says it; None: not known.
    finalization: finalizers, cleanups and pools; None: not known.
    native, native_leaks: C memory; None: not known.
    waste: findings that are large; None: not looked for."""

    info: Info
    ledger: Ledger
    roots: Sequence[RootTotal]
    types: Sequence[TypeTotal]
    warnings: Sequence[str] = ()
    stop: Stop | None = None
    how: str = "goref"
    suspect: str | None = None
    suspects: Suspects | None = None
    waits: Waits | None = None
    leaks: Leaks | None = None
    top: int | None = None
    kept: Dominators | None = None
    unknown: str = ""
    elapsed_us: int = 0
    retained: Sequence[int | None] = ()
    unfinished: str = ""
    resident: Rss | None = None
    rss_bytes: int | None = None
    panic: Panic | None = None
    hung: HungReport | None = None
    finalization: Finalization | None = None
    native: Native | None = None
    native_leaks: NativeLeaks | None = None
    waste: Waste | None = None

    def __post_init__(self) -> None:
        is_first = self.top is None and self.kept
        self.top = TOP if self.top is None else self.top
        self.top_billed = TOP_BILLED if is_first else self.top
        unknown = [None] * (len(self.roots) - len(self.retained))
        self.retained = [*self.retained, *unknown]
        if self.panic and not self.panic.kind:
            self.panic = None

    def lines(self) -> list[str]:
        lines = [line for make in SECTIONS for line in make(self).lines]
        lines = lines if lines[0] else lines[1:]
        return [*lines, f"took {seconds(self.elapsed_us)}"]

    def body(self) -> Document:
        body: Document = {}
        for make in SECTIONS:
            body |= make(self).keys
        return body


class Section(NamedTuple):
    """A part of the answer."""

    lines: Sequence[str] = ()
    """The lines to print; there may be none."""
    keys: Document = {}
    """Keys and values of the JSON document."""


def _partial_lines(report: OverviewReport) -> list[str]:
    reasons, ended = list(report.partial), []
    if report.unfinished:
        ended = partial_lines([reasons.pop()], f"no {report.unfinished}")
    consequence = BOTH if report.kept else LOWER_BOUNDS
    return [*partial_lines(reasons, consequence), *ended]


def _verdict(report: OverviewReport) -> Section:
    return Section([*verdict_lines(report), *_partial_lines(report)])


def _target(report: OverviewReport) -> Section:
    info = report.info
    return Section(
        [
            "",
            f"{target_name(info)} of {info.exe_path}",
            f"{info.go_version}, {collector_text(info.gc_phase)}",
        ],
        target_document(info),
    )


def _ended(report: OverviewReport) -> Section:
    """The signal that somebody has sent. Any other cause is the verdict."""
    panic = report.panic
    if panic is None:
        return Section(keys={"panic": None})
    keys: Document = {
        "kind": panic.kind,
        "text": cause_text(panic),
        "goroutine_id": panic.goroutine.id if panic.goroutine else None,
    }
    is_last = report.stop is None
    return Section(
        [ended_line(panic)] if is_sent(panic) and is_last else [],
        {"panic": keys},
    )


def _signal_text(signal: Signal, pid: int, is_ended: bool) -> str:
    text = f"stopped by {signal.name}"
    if signal.addr is not None:
        return f"{text} at address {signal.addr:#x}"
    if signal.sent_by == pid and is_ended:
        return f"{text}, which the Go runtime raised afterwards"
    if signal.sent_by == pid:
        return f"{text}, sent by the program itself"
    return (
        f"{text}, sent by process {signal.sent_by}" if signal.sent_by else text
    )


def _stop(report: OverviewReport) -> Section:
    stop = report.stop
    if stop is None:
        return Section(keys={"stopped_by": None})
    signal = stop.signal
    text = "stopped by a debugger, not by a signal"
    if signal:
        text = _signal_text(signal, stop.pid, report.panic is not None)
    text += f"; thread {stop.thread}"
    if stop.goroutine_id:
        text += f" runs goroutine {stop.goroutine_id}"
    if report.panic and is_sent(report.panic):
        text = f"{ended_line(report.panic)}; {text}"
    address = signal.addr if signal else None
    keys: Document = {
        "signal": signal and signal.name,
        "sent_by": signal and signal.sent_by,
        "address": None if address is None else f"{address:#x}",
        "thread": stop.thread,
        "goroutine_id": stop.goroutine_id,
    }
    return Section([text], {"stopped_by": keys})


def _heap(report: OverviewReport) -> Section:
    ledger = report.ledger
    allocated, reached = ledger.allocated, ledger.reached
    lines = ["heap: no object was found"]
    if allocated.objects:
        lines = [
            f"heap: {allocated.objects:,} objects, "
            f"{human_bytes(allocated.bytes)}; reached "
            f"{percent(reached.objects, allocated.objects)} of the objects, "
            f"{percent(reached.bytes, allocated.bytes)} of the bytes"
        ]
    lost = ledger.unreached
    if lost.bytes * _GARBAGE_SHARE >= max(allocated.bytes, 1):
        why = "not yet swept, or garbage since the last collection"
        if report.partial:
            why = "held by what is missing, or garbage"
        lines.append(
            f"not reached: {lost.objects:,} objects, "
            f"{human_bytes(lost.bytes)}: {why}"
        )
    keys: Document = {
        "allocated": total_document(allocated),
        "reached": total_document(reached),
        "unreached": total_document(lost),
    }
    return Section(lines, {"heap": keys})


_GROUPS = {
    "go_heap_live": "Go heap in use",
    "go_heap_idle": "Go heap free",
    "go_heap_scavenged": "Go heap free",
    "go_stacks": "goroutine stacks",
    "thread_stacks": "thread stacks",
    "modules": "executable and libraries",
    "mapped_files": "files",
    "anonymous_mappings": "other anonymous",
    "unknown": "unknown",
}


_STARTS = {"go_runtime": "Go runtime", "c_heap": "C heap"}


def _resident_text(resident: Rss) -> str:
    """The classes that have a hundredth of the memory or more."""
    groups: dict[str, int] = {}
    zeros = zero_bytes(resident.classes)
    whole = resident.total_bytes - zeros
    for row in resident.classes:
        if row.name == ZEROS:
            continue
        other = "other"
        for start, group in _STARTS.items():
            if row.name.startswith(start):
                other = group
        group = _GROUPS.get(row.name, other)
        groups[group] = groups.get(group, 0) + row.bytes
    parts = [
        f"{human_bytes(size)} {group}"
        for group, size in sorted(groups.items(), key=lambda g: -g[1])
        if size * 100 >= whole
    ]
    total = human_bytes(whole)
    if resident.residency == "unknown":
        return (
            f"resident: not known; the core has {total}: "
            f"{', '.join(parts)}{beside_zeros(zeros)}"
        )
    if resident.residency == "anonymous":
        total = f"at most {total} anonymous"
    return f"resident: {total}: {', '.join(parts)}"


def _resident(report: OverviewReport) -> Section:
    found, rss_bytes = report.resident, report.rss_bytes
    if found:
        is_exact = found.residency == "exact"
        is_known = found.residency != "unknown"
        return Section(
            [_resident_text(found)],
            {
                "resident": {
                    "residency": found.residency,
                    "rss_bytes": found.total_bytes if is_exact else None,
                    "anonymous_bytes": (
                        found.anonymous_bytes if is_known else None
                    ),
                }
            },
        )
    if rss_bytes is None:
        return Section(keys={"resident": None})
    about: Document = {
        "residency": "unknown",
        "rss_bytes": rss_bytes,
        "anonymous_bytes": None,
    }
    return Section(
        [f"resident: about {human_bytes(rss_bytes)} (Rss)"],
        {"resident": about},
    )


def _c_memory(report: OverviewReport) -> Section:
    """C memory, if it is some part of the resident memory."""
    found = report.native
    if not found or not found.heaps:
        return Section(keys={"c_memory": None})
    whole = report.rss_bytes or 0
    if report.resident:
        zeros = zero_bytes(report.resident.classes)
        whole = report.resident.total_bytes - zeros
    return Section(
        overview_lines(
            found, report.native_leaks, whole, is_partial_in_c(report)
        ),
        {"c_memory": overview_document(found, report.native_leaks)},
    )


def _goroutines(report: OverviewReport) -> Section:
    info = report.info
    rows, system = state_counts(info)
    keys: Document = {
        "total": info.goroutines,
        "system": system,
        "states": [
            {
                "state": row.state,
                "wait_reason": row.wait_reason,
                "count": row.goroutines,
            }
            for row in rows
        ],
    }
    return Section([goroutines_line(info)], {"goroutines": keys})


def _blocked(report: OverviewReport) -> Section:
    """Who waits for each other, and who for ever: the verdict says it."""
    waits, leaks = report.waits, report.leaks
    keys: Document = {
        "deadlocks": waits and [list(d.ids) for d in waits.deadlocks],
        "leaked": leaks and leaks.leaked,
    }
    return Section(keys=keys)


def _top(
    title: str,
    rows: Sequence[Ranked],
    report: OverviewReport,
    unit: str = "size",
) -> list[str]:
    rows = [row for row in rows if row.objects]
    shown = rows[: report.top_billed or None]
    if not shown:
        return []
    title += of_how_many(len(shown), len(rows))
    return ranking(title, shown, report.ledger.reached.bytes, unit)


def _kept(report: OverviewReport) -> Section:
    kept = report.kept
    if kept is None:
        line = f"what keeps most alive is not known: {report.unknown}"
        keys: Document = {"dominators": None, "no_dominators": report.unknown}
        return Section(["", line], keys)
    first = branches(kept.rows)
    document: Document = sizes_of(kept, "reached")
    keys = {"dominators": document, "no_dominators": None}
    if first is not None and first.below:
        document |= below_document(first)
    is_empty = not report.ledger.allocated.objects and not kept.reached_bytes
    return Section([] if is_empty else kept_lines(kept), keys)


def _finalization(report: OverviewReport) -> Section:
    """Finalizers, cleanups and pools, which should have freed memory."""
    found = report.finalization
    return Section(
        finalization_lines(found),
        {"finalization": finalization_document(found)},
    )


def _waste(report: OverviewReport) -> Section:
    """Memory that could be saved, if one change would save much."""
    line = waste_line(report.waste) if report.waste else ""
    return Section(
        [line] if line else [], {"waste": waste_document(report.waste)}
    )


def _suspects(report: OverviewReport) -> Section:
    found = report.suspects
    if not found:
        return Section(keys={"suspects": None})
    keys: Document = {
        "suspects": [
            {"name": s.name, **sizes_of(s, "retained")}
            for s in found.suspects
        ]
    }
    lines = []
    if is_blocked(report) and not found.suspects:
        # The verdict has not said it.
        lines.append(suspects_line(found, bool(report.partial)))
    return Section(lines, keys)


def _holders(report: OverviewReport) -> Section:
    roots = zip(report.roots[: report.top or None], report.retained)
    return Section(
        _top(
            "Billed to the nearest root",
            merged_roots(report.roots, report.retained),
            report,
            "billed",
        ),
        {"roots": [root_document(root, size) for root, size in roots]},
    )


def _types(report: OverviewReport) -> Section:
    rows = [Ranked(t.type, *t.total) for t in report.types]
    return Section(
        _top("Top types by bytes", rows, report),
        {
            "types": [
                {"type": type_, **total_document(total)}
                for type_, total in report.types[: report.top or None]
            ]
        },
    )


def _doubts(report: OverviewReport) -> Section:
    """Why the figures may not be the whole truth."""
    # The person at the terminal has read the warnings: opening prints them.
    gaps = report.ledger.gaps
    lines = [line.strip() for line in gap_lines(gaps)]
    return Section(
        ["", *lines] if lines else [],
        {"warnings": list(report.warnings), "gaps": gaps_document(gaps)},
    )


def _closer(report: OverviewReport) -> list[tuple[str, str]]:
    """Commands that look closer at what holds most, and what they show."""
    found = report.suspects.suspects if report.suspects else ()
    if found:
        who = command(report.how, "suspects")
        first = commands(found[0], report.how)[0]
        return [
            (who, "the largest holders, and what accumulates in them"),
            (first, f"a closer look at {found[0].name}"),
        ]
    named = report.suspect
    # After a crash, whoever holds a little is no cause.
    if not named or (report.panic and not is_sent(report.panic)):
        return []
    return [
        (
            command(report.how, "dominators", named),
            f"what {named} keeps alive",
        ),
        (command(report.how, "why", named), "the chain of references to it"),
    ]


def _causes(report: OverviewReport) -> list[tuple[str, str]]:
    """Commands that look closer at what is wrong, the worst first."""
    how = report.how
    rows = []
    if report.panic and not is_sent(report.panic):
        what = "what ended the program: its calls and values"
        rows.append((command(how, "panic"), what))
    if (
        (report.waits and report.waits.deadlocks)
        or is_hung(report)
        or (report.panic and report.panic.kind == "fatal error")
    ):
        what = "why goroutines wait, and for whom"
        rows.append((command(how, "hung"), what))
    if report.leaks and report.leaks.leaked:
        what = "goroutines that can never wake, and what they retain"
        rows.append((command(how, "leaks"), what))
    if has_c_leak(report):
        what = "blocks of C that nothing holds, and what lies beside them"
        rows.append((command(how, "native", "leaks"), what))
    return [*rows, *_closer(report)]


def _next(report: OverviewReport) -> Section:
    found = report.resident
    is_known = not found or found.residency != "unknown"
    memory = "the resident memory" if is_known else "the core's memory"
    rss = (["rss"], f"where {memory} is, also outside the heap")
    saved = (["waste"], "what could be saved, and how")
    others = [
        *([saved] if _waste(report).lines else []),
        (["hung"], "what goroutines do and wait for"),
        *([rss] if _resident(report).lines else []),
        (["scan"], "all tables: roots and types by bytes and objects"),
        (["scan", "--out", "refs.pb"],
         "the tree, for: go tool pprof refs.pb"),
        (["verify"], "check that goref sees all of the heap (a second walk)"),
    ]  # fmt: skip
    rows = dict(_causes(report))
    for words, what in others:
        if len(rows) < NEXT:
            rows.setdefault(command(report.how, *words), what)
    return Section(next_lines(rows.items(), _LINES), {"next": list(rows)})


SECTIONS: tuple[Callable[[OverviewReport], Section], ...] = (
    _verdict,
    _target,
    _ended,
    _stop,
    _heap,
    _resident,
    _c_memory,
    _goroutines,
    _blocked,
    _finalization,
    _waste,
    _kept,
    _suspects,
    _holders,
    _types,
    _doubts,
    _next,
)

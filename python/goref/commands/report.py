# SPDX-License-Identifier: Apache-2.0
"""goref report: all answers as one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .. import args, front, native, params, partial, scratch, shell
from ..errors import Error
from ..render.panic import PanicReport
from ..render.scan import ScanReport
from ..render.target import target_name
from ..render.histogram import HistogramReport
from ..render.leaks import LeaksReport
from ..render.rss import RssReport
from ..render.sites import SitesReport
from ..render.suspects import SuspectsReport
from ..render.waits import WaitsReport
from ..render.waste import MIN_SHARE, WasteReport, share_of
from ..render.written import WrittenReport
from ..report import cards, limits, page, tree, values
from ..session import current, running
from ..verbs import VERBS
from . import hung, overview, waits
from . import native as native_memory
from .base import (
    CUT_SAMPLES,
    answer_report,
    check_has,
    check_writable,
    how,
    nodes,
    partial_reasons,
)

if TYPE_CHECKING:
    from .._goref import HistogramRow, Result, Scan
    from ..render.report import Document, Report

_MAX_DEPTH = 64  # of the dominator tree


def extent(_options: Any) -> str:
    return "report"


def check(options: Any) -> None:
    path = _file(options.words)
    _check_outside_gdb(path)
    check_writable(path)


def run(options: Any) -> list[str]:
    path = _file(options.words)
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as scan:
        if options.values:
            check_has(scan, "values")
        found = _Answers(scan, options).document()
    text = limits.fitting(found, page)
    try:
        native.load().write_file(path, text)
    except native.load().Error as problem:
        raise Error(f"goref: {problem}") from None
    report = WrittenReport(
        tool_version=native.load().VERSION,
        partial=found["partial"],
        out=path,
        bytes=len(text),
        missing=found["missing"],
    )
    answer_report(report, options)
    return list(report.partial)


def _file(words: list[str]) -> str:
    if len(words) != 1:
        raise args.UsageError(f"one FILE, not {' '.join(words) or 'none'}")
    return args.file_name(words[0]) if front.current.is_gdb else words[0]


def _check_outside_gdb(path: str) -> None:
    """Error in gdb: making the page takes memory that a debugger should not
    take. The message says how to make the page elsewhere."""
    if not front.current.is_gdb:
        return
    raise Error(f"goref: a report is made outside of gdb: {_way(path)}")


def _way(path: str) -> str:
    """The commands that make the page outside of gdb."""
    command = shell.command("open", "FILE", "report", path)
    return f"run `goref save FILE' here, then `{command}' in a shell"


class _Answers:
    """The answers to all questions of one stop. One that fails is missing,
    with the reason; Ctrl-C or a time limit leaves those that follow out."""

    def __init__(self, scan: Scan, options: Any) -> None:
        self.scan = scan
        self.options = options
        self.version = native.load().VERSION
        self.partial: list[str] = []
        self.missing: dict[str, str] = {}
        self.ended = ""
        self.parts: dict[str, Any] = {}
        self.types: Sequence[HistogramRow] = ()

    def document(self) -> dict[str, Any]:
        result = self._walk()
        whole = None if result.ledger().is_partial else result
        for name, ask in (
            ("heap", lambda: self._heap(result, whole)),
            ("overview", self._overview),
            ("hung", self._hung),
            ("waits", self._waits),
            ("goroutines", self._goroutines),
            ("panic", self._panic),
            ("suspects", self._suspects),
            ("dominators", self._dominators),
            ("references", lambda: self._references(result)),
            ("types", self._types),
            ("leaks", self._leaks),
            ("waste", self._waste),
            ("sites", self._sites),
            ("native", self._native),
            ("native_leaks", self._native_leaks),
            ("rss", self._rss),
            ("objects", self._objects),
            ("type_holders", self._type_holders),
        ):
            self._ask(name, ask)
        if "heap" not in self.parts:  # every section stands on it
            raise Error(f"goref: {self.missing['heap']}")
        found = {
            "schema": WrittenReport.schema,
            "tool_version": self.version,
            "complete": not self.partial,
            "partial": self.partial,
            "missing": self.missing,
            "with_values": bool(self.options.values),
            "made_at": datetime.now(timezone.utc).isoformat(
                timespec="seconds"
            ),
            "command": how(),
            "modules": limits.modules(self.scan.info()),
            **self.parts,
        }
        return values.shown(found, with_values=bool(self.options.values))

    def _walk(self) -> Result:
        max_nodes = nodes(
            self.scan, params.max_nodes(), self.options.memory_limit
        )
        result: Result = current.walk(
            params.max_depth(), max_nodes, (), "nearest", False
        )
        self.partial += partial_reasons(self.scan.info(), result.ledger())
        if result.ledger().is_partial:
            self.ended = self.partial[0]
        return result

    def _ask(self, name: str, ask: Callable[[], Document | None]) -> None:
        goref = native.load()
        if self.ended and name not in ("heap", "references"):
            self.missing[name] = self.ended
            return
        try:
            self.parts[name] = ask()
        except (goref.MemoryLimitError, MemoryError) as problem:
            self.missing[name] = params.no_memory(problem)
        except (goref.Error, Error, OSError) as problem:
            self.missing[name] = str(problem).removeprefix("goref: ")
        except KeyboardInterrupt:
            self._end()
            self.missing[name] = self.ended

    def _end(self) -> None:
        """Ask nothing more: Ctrl-C, or the time limit."""
        reason = current.progress.reason if current.progress else ""
        self.ended = reason or "interrupted"
        self.partial.append(self.ended)

    def _lost(self, found: Any) -> list[str]:
        """The parts that the answer lacks; the page lacks all of them
        together."""
        lost = partial.reasons(self.scan.info(), found)
        self.partial += [line for line in lost if line not in self.partial]
        return lost

    def _known(self, report: Report) -> Report:
        """An answer that says itself what it lacks."""
        self.partial += [r for r in report.partial if r not in self.partial]
        return report

    def _heap(self, result: Result, whole: Result | None) -> Document:
        roots = result.roots()
        info = self.scan.info()
        try:
            retained = whole.retained(limits.ROWS) if whole else ()
        except (native.load().Error, MemoryError):
            retained = ()
        except KeyboardInterrupt:
            retained = ()
            self._end()
        return ScanReport(
            tool_version=self.version,
            partial=self._lost(result.ledger()),
            info=info,
            ledger=result.ledger(),
            roots=roots,
            types=(),
            top=limits.ROWS,
            warnings=[*current.notes, *info.warnings],
            retained=retained,
            with_retained=bool(retained),
        ).document() | {
            "nroots": sum(bool(root.total.objects) for root in roots),
            "build_id": info.build_id,
            "target_name": target_name(info),
        }

    def _overview(self) -> Document:
        options = args.defaults(
            VERBS["overview"].options,
            memory_limit=self.options.memory_limit,
            top=limits.FIRST,
        )
        report = overview.report(self.scan, options)
        own = report.stop.pid if report.stop else None
        return {**self._known(report).document(), "own_pid": own}

    def _hung(self) -> Document:
        return limits.hung(self._known(hung.report(self.scan)).document())

    def _waits(self) -> Document:
        found = self.scan.waits(0, limits.WAITS, limits.IDS)
        return limits.waits(
            WaitsReport(
                tool_version=self.version,
                partial=self._lost(None),
                found=found,
                how=how(),
            ).document(),
            waits.stacks(self.scan, found),
            found,
        )

    def _goroutines(self) -> Document:
        found = self.scan.goroutines(
            (), False, "stack", limits.IDS, with_bytes=True
        )
        calls = {
            group.first: self.scan.backtrace(
                found.rows[group.first].id, limits.CALLS
            )
            for group in found.groups[: limits.GROUPS]
        }
        return limits.goroutines(found, calls)

    def _panic(self) -> Document:
        found = self.scan.panic()
        calls = None
        if found.goroutine:
            calls = self.scan.backtrace(found.goroutine.id, limits.CALLS)
        return PanicReport(
            tool_version=self.version,
            partial=self._lost(None),
            panic=found,
            backtrace=calls,
        ).document()

    def _suspects(self) -> Document:
        found = self.scan.suspects()
        return SuspectsReport(
            tool_version=self.version,
            partial=self._lost(found),
            found=found,
            how=how(),
        ).document()

    def _dominators(self) -> Document:
        found = self.scan.dominators(
            max_depth=_MAX_DEPTH, max_rows=limits.NODES
        )
        return tree.of_dominators(found)

    def _references(self, result: Result) -> Document:
        with scratch.files(1) as (path,):
            result.write_profile(path, limits.PATHS, None, "jsonl")
            with open(path, encoding="utf-8", errors="replace") as lines:
                return tree.of_references(lines)

    def _types(self) -> Document:
        found = self.scan.histogram("type", True)
        self.types = found.rows
        return HistogramReport(
            tool_version=self.version,
            partial=self._lost(found),
            found=found,
            with_retained=True,
            top=limits.ROWS,
        ).document() | {"nrows": len(found.rows)}

    def _leaks(self) -> Document:
        found = self.scan.leaks()
        return limits.leaks(
            LeaksReport(
                tool_version=self.version,
                partial=self._lost(found),
                found=found,
                top=limits.GROUPS,
                how=how(),
            ).document()
        )

    def _waste(self) -> Document:
        found = self.scan.waste(None, share_of(MIN_SHARE))
        report = WasteReport(
            tool_version=self.version,
            partial=self._lost(found),
            found=found,
            top=limits.ROWS,
        )
        return report.document() | {
            "nrows": len(found.rows),
            "notes": report.notes(),
            "summary": report.summary(),
        }

    def _sites(self) -> Document:
        found = self.scan.sites(True)
        lost = self._lost(found)
        if found.is_cut:
            lost.append(CUT_SAMPLES)
        return limits.sites(
            SitesReport(
                tool_version=self.version,
                partial=lost,
                found=found,
                by="site,root",
                top=limits.SITES,
            ).document(),
            len(found.rows),
        )

    def _native(self) -> Document | None:
        """None: the program has no C memory, and nothing is kept for C."""
        report = native_memory.memory(self.scan, None)
        found = report.found
        if not (found.heaps or found.is_expected or report.kept.references):
            return None
        return limits.native(self._known(report).document()) | {
            "nothing": report.nothing or None
        }

    def _native_leaks(self) -> Document | None:
        if not self.parts.get("native"):
            return None
        report = native_memory.leaked(self.scan, None, self.options.values)
        if not report.found.is_known:
            return None
        return limits.native_leaks(self._known(report).document())

    def _rss(self) -> Document:
        found = self.scan.rss()
        return RssReport(
            tool_version=self.version,
            partial=self._lost(found),
            found=found,
        ).document() | {"texts": {c.name: c.text for c in found.classes}}

    def _objects(self) -> Document:
        names = cards.types(self._known_types())
        return cards.objects(
            self.scan.cards(names, cards.OBJECTS, cards.CARDS), names
        )

    def _type_holders(self) -> Document:
        names = cards.largest(self._known_types(), cards.HELD_TYPES)
        return cards.type_holders(
            self.scan.type_holders(names, cards.HOLDERS)
        )

    def _known_types(self) -> Sequence[HistogramRow]:
        if "types" in self.missing:
            raise Error(self.missing["types"])
        return self.types

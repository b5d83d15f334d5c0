# SPDX-License-Identifier: Apache-2.0
"""goref histogram: the objects of the heap, counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import args, native, partial
from ..render.histogram import HistogramReport
from ..render.sites import SitesReport
from ..session import running
from .base import CUT_SAMPLES, answer_report


def check(options: Any) -> None:
    args.matcher(options.filter)
    if options.retained and _is_by_site(options):
        raise args.UsageError(
            "sites have only sampled objects: --retained goes with other keys"
        )
    if options.weight != "bytes" and _is_by_site(options):
        raise args.UsageError(
            "sites have bytes of samples: --weight goes with other keys"
        )
    if options.weight != "bytes" and options.by == "holder":
        raise args.UsageError(
            "the collector scans no C memory: --by holder and --weight "
            "exclude each other"
        )
    if options.exact and options.by != "type":
        raise args.UsageError("--exact takes a type: it goes with --by type")
    if options.by == "holder" and options.retained:
        raise args.UsageError(
            "--by holder counts C memory alone: leave out --retained"
        )
    if not options.garbage:
        return
    if options.retained or options.exact:
        raise args.UsageError("garbage is not held: it has no retained size")
    if options.by in ("root", "goroutine", "field", "holder", "site,root"):
        raise args.UsageError(f"garbage is not held: it has no {options.by}")


def _is_by_site(options: Any) -> bool:
    return str(options.by).startswith("site")


def extent(options: Any) -> str:
    return "sites" if _is_by_site(options) else "native"


def run(options: Any) -> list[str]:
    is_wanted = args.matcher(options.filter)
    if _is_by_site(options):
        return _sites(options, is_wanted)
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        found = opened.histogram(
            options.by,
            options.retained,
            options.garbage,
            options.exact,
            options.weight,
        )
        report = HistogramReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(opened.info(), found),
            found=found,
            by=options.by,
            with_retained=options.retained,
            is_garbage=options.garbage,
            exact=options.exact,
            weight=options.weight,
            is_wanted=is_wanted,
            top=options.top,
        )
    answer_report(report, options)
    return list(report.partial)


def _sites(options: Any, is_wanted: Callable[[str], bool] | None) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        found = opened.sites(options.by == "site,root", options.garbage)
        lost = partial.reasons(opened.info(), found)
    if found.is_cut:
        lost.append(CUT_SAMPLES)
    report = SitesReport(
        tool_version=native.load().VERSION,
        partial=lost,
        found=found,
        by=options.by,
        is_garbage=options.garbage,
        is_wanted=is_wanted,
        top=options.top,
    )
    answer_report(report, options)
    return lost

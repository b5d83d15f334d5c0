# SPDX-License-Identifier: Apache-2.0
"""goref scan: who holds how much."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import args, evaluate, native, params, stamp
from ..errors import Error
from ..render.scan import TOP as SCAN_TOP
from ..render.scan import ScanReport
from ..session import current, running
from .base import (
    CUT_SAMPLES,
    answer_report,
    check_writable,
    elapsed_us,
    nodes,
    partial_reasons,
    why_limits,
)

if TYPE_CHECKING:
    from .._goref import Dominators, Ledger, Result, Scan


def extent(options: Any) -> str:
    return "sites" if options.sites else "heap"


def check(options: Any) -> None:
    for name in ("view", "format"):
        if name in options.given and options.out is None:
            raise args.UsageError(f"--{name} is about the profile: add --out")
    if options.sites:
        _check_sites(options)
    if options.view != "references" and options.words:
        raise args.UsageError(
            f"--view {options.view} is about the whole program"
        )
    stamp.of(options)
    check_writable(options.out)


def run(options: Any) -> list[str]:
    with running(options.memory_limit, options.timeout) as opened:
        report = _scan(opened, options)
    answer_report(report, options)
    return list(report.partial)


def _check_sites(options: Any) -> None:
    """One line for what makes no sense together."""
    if options.out is None:
        raise args.UsageError("--sites is about the profile: add --out")
    if options.words:
        raise args.UsageError("--sites is about the whole program")
    if options.view != "references":
        raise args.UsageError("--sites and --view: give one of them")
    if options.weight != "bytes":
        raise args.UsageError(
            "--sites estimates bytes from samples: leave out --weight"
        )
    if options.attribution != "nearest" or options.per_goroutine:
        raise args.UsageError(
            "--sites bills to the nearest root: leave out --attribution and "
            "--per-goroutine"
        )


def _scan(scan: Scan, options: Any) -> ScanReport:
    goref = native.load()
    places = tuple(
        evaluate.held_by(scan, e, why_limits(options.attribution))
        for e in dict.fromkeys(options.words)
    )
    wanted = options.max_nodes or params.max_nodes()
    result = current.walk(
        options.max_depth or params.max_depth(),
        nodes(scan, wanted, options.memory_limit),
        places,
        options.attribution,
        options.per_goroutine,
        options.weight,
    )
    info = scan.info()
    ledger = result.ledger()
    lost = partial_reasons(info, ledger)
    roots = result.roots()
    retained: Sequence[int | None] = ()
    kept = None
    if not ledger.is_partial:
        retained = _retained(scan, result, places, options)
        kept = _kept(scan, places, options)
    samples = options.max_samples
    profile = sampling = None
    begin = time.monotonic()
    if options.out is not None:
        view = _view(result, ledger, options)
        sampling = view.sampling()
        if sampling is not None and sampling.is_cut:
            lost.append(CUT_SAMPLES)
        profile = view.write_profile(
            options.out,
            goref.MAX_SAMPLES if samples is None else samples,
            ", ".join(lost) or None,
            options.format,
            *stamp.of(options),
            options.root_labels,
        )
    phases = ledger.phases_us
    output = phases.output + round((time.monotonic() - begin) * 1e6)
    return ScanReport(
        tool_version=goref.VERSION,
        partial=lost,
        info=info,
        ledger=ledger._replace(phases_us=phases._replace(output=output)),
        roots=roots,
        types=result.types(),
        top=options.top,
        places=options.words,
        attribution=options.attribution,
        out=options.out,
        format=options.format,
        profile=profile,
        sampling=sampling,
        warnings=[*current.notes, *info.warnings],
        retained=retained,
        with_retained=options.retained,
        kept=kept,
        weight=options.weight,
        elapsed_us=elapsed_us(),
        graph_us=sum(scan.graph_phases()),
    )


def _view(result: Result, ledger: Ledger, options: Any) -> Result:
    """The result from which the profile is made."""
    limits = (
        options.max_depth or params.max_depth(),
        options.max_nodes or params.max_nodes(),
    )
    if options.sites:
        if ledger.is_partial:
            raise Error("goref: no sites: the walk is not complete")
        return result.sites(*limits)
    if options.view == "references":
        return result
    if ledger.is_partial:
        raise Error(
            "goref: no view of dominators: the walk is not complete"
        )
    return result.dominators(*limits)


def _kept(
    scan: Scan, places: tuple[Any, ...], options: Any
) -> Dominators | None:
    """The holders that keep most alive, if the object graph is there."""
    if places or options.json or not any(scan.graph_phases()):
        return None
    rows = SCAN_TOP if options.top is None else options.top
    try:
        return scan.dominators(
            max_depth=1, max_children=rows, weight=options.weight
        )
    except (native.load().Error, MemoryError):
        return None


def _retained(
    scan: Scan, result: Result, places: tuple[Any, ...], options: Any
) -> Sequence[int | None]:
    """The bytes that each root alone keeps alive; of the first roots if nobody
    asked and the object graph is there; none if it would have to be made."""
    if places and options.retained:
        found = scan.dominators(places, weight=options.weight).asked
        sizes = {
            place[0]: row.retained_bytes for place, row in zip(places, found)
        }
        return [sizes.get(root.name) for root in result.roots()]
    if options.retained:
        return result.retained()
    if places or not any(scan.graph_phases()):
        return ()
    return result.retained(max_roots=SCAN_TOP)

# SPDX-License-Identifier: Apache-2.0
"""goref diff: shows what has grown from one heap to another. The two sides are
opened, asked for their totals and closed one after the other."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import (
    args,
    difference,
    front,
    lifetime,
    native,
    scratch,
    sides,
    stamp,
    survivors,
    trees,
)
from ..errors import Error
from ..render.diff import DiffReport
from ..render.units import human_bytes
from ..session import current, running
from ..sources import Source
from . import diff_page
from .base import ConditionHolds, answer_report, check_writable
from .diff_totals import totals

_EXTENT = "sites"
_PATHS = 1000  # that are named


class _Asked(NamedTuple):
    """One side: its totals, the files with its tree and its addresses, and the
    run of the program."""

    side: sides.Side
    totals: Any
    tree: str
    addresses: str
    life: lifetime.Lifetime | None


def check(options: Any) -> None:
    diff_page.check(options)


def run(options: Any) -> list[str]:
    loaded = _loaded() if front.current.is_gdb else None
    if loaded is None and front.current.is_gdb and len(options.words) == 1:
        raise Error(
            "goref: gdb looks at no program to compare with: write `goref "
            "diff OLD NEW', or open a core or a process first"
        )
    old, new = sides.parse(options.words, loaded)
    _check_options(options, (old, new))
    mark = stamp.of(options)
    for out in (options.out, options.html):
        _check_out(out, (*old.files, *new.files))
    with scratch.files(4) as files:
        both = (
            _ask(old, "OLD", files[:2], options),
            _ask(new, "NEW", files[2:], options),
        )
        report = _compare(*both, options, mark)
    answer_report(report, options)
    _check_growth(report, options)
    return list(report.partial)


def _loaded() -> sides.Side | None:
    """The program that gdb looks at, or the file of `goref open', as a
    side."""
    source = current.look()
    try:
        source.identify()
    except Error:
        return None
    files = tuple(name for _, name in source.files())
    return sides.Side((), source.pid, files, True)


def _check_options(options: Any, both: tuple[sides.Side, sides.Side]) -> None:
    """Some options are about processes that a side attaches to."""
    if any(side.pid is not None and not side.is_open for side in both):
        return
    for name in ("max-pause", "snapshot", "threads"):
        if name in options.given:
            raise args.UsageError(
                f"--{name} is about a process: neither OLD nor NEW is a PID"
            )


def _check_out(out: str | None, files: tuple[str, ...]) -> None:
    check_writable(out)
    for file in files:
        if out and os.path.exists(out) and os.path.samefile(out, file):
            raise Error(f"goref: cannot write {out}: it is compared")


def _source(side: sides.Side, options: Any) -> Source:
    """The source of a side."""
    kind, *places = side.source
    if kind == "core":
        from ..sources import core

        return core.Core(places[-1], places[0] if places[1:] else None)
    if kind == "open":
        from ..sources import saved

        return saved.Saved(places[0])
    from ..sources import process

    assert side.pid is not None
    return process.Process(
        side.pid,
        _EXTENT,
        max_pause_ms=options.max_pause,
        with_snapshot=options.snapshot,
        threads=options.threads,
    )


def _ask(
    side: sides.Side, what: str, files: list[str], options: Any
) -> _Asked:
    """Ask one side. Errors name the side.

    files: two paths, for the tree and for the addresses."""
    if side.is_open:
        return _totals(side, files, options)
    try:
        source = _source(side, options)
        with current.instead(source):
            try:
                return _totals(side, files, options)
            finally:
                current.close()
    except Error as problem:
        said = str(problem).removeprefix("goref: ")
        where = what if side.name in said else f"{what}, {side.name}"
        raise Error(f"goref: {where}: {said}") from None


def _totals(side: sides.Side, files: list[str], options: Any) -> _Asked:
    tree, addresses = files
    with running(options.memory_limit, options.timeout, _EXTENT) as scan:
        document, _ = totals(
            scan,
            options.memory_limit,
            tree,
            addresses if options.survivors else None,
            diff_page.how(side),
        )
        if options.html is not None:
            document["modules"] = diff_page.modules(scan.info())
        life = _life(side, scan)
    return _Asked(side, document, tree, addresses, life)


def _life(side: sides.Side, scan: Any) -> lifetime.Lifetime | None:
    """The run of the program. A process may have begun another program
    meanwhile."""
    before = current.source.lifetime() if current.source else None
    return lifetime.of_target(scan.info(), before)


def _compare(
    old: _Asked, new: _Asked, options: Any, mark: stamp.Stamp
) -> DiffReport:
    before, after = trees.read(old.tree), trees.read(new.tree)
    partial = [
        f"{what}: {reason}"
        for what, asked in (("OLD", old), ("NEW", new))
        for reason in asked.totals["partial"]
    ]
    if options.out is not None:
        profile = trees.difference(before, after)
        native.load().write_tree_profile(
            options.out,
            *profile,
            comment=f"{new.side.name} minus {old.side.name}",
            partial=", ".join(partial) or None,
            exe_path=new.totals["exe"],
            build_id=new.totals["build_id"],
            labels=mark.labels,
            time_ns=mark.time_ns,
        )
    is_same = _is_one_process(old, new)
    report = DiffReport(
        tool_version=native.load().VERSION,
        partial=partial,
        names=(old.side.name, new.side.name),
        totals=(old.totals, new.totals),
        found=difference.compare(
            old.totals,
            new.totals,
            trees.paths(before, after, _PATHS),
            options.min_bytes or 0,
            is_same,
        ),
        is_one_process=is_same,
        survivors=_survivors(old, new)
        if options.survivors and is_same
        else None,
        survivors_wanted=options.survivors,
        by=options.by,
        top=options.top,
        out=options.out,
        html=options.html,
    )
    if options.html is not None:
        report.html_bytes = diff_page.write(
            report, (old.side, new.side), (before, after), options.html
        )
    return report


def _is_one_process(old: _Asked, new: _Asked) -> bool:
    build_id = old.totals["build_id"]
    return (
        bool(build_id)
        and build_id == new.totals["build_id"]
        and lifetime.is_same(old.life, new.life)
    )


def _survivors(old: _Asked, new: _Asked) -> survivors.Survivors:
    is_whole = not (old.totals["partial"] or new.totals["partial"])
    is_exact = survivors.no_collection_between(old.totals, new.totals)
    return survivors.count(old.addresses, new.addresses, is_whole and is_exact)


def _check_growth(report: DiffReport, options: Any) -> None:
    """--fail-above, after the answer."""
    if options.fail_above is None:
        return
    grown = report.most_grown()
    if grown is not None and grown[1] > options.fail_above:
        limit = human_bytes(options.fail_above)
        raise ConditionHolds(
            f"goref diff: {grown[0]} has grown by more than {limit}"
        )

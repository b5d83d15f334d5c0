# SPDX-License-Identifier: Apache-2.0
"""goref diff: what has grown from one heap to another. Each side is asked for
its totals in a process of its own, one after the other; what gdb looks at is
asked here."""

from __future__ import annotations

import json
import os
import time
from types import SimpleNamespace
from typing import Any, NamedTuple

import gdb

from .. import (
    args,
    child,
    difference,
    lifetime,
    native,
    scratch,
    sides,
    stamp,
    survivors,
    target,
    trees,
)
from ..render.units import human_bytes
from ..render.diff import DiffReport
from ..session import current, running
from . import totals
from .base import ConditionHolds, answer, check_writable, is_session

_FAILED, _PARTIAL = 1, 3
_PATHS = 1000  # that are named


class _Asked(NamedTuple):
    """One side: its totals, files that its gdb wrote, and whose life it is."""

    side: sides.Side
    totals: Any
    tree: str
    addresses: str
    life: lifetime.Lifetime | None


def run(options: Any) -> list[str]:
    loaded = _loaded() if is_session() else None
    if is_session() and len(options.words) == 1 and loaded is None:
        raise gdb.GdbError(
            "goref: gdb looks at no program to compare with: write `goref "
            "diff OLD NEW', or open a core or a process first"
        )
    old, new = sides.parse(options.words, loaded)
    _check_options(options, (old, new))
    mark = stamp.of(options)
    _check_out(options.out, (*old.files, *new.files))
    with scratch.folder("diff") as folder:
        both = (
            _ask(old, "OLD", folder, options),
            _ask(new, "NEW", folder, options),
        )
        report = _compare(*both, options, mark)
    answer(report.json() if options.json else report.text())
    _check_growth(report, options)
    return list(report.partial)


def _loaded() -> sides.Side | None:
    """What gdb looks at."""
    inferior = gdb.selected_inferior()
    kind = target.kind_of(inferior)
    if kind is None:
        return None
    files = [file for _, file in target.files() if file]
    pid = inferior.pid if kind != "core" else None
    return sides.Side((), pid, tuple(files), is_open=True)


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
            raise gdb.GdbError(f"goref: cannot write {out}: it is compared")


def _limits(side: sides.Side, options: Any) -> list[str]:
    """The options that a side gets, too."""
    words = []
    left = options.timeout
    if left is not None:
        left -= time.monotonic() - (current.command_begin or time.monotonic())
        words += ["--timeout", f"{max(left, 0.001):.3f}"]
    if options.memory_limit is not None:
        words += ["--memory-limit", str(options.memory_limit)]
    if side.pid is None:
        return words
    if options.max_pause is not None:
        words += ["--max-pause", str(options.max_pause)]
    if options.threads is not None:
        words += ["--threads", str(options.threads)]
    return words + ["--snapshot"] * options.snapshot


def _ask(side: sides.Side, what: str, folder: str, options: Any) -> _Asked:
    """Of a process, life is what it was before and after: it may have begun
    another program meanwhile."""
    if side.is_open:
        return _ask_here(side, folder, options)
    out, tree, addresses = (
        os.path.join(folder, f"{what}.{kind}")
        for kind in ("json", "tree", "addresses")
    )
    source, *places = side.source
    words = [source, *_limits(side, options), *places, "totals"]
    words += ["--tree", tree]
    if options.survivors:
        words += ["--addresses-of", addresses]
    life = _life(side)
    found = child.ask(words, out)
    if found.status not in (0, _PARTIAL):
        said = found.errors[-1] if found.errors else "goref: no answer"
        said = said.removeprefix("goref: ")
        where = what if side.name in said else f"{what}, {side.name}"
        raise gdb.GdbError(f"goref: {where}: {said}")
    if side.pid is not None and life != _life(side):
        life = None
    with open(out, encoding="utf-8", errors="surrogateescape") as file:
        document = json.load(file)
    if source == "open":
        life = lifetime.unpack(document["identity"])
    return _Asked(side, document, tree, addresses, life)


def _ask_here(side: sides.Side, folder: str, options: Any) -> _Asked:
    """What gdb looks at: the scan of this stop answers."""
    tree, addresses = (
        os.path.join(folder, name) for name in ("tree", "addresses")
    )
    wanted = SimpleNamespace(
        memory_limit=options.memory_limit,
        tree=tree,
        addresses_of=addresses if options.survivors else None,
    )
    limits = options.memory_limit, options.timeout
    with running(*limits, totals.extent(options)) as scan:
        document, _ = totals.totals(scan, wanted)
        life = lifetime.of_target(scan.info())
    return _Asked(side, document, tree, addresses, life)


def _life(side: sides.Side) -> lifetime.Lifetime | None:
    if side.pid is not None:
        return lifetime.of_process(side.pid)
    return lifetime.of_core(side.files[-1])  # a saved file is none


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
    return DiffReport(
        tool_version=native.load().VERSION,
        partial=partial,
        names=(old.side.name, new.side.name),
        totals=(old.totals, new.totals),
        found=difference.compare(
            old.totals,
            new.totals,
            trees.paths(before, after, _PATHS),
            options.min_bytes or 0,
        ),
        is_one_process=is_same,
        survivors=_survivors(old, new)
        if options.survivors and is_same
        else None,
        survivors_wanted=options.survivors,
        by=options.by,
        top=options.top,
        out=options.out,
    )


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

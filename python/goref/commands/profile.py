# SPDX-License-Identifier: Apache-2.0
"""goref profile: Go's own profiles, read from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, front, native, partial, stamp
from ..errors import Error
from ..front import warn
from ..render.profile import (
    BucketProfileReport,
    GoroutineProfileReport,
    stacks_notes,
    stacks_text,
)
from ..render.units import counted
from ..session import running
from .base import CUT_SAMPLES, answer, answer_report, check_writable

if TYPE_CHECKING:
    from .._goref import GoroutineProfile

_STACKS = ("goroutine", "goroutineleak")
_BUCKETS = ("heap", "allocs", "block", "mutex")
_MEMORY = ("heap", "allocs")  # of the buckets
_KINDS = (*_BUCKETS, *_STACKS)  # the choices of the operand (verbs/)


def extent(options: Any) -> str:
    kind = options.words[0] if options.words else ""
    if kind == "goroutineleak":
        return "heap"
    if options.now:
        return "sites"
    return "buckets" if kind in _BUCKETS else "goroutines"


def check(options: Any) -> None:
    kind = _kind(options.words)
    if options.text and kind not in _STACKS:
        raise args.UsageError(f"--text is for {' and '.join(_STACKS)}")
    if options.out is None and not options.text:
        or_text = " or --text" if kind in _STACKS else ""
        raise args.UsageError(f"profile {kind}: add --out FILE{or_text}")
    if options.now and kind not in _MEMORY:
        raise args.UsageError(f"--now is for {' and '.join(_MEMORY)}")
    if options.text and options.json:
        raise args.UsageError("--text and --json: give one of them")
    stamp.of(options)
    check_writable(options.out)


def run(options: Any) -> list[str]:
    kind = _kind(options.words)
    if kind in _STACKS:
        return _goroutines(kind, options)
    return _buckets(kind, options)


def _goroutines(kind: str, options: Any) -> list[str]:
    path = None if options.text else options.out
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as scan:
        lost = partial.reasons(scan.info(), None)
        mark = stamp.of(options)
        reason = ", ".join(lost) or None
        found = scan.goroutine_profile(kind, path, reason, *mark)
        known = lost
        lost = partial.reasons(scan.info(), found)
        if path and lost != known:  # the file says so, too
            reason = ", ".join(lost)
            found = scan.goroutine_profile(kind, path, reason, *mark)
    warn(_unsaved_labels(found))
    if options.text:
        _print_text(kind, found, lost, options.out)
        return lost
    report = GoroutineProfileReport(
        tool_version=native.load().VERSION,
        partial=lost,
        kind=kind,
        found=found,
        out=options.out,
    )
    answer_report(report, options)
    return lost


def _unsaved_labels(found: GoroutineProfile) -> list[str]:
    """Labels that a file without values does not have."""
    count = sum(row.goroutine.labels is None for row in found.rows)
    if not count:
        return []
    return [
        "this file was saved without values: the profile lacks the labels of "
        f"{counted(count, 'goroutine')} (`goref save --values' keeps "
        "all values)"
    ]


def _buckets(kind: str, options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as scan:
        if options.now:
            scan.extend("heap")  # whose gaps the file mentions
        gaps = scan.gaps() if options.now else None
        lost = partial.reasons(scan.info(), gaps)
        reason = ", ".join(lost) or None
        found = scan.bucket_profile(
            kind, options.out, reason, *stamp.of(options), options.now
        )
    if found.is_cut:
        lost.append(CUT_SAMPLES)
    report = BucketProfileReport(
        tool_version=native.load().VERSION,
        partial=lost,
        kind=kind,
        found=found,
        out=options.out,
        is_now=options.now,
    )
    answer_report(report, options)
    return lost


def _kind(words: list[str]) -> str:
    if not words:
        raise args.UsageError(f"which profile? {', '.join(_KINDS)}")
    if len(words) > 1:
        raise args.UsageError(f"one profile at a time, not {words[1]}")
    if words[0] not in _KINDS:
        raise args.UsageError(
            f"no profile {words[0]}; there are {', '.join(_KINDS)}"
        )
    return words[0]


def _print_text(
    kind: str, found: GoroutineProfile, lost: list[str], out: str | None
) -> None:
    """The stacks; all else goes where it is no part of them."""
    text = stacks_text(found)
    if out is None:
        answer(text)
    else:
        try:
            with open(out, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as problem:
            raise Error(
                f"goref: cannot write {out}: {problem.strerror}"
            ) from None
    for line in stacks_notes(kind, found, lost):
        front.current.note(f"{line}\n")

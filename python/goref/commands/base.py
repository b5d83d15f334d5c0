# SPDX-License-Identifier: Apache-2.0
"""The parts that all verbs share: the output, the limits, the checks."""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import front, memory, native, params, partial
from ..errors import Error
from ..front import warn
from ..render.units import human_bytes, percent
from ..render.report import Report, TopReport
from ..session import current, running

if TYPE_CHECKING:
    from .._goref import Info, Ledger, Scan, StackFrame

_Listed = TypeVar("_Listed", bound=TopReport[Any])

# Why an answer from the runtime's profile buckets is partial.
CUT_SAMPLES = "the runtime's list of samples is damaged"
MENTIONED_BYTES = 1 << 30  # of memory that a scan needs, before it begins


def answer(text: str) -> None:
    """Print a piece of an answer. No progress line follows."""
    current.end_progress()
    front.current.write(text)


def answer_report(
    report: Report, options: Any, as_json: bool = False
) -> None:
    """Print a report as the options json and color say."""
    if options.json or as_json:
        pieces = report.json_pieces()
    else:
        pieces = report.text_pieces(has_color(options))
    for piece in pieces:
        answer(piece)


def has_color(options: Any) -> bool:
    """True if the answer is printed in color."""
    if options.color == "auto":
        return front.current.has_color()
    return bool(options.color == "always")


def allocation_stack(scan: Scan, addr: int) -> Sequence[StackFrame] | None:
    """The calls that allocated an object; None if the runtime has not sampled
    it, or if the symbols do not tell where it keeps its samples."""
    try:
        found = scan.allocation(addr)
    except native.load().NotFoundError:
        return None
    return found.stack if found.is_sampled else None


_how = "goref"


def ask_with(command: str) -> None:
    """Set the words that the user types before a verb outside gdb."""
    global _how
    _how = command


def check_has(scan: Scan, what: str) -> None:
    """Refuse a question about values of a file that was saved without them."""
    info = scan.info()
    if info.kind == "saved" and not info.has_values:
        raise Error(
            f"goref: this file was saved without values: it has no {what} "
            "(`goref save --values' keeps all values)"
        )


def how() -> str:
    """The command up to the verb, as the user types it."""
    if current.file:
        return f"goref open {shlex.quote(current.file)}"
    return _how


def is_terminal() -> bool:
    """Does the command line print to a terminal? In gdb, its pager stops a
    long answer, and `pipe' may take it."""
    return not front.current.is_gdb and os.isatty(1)


def ask(
    options: Any,
    report_type: Callable[..., _Listed],
    question: Callable[[Any], Any],
    extent: str = "heap",
) -> _Listed:
    """Ask the scan a question, and print the answer: a report of what was
    found. extent: what the question needs of the program."""
    with running(options.memory_limit, options.timeout, extent) as scan:
        found = question(scan)
        report = report_type(
            tool_version=native.load().VERSION,
            partial=partial.reasons(scan.info(), found),
            found=found,
            top=options.top,
            how=how(),
        )
    answer_report(report, options)
    return report


def elapsed_us() -> int:
    """The time since the running command began: of the command line, with
    the opening of its target."""
    progress = current.progress
    if progress is None:
        return 0
    return round((time.monotonic() - progress.begin) * 1e6)


class ConditionHolds(Error):
    """A --fail-... condition holds: the command line ends with status 4."""


def check_writable(path: str | None) -> None:
    """An error before a scan that takes its time."""
    goref = native.load()
    if path is None:
        return
    if path == "-":
        raise Error(
            "goref: cannot write to standard output: name a file (./- if its "
            "name is -)"
        )
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        raise Error(f"goref: cannot write {path}: it is a named pipe")
    for what, file in current.files():
        if os.path.exists(path) and os.path.samefile(path, file):
            raise Error(
                f"goref: cannot write {path}: it is the {what} that is open"
            )
    try:
        goref.check_writable(path)
    except goref.Error as problem:
        raise Error(f"goref: {problem}") from None


def nodes(scan: Scan, wanted: int, memory_limit: int | None) -> int:
    """The wanted number of nodes, or fewer if memory is short."""
    limit = params.memory_limit(memory_limit)
    estimate = scan.estimate()
    if params.memory_is_auto(memory_limit):
        estimate = estimate._replace(copy_bytes=0)  # it is there already
    found = params.nodes_within(estimate, wanted, limit)
    needed = memory.needed_bytes(estimate, found)
    if needed >= MENTIONED_BYTES and not current.is_read():
        front.current.note(
            f"up to {human_bytes(needed)} of memory needed, "
            f"{memory.report(human_bytes)}\n"
        )
    if found < wanted:
        warn([f"the tree is limited to {found:,} nodes: not enough memory"])
    return found


def graph_is_too_large(
    scan: Scan, max_nodes: int, memory_limit: int | None
) -> str | None:
    """Why the object graph is not made without being asked for, beside a walk
    with so many nodes; None: there is memory for it, or it is there."""
    if any(scan.graph_phases()):
        return None
    limit = params.memory_limit(memory_limit)
    estimate = scan.estimate()
    if params.memory_is_auto(memory_limit):
        estimate = estimate._replace(copy_bytes=0)  # it is there already
    if memory.has_room_for_graph(estimate, max_nodes, limit):
        return None
    say = human_bytes
    return (
        f"the object graph needs up to {say(estimate.graph_bytes)} of memory "
        f"beside the scan, the limit is {say(limit or 0)} "
        f"{params.MEMORY_WAY_OUT}"
    )


def partial_reasons(info: Info, ledger: Ledger) -> list[str]:
    """Why a walk is not all; asks, where somebody can answer, whether to show
    what there is: KeyboardInterrupt if not."""
    ended = current.progress.reason if current.progress else ""
    if ledger.end_reason:
        ended = f"{ledger.end_reason} {params.MEMORY_WAY_OUT}"
    lost = partial.reasons(info, ledger, ended)
    if ledger.is_partial and not _is_wanted(lost[0], ledger):
        raise KeyboardInterrupt
    return lost


def why_limits(attribution: str) -> tuple[int, int, str]:
    """The limits of the tree and the attribution, for scan.why()."""
    return (params.max_depth(), params.max_nodes(), attribution)


def _is_wanted(reason: str, ledger: Ledger) -> bool:
    """Ask, as gdb does, whether to show what a walk found until it was
    ended. Yes where nobody is asked."""
    current.end_progress()
    if not front.current.may_ask():
        return True
    share = percent(ledger.reached.objects, ledger.allocated.objects)
    question = (
        f"{reason.capitalize()}: {share} of the objects are reached. "
        "Show what they are? (y or n) "
    )
    while True:
        try:
            reply = input(question).strip().lower()
        except EOFError:
            return True
        if reply in ("y", "yes"):
            return True
        if reply in ("n", "no"):
            return False
        front.current.write("Please answer y or n.\n")

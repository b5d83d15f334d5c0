# SPDX-License-Identifier: Apache-2.0
"""Finalizers, cleanups and pools: what should have freed memory, in the
answers of `hung' and `overview'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .goroutines import waited_words
from .report import fields_of
from .sizes import apart, both, parts, sizes_of
from .stack import c_function, is_library, place
from .table import table, wrapped
from .units import counted, human_bytes, percent
from .waits import awaited_text, owner_kind, owner_text
from .waits import wait_document

if TYPE_CHECKING:
    from .._goref import Finalization, FinalizerRunner, Pool
    from .report import Document, Json

_SHARE = 100  # of the heap: said from a hundredth on
_ROWS = 3  # of a table, as text
_STUCK = ("blocked", "in C")


def queued(found: Finalization) -> int:
    return found.queued_finalizers + found.queued_cleanups


def blocked_runners(found: Finalization | None) -> list[FinalizerRunner]:
    """The goroutines that the queue waits for: all that could run its entries
    are blocked, or in C."""
    rows: list[FinalizerRunner] = []
    if not found:
        return rows
    for runs, count in (
        ("finalizers", found.queued_finalizers),
        ("cleanups", found.queued_cleanups),
    ):
        runners = _runners_of(found, runs)
        if count and all(runner.doing in _STUCK for runner in runners):
            rows += [runner for runner in runners if runner not in rows]
    return rows


def _runners_of(found: Finalization, runs: str) -> list[FinalizerRunner]:
    """Until Go 1.24, those that run finalizers run cleanups, too."""
    own = [runner for runner in found.runners if runner.runs == runs]
    return own or list(found.runners)


def is_large(found: Finalization) -> bool:
    """Does the queue hold more than a hundredth of the heap?"""
    return found.queue_bytes * _SHARE > found.heap_bytes


def finding(found: Finalization | None) -> str:
    """The first line, if the queue is blocked or holds much. Else ""."""
    if not found or not queued(found):
        return ""
    blocked = blocked_runners(found)
    is_one = queued(found) == 1
    if blocked:
        verb = "waits" if is_one else "wait"
        text = f"{_queue_text(found)} {verb} for {_runner_text(blocked[0])}"
    elif is_large(found):
        verb = "is" if is_one else "are"
        text = f"{_queue_text(found)} {verb} queued"
        for runner in _busiest(found)[:1]:
            text += f" behind {_runner_text(runner)}"
    else:
        return ""
    return text + _held_text(found)


def stuck_finding(found: Finalization | None) -> str:
    """The line for objects that can never be freed, if they hold much."""
    if not found or found.stuck_bytes * _SHARE <= found.heap_bytes:
        return ""
    return _stuck_text(found, with_share=True)


def _of_whole(found: Finalization, size: int, in_c: int) -> str:
    """A size, its share, and its parts if C has one."""
    whole = "live memory" if found.heap_c_bytes else "heap"
    words = f"{percent(size, found.heap_bytes)} of the {whole}"
    if in_c:
        words += f"; {parts(size, in_c)}"
    return f"{human_bytes(size)} ({words})"


def _queue_text(found: Finalization) -> str:
    entries = [
        counted(count, what)
        for count, what in (
            (found.queued_finalizers, "finalizer"),
            (found.queued_cleanups, "cleanup"),
        )
        if count
    ]
    return " and ".join(entries)


def _held_text(found: Finalization) -> str:
    if not found.queue_bytes:
        return ""
    size = _of_whole(found, found.queue_bytes, found.queue_c_bytes)
    return f"; only the queue holds {size}"


def _busiest(found: Finalization) -> list[FinalizerRunner]:
    """The goroutines that run something, or are to run what is queued."""
    runs = "finalizers" if found.queued_finalizers else "cleanups"
    runners = _runners_of(found, runs)
    return sorted(runners, key=lambda runner: runner.doing == "idle")


def _runner_text(runner: FinalizerRunner) -> str:
    """`goroutine 7 [semacquire] in main.f at f.go:3: it waits for main.mu'."""
    row = runner.goroutine
    text = f"goroutine {row.id}"
    if runner.doing == "idle":
        return f"{text}, which is idle"
    if runner.doing == "in C":
        name = c_function(row.user)
        what = f"in C ({name})" if name else "in C"
        return f"{text} {what}, called in {place(runner.call)}"
    state = ", ".join(
        [row.wait_reason or row.state, *waited_words(row.waited_ns)]
    )
    at = runner.call if is_library(row.user) else row.user
    return f"{text} [{state}] in {place(at)}{_awaited_text(runner)}"


def _awaited_text(runner: FinalizerRunner) -> str:
    """The words for what it waits for, and who has that."""
    if not runner.awaits:
        return ""
    awaited = runner.awaits[0]
    text = f": it waits for {awaited_text(awaited)}"
    owners = [owner for owner in awaited.owners if owner.is_likely]
    if owners:
        kind = owner_kind(awaited, owners[0])
        text += f", {kind}: goroutine {owners[0].id}"
    return text


# --------------------------------------------------------------- the section


def finalization_lines(found: Finalization | None) -> list[str]:
    """The section; none if there is nothing to say."""
    if not found:
        return []
    return [
        *_queue_lines(found),
        *_stuck_lines(found),
        *_pool_lines(found),
    ]


def _queue_lines(found: Finalization) -> list[str]:
    busy = [runner for runner in found.runners if runner.doing != "idle"]
    if not busy and not is_large(found):
        return []
    text = _queue_text(found) or "none"
    lines = [f"finalizers and cleanups: {text} queued{_held_text(found)}"]
    for runner in busy[:_ROWS]:
        lines += wrapped(f"  {runner.runs}: {_runner_text(runner)}")
        for awaited in runner.awaits[:1]:
            for owner in awaited.owners[:_ROWS]:
                lines += wrapped(f"    {owner_text(owner)}")
    if len(busy) > _ROWS:
        lines.append(f"  and {counted(len(busy) - _ROWS, 'more goroutine')}")
    return lines


def _stuck_text(found: Finalization, with_share: bool = False) -> str:
    sizes = found.stuck_bytes, found.stuck_c_bytes
    size = _of_whole(found, *sizes) if with_share else both(*sizes)
    if found.stuck == 1:
        why = "its finalizer or cleanup needs leads back to it; it holds"
    else:
        why = (
            "their finalizers or cleanups need leads back to them; they hold"
        )
    objects = counted(found.stuck, "object")
    return f"{objects} can never be freed: what {why} {size}"


def _stuck_lines(found: Finalization) -> list[str]:
    if not found.stuck:
        return []
    rows = [
        [
            f"{group.objects:,}",
            group.type,
            group.kind,
            both(group.retained_bytes, group.retained_c_bytes),
            f"{group.example:#x}",
        ]
        for group in found.stuck_groups[:_ROWS]
    ]
    lines = wrapped(_stuck_text(found))
    lines += table(rows, left=[1, 2])
    left = len(found.stuck_groups) - _ROWS
    if left > 0:
        lines.append(f"  and {counted(left, 'more type')}")
    return lines


def _large_pools(found: Finalization) -> Sequence[Pool]:
    if found.pool_bytes * _SHARE <= found.heap_bytes:
        return ()
    return [
        pool
        for pool in found.pool_rows[:_ROWS]
        if pool.retained_bytes * _SHARE > found.heap_bytes
    ]


def _pool_lines(found: Finalization) -> list[str]:
    if found.pool_bytes * _SHARE <= found.heap_bytes:
        return []
    size = _of_whole(found, found.pool_bytes, found.pool_c_bytes)
    text = f"only sync.Pools hold {size}"
    pools = [
        f"{pool.path or f'{pool.addr:#x}'} "
        f"{both(pool.retained_bytes, pool.retained_c_bytes)}"
        for pool in _large_pools(found)
    ]
    return wrapped(f"{text}: {', '.join(pools)}" if pools else text)


# -------------------------------------------------------------- the document


def finalization_document(found: Finalization | None) -> Json:
    if not found:
        return None
    return {
        "finding": finding(found) or None,
        "stuck_finding": stuck_finding(found) or None,
        **fields_of(
            found,
            "queued_finalizers queued_cleanups queue_objects",
        ),
        **sizes_of(found, "queue heap", found.knows_c),
        "runners": [_runner_document(row) for row in found.runners],
        "stuck": found.stuck,
        **sizes_of(found, "stuck", found.knows_c),
        "stuck_groups": [
            {
                **fields_of(group, "kind type objects retained_objects"),
                **sizes_of(group, "retained", found.knows_c),
                "example": f"{group.example:#x}",
            }
            for group in found.stuck_groups
        ],
        **(
            sizes_of(found, "pool", found.knows_c)
            if found.has_pools
            else apart(None, None, "pool")
        ),
        "pools": [
            {
                "address": f"{pool.addr:#x}",
                "path": pool.path,
                **sizes_of(pool, "retained", found.knows_c),
            }
            for pool in found.pool_rows
        ],
    }


def _runner_document(runner: FinalizerRunner) -> Document:
    row = runner.goroutine
    called = runner.call.function and fields_of(
        runner.call, "function file line"
    )
    return {
        **fields_of(runner, "runs doing"),
        **fields_of(row, "id state wait_reason waited_ns"),
        **fields_of(row.user, "function file line"),
        "called": called,
        "awaits": [wait_document(awaited) for awaited in runner.awaits],
    }

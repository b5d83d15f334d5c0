# SPDX-License-Identifier: Apache-2.0
"""The functions of C's allocators in a process, and which of them the helper
probes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Error
from ..render.native_memory import TracedAllocator
from ..render.units import counted, printable

if TYPE_CHECKING:
    from .._goref import AllocFunction, AllocFunctions, AllocSampler, Scan
    from .native_plan import NativePlan
    from .plan import Plan

_FREES = ("free", "munmap")
_MAPPINGS = ("mmap", "munmap")
_LONGEST_S = 10.0  # of a period
_MOST_NAMED = 8  # objects in an error


class Allocators(NamedTuple):
    """The probed functions, and the objects whose samples are taken in place
    of functions. left_out: functions beyond a limit. unreadable: files of the
    process that cannot be read."""

    functions: tuple[AllocFunction, ...]
    samplers: tuple[AllocSampler, ...]
    left_out: int = 0
    unreadable: int = 0

    @property
    def are_walked(self) -> bool:
        """Is each block in a heap that the look at the end walks?"""
        return not self.samplers and all(
            f.is_walked and f.kind not in _MAPPINGS for f in self.functions
        )

    @property
    def follows_frees(self) -> bool:
        """Are frees seen, by a probe at a function or by samples of a
        library?"""
        return bool(self.samplers) or any(
            f.kind in _FREES for f in self.functions
        )


def find(scan: Scan, pid: int, plan: NativePlan) -> Allocators:
    """The functions of a process that runs. Raises an Error: there are none,
    or none of the object that was asked for."""
    found = scan.alloc_functions(
        prefix=plan.prefix,
        object=plan.allocator,
        with_mappings=plan.mappings,
    )
    chosen = _chosen(found, plan)
    if any(f.kind not in _FREES for f in chosen.functions) or chosen.samplers:
        return chosen
    if plan.allocator:
        raise _no_object(scan, pid, plan)
    raise Error(
        f"goref: process {pid} has no C allocator whose functions are known; "
        "--prefix PREFIX adds functions such as PREFIXmalloc"
    )


def _chosen(found: AllocFunctions, plan: NativePlan) -> Allocators:
    """The functions to probe, or the samplers instead of them. The samples of a
    library include memory that it gets from another allocator, so with the
    functions beside them, this memory would count twice."""
    missing = found.left_out, found.unreadable_objects
    if found.samplers and not (plan.full or plan.mappings):
        return Allocators((), tuple(found.samplers), *missing)
    functions = (f for f in found.functions if _is_probed(f, plan))
    return Allocators(tuple(functions), (), *missing)


def partial(found: Allocators) -> list[str]:
    """Why there may be allocations that were not seen."""
    reasons = []
    if found.left_out:
        reasons.append(
            f"{counted(found.left_out, 'allocator function')} beyond a limit "
            "of goref had no probe"
        )
    if found.unreadable:
        reasons.append(
            f"{counted(found.unreadable, 'file')} of the process cannot be "
            "read, so functions there have no probe"
        )
    return reasons


def _is_probed(function: AllocFunction, plan: NativePlan) -> bool:
    """Frees in a heap that goref walks need no probe: the walk at the end tells
    which blocks are free."""
    is_free = function.kind in _FREES
    return plan.full or not is_free or not function.is_walked


def _no_object(scan: Scan, pid: int, plan: NativePlan) -> Error:
    found = scan.alloc_functions(
        prefix=plan.prefix, with_mappings=plan.mappings
    )
    names = sorted({*_objects(found)})
    known = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        known += f" and {len(names) - _MOST_NAMED} more"
    asked = printable(plan.allocator)
    return Error(
        f"goref: process {pid} has no allocator in {asked}; it has "
        f"{'these: ' + known if known else 'none whose functions are known'}"
    )


def _objects(found: AllocFunctions) -> Iterator[str]:
    for row in (*found.functions, *found.samplers):
        yield base_name(row.object)


def base_name(path: str) -> str:
    """The file of an object, or `?'."""
    return printable(path.rpartition("/")[2] or "?")


def setup(plan: Plan, found: Allocators) -> list[str]:
    """Lines for the helper."""
    native = plan.native
    lines = [
        f"alloc_function {f.kind} {f.addr:#x}"
        for f in found.functions
    ]
    lines += [f"alloc_sampler {s.addr:#x}" for s in found.samplers]
    lines.append(f"period {period_ms(plan.every_s)}")
    if native.full:
        known = not math.isinf(plan.seconds)
        lines.append(f"full {round(1000 * plan.seconds) if known else 0}")
    if native.sample > 1 and not found.samplers:
        lines.append(f"sample {native.sample}")
    if native.min_bytes or native.max_bytes:
        lines.append(f"sizes {native.min_bytes} {native.max_bytes}")
    if native.each:
        lines.append("each")
    return lines


def period_ms(every_s: float) -> int:
    """A period has one window. It is an interval, or an equal part of one."""
    parts = max(math.ceil(round(every_s / _LONGEST_S, 6)), 1)
    return max(round(1000 * every_s / parts), 1)


def rows(found: Allocators) -> list[TracedAllocator]:
    """One for each object, with the names of what is probed in it."""
    names: dict[str, list[str]] = {}
    walked: dict[str, bool] = {}
    for f in found.functions:
        names.setdefault(f.object, []).append(f.name)
        walked[f.object] = walked.get(f.object, True) and f.is_walked
    for s in found.samplers:
        names.setdefault(s.object, []).append("otel_memory:alloc")
        walked[s.object] = False
    return [
        TracedAllocator(path, walked[path], tuple(sorted(functions)))
        for path, functions in names.items()
    ]

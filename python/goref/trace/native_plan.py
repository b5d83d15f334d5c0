# SPDX-License-Identifier: Apache-2.0
"""The options of the mode native: what it sees, and how it prints that. Pure:
never imports gdb."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import args

MODE = "native"
OPTIONS = (
    "full", "each", "blocks", "older", "min-size", "max-size", "sample",
    "totals", "allocator", "prefix", "mappings", "holders", "sort",
)  # fmt: skip
_MOST_SAMPLE = 1 << 30
_MOST_BYTES = (1 << 63) - 1
_MOST_TEXT = 4096  # bytes of a path, or of the beginning of a name


class NativePlan(NamedTuple):
    """full: the probes stay on, and frees are followed. older_s: the least
    age of a block at the end. max_bytes: 0: no limit. sample: one of so many
    allocations. allocator, prefix: "" if not given."""

    full: bool = False
    each: bool = False
    blocks: bool = False
    older_s: float = 0.0
    min_bytes: int = 0
    max_bytes: int = 0
    sample: int = 1
    totals: bool = False
    allocator: str = ""
    prefix: str = ""
    mappings: bool = False
    holders: bool = False
    sort: str = "nobody"


def of(options: Any, mode: str, seconds: float) -> NativePlan:
    """The plan of the mode native. seconds: of the trace. UsageError: an
    option makes no sense."""
    if mode != MODE:
        for name in OPTIONS:
            if name in options.given:
                raise args.UsageError(
                    f"--{name} has a meaning only in the mode native"
                )
        return NativePlan()
    plan = NativePlan(
        options.full,
        options.each,
        options.blocks,
        options.older or 0.0,
        options.min_size or 0,
        options.max_size or 0,
        1 if options.sample is None else options.sample,
        options.totals,
        options.allocator or "",
        options.prefix or "",
        options.mappings,
        options.holders,
        options.sort,
    )
    _check(options, plan, seconds)
    return plan


def _check(options: Any, plan: NativePlan, seconds: float) -> None:
    if max(plan.min_bytes, plan.max_bytes) > _MOST_BYTES:
        raise args.UsageError("--min-size, --max-size: no block is so large")
    if plan.max_bytes and plan.min_bytes > plan.max_bytes:
        raise args.UsageError("--min-size is above --max-size")
    if plan.older_s > seconds:
        raise args.UsageError("--older is longer than the trace")
    if not 1 <= plan.sample <= _MOST_SAMPLE:
        raise args.UsageError(f"--sample: 1 to {_MOST_SAMPLE:,}")
    if plan.full and "max-overhead" in options.given:
        raise args.UsageError(
            "--max-overhead has no meaning with --full, which has no limit"
        )
    if plan.holders and options.look == "none":
        raise args.UsageError("--holders needs the look at the end")
    for name in ("allocator", "prefix"):
        value = getattr(plan, name)
        if name in options.given and not _is_text(value):
            raise args.UsageError(f"--{name}: not a name")


def _is_text(value: str) -> bool:
    return value.isprintable() and 0 < len(value.encode(errors="replace")) < (
        _MOST_TEXT
    )

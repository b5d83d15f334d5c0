# SPDX-License-Identifier: Apache-2.0
"""The meaning of settings (settings.py) and of a verb's options for a scan."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import args, front, memory
from .errors import Error
from .render.units import human_bytes

if TYPE_CHECKING:
    from ._goref import Estimate

UNLIMITED = args.UNLIMITED


def _count(name: str) -> int:
    return int(str(front.current.setting(name) or UNLIMITED))


def max_depth() -> int:
    return _count("max-depth")


def max_nodes() -> int:
    return _count("max-nodes")


def cache() -> bool:
    return bool(front.current.setting("cache"))


def threads() -> int:
    text = str(front.current.setting("threads"))
    if text == "auto":
        return min(2, len(os.sched_getaffinity(0)))
    return args.threads(text)


def memory_is_auto(option: int | None = None) -> bool:
    text = str(front.current.setting("memory-limit"))
    return option is None and "auto".startswith(text)


def memory_limit(option: int | None = None) -> int | None:
    """The limit by the option, or by the setting; None: no limit."""
    if memory_is_auto(option):
        return memory.least_free_bytes()
    if option is None:
        option = args.size(str(front.current.setting("memory-limit")))
    return option or None


# The advice for a limit that is too low.
MEMORY_WAY_OUT = "(--memory-limit, or `set goref memory-limit')"


def no_memory(problem: object) -> str:
    """An error of memory in words: the limit of goref, or that of the
    system."""
    text = str(problem)
    if "limit" in text:
        return f"{text} {MEMORY_WAY_OUT}"
    return f"out of memory: {memory.report(human_bytes)}"


def nodes_within(estimate: Estimate, max_nodes: int, limit: int | None) -> int:
    """Nodes of a tree for which there is memory; an error if that is not
    enough for a scan at all."""
    try:
        return memory.nodes_within(estimate, max_nodes, limit)
    except memory.TooMuch:
        pass
    say = human_bytes
    copied = estimate.copy_bytes
    of_it = f", {say(copied)} of it to copy the process" if copied else ""
    raise Error(
        f"goref: not enough memory: "
        f"{say(memory.needed_bytes(estimate, memory.MIN_NODES))} "
        f"are needed{of_it}, the limit is {say(limit or 0)} {MEMORY_WAY_OUT}"
    )


def progress() -> str:
    return str(front.current.setting("progress"))

# SPDX-License-Identifier: Apache-2.0
"""set/show goref ..."""

import argparse
import os

import gdb

from . import args, memory, render
from .prefix import Prefix

MAX_DEPTH = 256
MAX_NODES = 1 << 20
UNLIMITED = args.UNLIMITED
PROGRESS = ["auto", "on", "off"]
SETTINGS = (
    "cache",
    "max-depth",
    "max-nodes",
    "memory-limit",
    "progress",
    "threads",
)


class _SetPrefix(Prefix):
    """Set how goref walks and reports.
    Usage: set goref SETTING VALUE"""

    name = "set goref"


class _ShowPrefix(Prefix):
    """Show how goref walks and reports.
    Usage: show goref [SETTING]"""

    name = "show goref"

    def run(self) -> None:
        for name in SETTINGS:
            gdb.execute(f"show goref {name}")


class _Count(gdb.Parameter):
    """A number of something; 0 or `unlimited` is no limit."""

    def __init__(self, name: str, default: int, what: str) -> None:
        self.what = what
        super().__init__(name, gdb.COMMAND_DATA, gdb.PARAM_UINTEGER)
        self.value = default

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return f"{self.what} is {value}."


class _MaxDepth(_Count):
    """The levels of a reference tree; what lies deeper is counted above.
    Zero or `unlimited' means no limit."""

    set_doc = "Set the number of levels of a reference tree."
    show_doc = "Show the number of levels of a reference tree."


class _MaxNodes(_Count):
    """The nodes of a reference tree; what has none is counted above.
    Zero or `unlimited' means no limit."""

    set_doc = "Set the number of nodes of a reference tree."
    show_doc = "Show the number of nodes of a reference tree."


class _Cache(gdb.Parameter):
    """What goref reads of an executable's debug information it keeps in
    goref-gdb/symbols below $XDG_CACHE_HOME or ~/.cache, at most 512 MB, and
    need not read again. Off: it neither looks there nor writes."""

    set_doc = "Set whether goref keeps what it read of debug information."
    show_doc = "Show whether goref keeps what it read of debug information."

    def __init__(self) -> None:
        super().__init__("goref cache", gdb.COMMAND_DATA, gdb.PARAM_BOOLEAN)
        self.value = True

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return f"Whether goref keeps debug information in a cache is {value}."


class _MemoryLimit(gdb.Parameter):
    """As 500M or 2G. If it is not enough for all, a reference tree has fewer
    nodes; if it is not enough for that, a scan is refused. Auto: as much as
    is free, in this cgroup, too. Zero or `unlimited' means no limit."""

    set_doc = "Set the memory that a scan may take."
    show_doc = "Show the memory that a scan may take."

    def __init__(self) -> None:
        super().__init__(
            "goref memory-limit", gdb.COMMAND_DATA, gdb.PARAM_STRING_NOESCAPE
        )
        self.value = self.valid = "auto"

    def get_set_string(self) -> str:
        text = (self.value or "").strip()
        if not text or not "auto".startswith(text):
            try:
                args.size(text)
            except argparse.ArgumentTypeError as problem:
                self.value = self.valid
                raise gdb.GdbError(f"goref: {problem}") from None
        self.value = self.valid = text
        return ""

    def get_show_string(self, value: str) -> str:
        return f"The memory limit of a scan is {value}."


class _Progress(gdb.Parameter):
    """Auto: on a terminal, unless gdb runs in batch mode."""

    set_doc = "Set whether a line says how long a scan has been running."
    show_doc = "Show whether a line says how long a scan has been running."

    def __init__(self) -> None:
        super().__init__(
            "goref progress", gdb.COMMAND_DATA, gdb.PARAM_ENUM, PROGRESS
        )
        self.value = "auto"

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return f'Whether goref shows progress is "{value}".'


class _Threads(gdb.Parameter):
    """From 1, which is gdb's own thread alone, to 16. What is copied is the
    same; where processors are free, a second thread makes the time shorter
    for which the process stands still. Auto: 2 if gdb may run on as many
    processors, else 1."""

    set_doc = "Set how many threads copy a process that stands still."
    show_doc = "Show how many threads copy a process that stands still."

    def __init__(self) -> None:
        super().__init__(
            "goref threads", gdb.COMMAND_DATA, gdb.PARAM_STRING_NOESCAPE
        )
        self.value = self.valid = "auto"

    def get_set_string(self) -> str:
        text = (self.value or "").strip()
        self.value = self.valid
        if text and "auto".startswith(text):
            self.value = self.valid = "auto"
            return ""
        try:
            self.value = self.valid = str(args.threads(text))
        except argparse.ArgumentTypeError as problem:
            raise gdb.GdbError(f"goref: {problem}") from None
        return ""

    def get_show_string(self, value: str) -> str:
        return f"The number of threads that copy a process is {value}."


def register() -> None:
    _SetPrefix()
    _ShowPrefix()
    _MaxDepth("goref max-depth", MAX_DEPTH, "The number of levels of a tree")
    _MaxNodes("goref max-nodes", MAX_NODES, "The number of nodes of a tree")
    _MemoryLimit()
    _Progress()
    _Cache()
    _Threads()


def _count(name: str) -> int:
    return int(gdb.parameter(f"goref {name}") or UNLIMITED)


def max_depth() -> int:
    return _count("max-depth")


def max_nodes() -> int:
    return _count("max-nodes")


def cache() -> bool:
    return bool(gdb.parameter("goref cache"))


def threads() -> int:
    text = str(gdb.parameter("goref threads"))
    if text == "auto":
        return min(2, len(os.sched_getaffinity(0)))
    return args.threads(text)


def memory_is_auto(option: int | None = None) -> bool:
    text = str(gdb.parameter("goref memory-limit"))
    return option is None and "auto".startswith(text)


def memory_limit(option: int | None = None) -> int | None:
    """Of an option, else of the setting; None: no limit."""
    if memory_is_auto(option):
        return memory.least_free_bytes()
    if option is None:
        option = args.size(str(gdb.parameter("goref memory-limit")))
    return option or None


def nodes_within(
    estimate: dict[str, int], max_nodes: int, limit: int | None
) -> int:
    """Nodes of a tree for which there is memory; an error if that is not
    enough for a scan at all."""
    try:
        return memory.nodes_within(estimate, max_nodes, limit)
    except memory.TooMuch:
        pass
    say = render.human_bytes
    copied = estimate["copy_bytes"]
    of_it = f", {say(copied)} of it to copy the process" if copied else ""
    raise gdb.GdbError(
        f"goref: not enough memory: "
        f"{say(memory.needed_bytes(estimate, memory.MIN_NODES))} "
        f"are needed{of_it}, the limit is {say(limit or 0)} "
        "(--memory-limit, or `set goref memory-limit')"
    )


def progress() -> str:
    return str(gdb.parameter("goref progress"))

# SPDX-License-Identifier: Apache-2.0
"""set/show goref ...; params.py says what the values mean. Every start of gdb
may register these: nothing else is loaded for that."""

import gdb

from ..errors import Error
from ..settings import DEFAULTS, MAX_DEPTH, MAX_NODES, PROGRESS
from .prefix import Prefix


def _checked(kind: str, text: str) -> int:
    """The number that a text means, as options have it; or gdb's error."""
    import argparse

    from .. import args

    convert = {"size": args.size, "threads": args.threads}[kind]
    try:
        return convert(text)
    except argparse.ArgumentTypeError as problem:
        raise Error(f"goref: {problem}") from None


class _SetPrefix(Prefix):
    """Set how goref walks and reports.
    Usage: set goref SETTING VALUE"""

    name = "set goref"


class _ShowPrefix(Prefix):
    """Show how goref walks and reports.
    Usage: show goref [SETTING]"""

    name = "show goref"

    def run(self) -> None:
        for name in DEFAULTS:
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
    """Deeper objects are counted on the last level.
    Zero or `unlimited' means no limit."""

    set_doc = "Set the number of levels of a reference tree."
    show_doc = "Show the number of levels of a reference tree."


class _MaxNodes(_Count):
    """An object without a node of its own is counted on the node above.
    Zero or `unlimited' means no limit."""

    set_doc = "Set the number of nodes of a reference tree."
    show_doc = "Show the number of nodes of a reference tree."


class _Cache(gdb.Parameter):
    """goref keeps the debug information that it has read in
    goref-gdb/symbols below $XDG_CACHE_HOME or ~/.cache, 512 MiB at most. For a
    program without debug information, it keeps addresses of the runtime. If
    this is off, goref neither reads nor writes there."""

    set_doc = "Set whether goref caches debug information."
    show_doc = "Show whether goref caches debug information."

    def __init__(self) -> None:
        super().__init__("goref cache", gdb.COMMAND_DATA, gdb.PARAM_BOOLEAN)
        self.value = True

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return f"Whether goref caches debug information is {value}."


class _MemoryLimit(gdb.Parameter):
    """A size such as 500M or 2G. Near the limit, a reference tree gets fewer
    nodes. If that is not enough, goref refuses to scan. With `auto', the
    limit is the memory that is free, also in this cgroup.
    Zero or `unlimited' means no limit."""

    set_doc = "Set the memory that a scan may use."
    show_doc = "Show the memory that a scan may use."

    def __init__(self) -> None:
        super().__init__(
            "goref memory-limit", gdb.COMMAND_DATA, gdb.PARAM_STRING_NOESCAPE
        )
        self.value = self.valid = "auto"

    def get_set_string(self) -> str:
        text = str(self.value or "").strip()
        if not text or not "auto".startswith(text):
            self.value = self.valid
            _checked("size", text)
        self.value = self.valid = text
        return ""

    def get_show_string(self, value: str) -> str:
        return f"The memory limit of a scan is {value}."


class _Progress(gdb.Parameter):
    """With `auto', goref shows progress on a terminal, unless gdb runs in
    batch mode."""

    set_doc = "Set whether goref shows the progress of a scan."
    show_doc = "Show whether goref shows the progress of a scan."

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
    """A number from 1 to 16; 1 is gdb's own thread alone. If processors are
    free, a second thread shortens the pause of the process. With `auto',
    there are 2 threads if gdb may run on two processors, else 1."""

    set_doc = "Set how many threads copy a process that stands still."
    show_doc = "Show how many threads copy a process that stands still."

    def __init__(self) -> None:
        super().__init__(
            "goref threads", gdb.COMMAND_DATA, gdb.PARAM_STRING_NOESCAPE
        )
        self.value = self.valid = "auto"

    def get_set_string(self) -> str:
        text = str(self.value or "").strip()
        self.value = self.valid
        if text and "auto".startswith(text):
            self.value = self.valid = "auto"
            return ""
        self.value = self.valid = str(_checked("threads", text))
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

# SPDX-License-Identifier: Apache-2.0
"""The options that verbs of several files take. Any other option stands before
its verb (verbs/).

Data only: never imports gdb. The `kind` of an option says how its value is
read (args.py) and completed (complete.py, shells.py).
"""

import keyword
from typing import Any, NamedTuple


class Option(NamedTuple):
    """kind: flag, choice, names (some of the choices, with commas between),
    count (0: no limit), limit (a count as the walk takes it), size, seconds,
    duration (as 60s), percent, share (a percentage above 0), milliseconds,
    threads, file, text, type (a text that is a name), label, time, or
    condition (one of the choices and a text, in words of their own)."""

    name: str
    help: str
    kind: str = "flag"
    value: str = ""
    letter: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    repeats: bool = False

    @property
    def is_flag(self) -> bool:
        return self.kind == "flag"

    @property
    def attribute(self) -> str:
        """The attribute in which the parser stores the value."""
        name = self.name.replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def start(self) -> Any:
        """The value when it is not given."""
        if self.is_flag:
            return False
        return [] if self.repeats else self.default


# ------------------------------------------------------------------- options

OUT = Option(
    "out",
    "Write a profile that `go tool pprof FILE' opens.",
    kind="file",
    value="FILE",
    letter="o",
)
LABEL = Option(
    "label",
    "A label of all samples. May be repeated.",
    kind="label",
    value="KEY=VALUE",
    repeats=True,
)
TIME = Option(
    "time",
    "The time of the profile: RFC 3339, Unix time, or now.",
    kind="time",
    value="TIME",
)
FAIL_ON_LEAKS = Option(
    "fail-on-leaks", "End with status 4 if a goroutine has leaked."
)
MEMORY_LIMIT = Option(
    "memory-limit",
    "Memory that goref may use, such as 2G (default: what is free).",
    kind="size",
    value="SIZE",
)
TIMEOUT = Option(
    "timeout",
    "Stop after SECONDS (scan, overview: a partial answer).",
    kind="seconds",
    value="SECONDS",
)
JSON = Option("json", "Print one JSON document.")
COLOR = Option(
    "color",
    "Color the text: auto (default), always or never.",
    kind="choice",
    value="WHEN",
    choices=("auto", "always", "never"),
    default="auto",
)
MAX_PAUSE = Option(
    "max-pause",
    "Refuse to stop the process for more than MS milliseconds. If copying "
    "takes longer than estimated, give up early enough to let all threads go "
    "in time. A very busy machine may still exceed the limit.",
    kind="milliseconds",
    value="MS",
)
THREADS = Option(
    "threads",
    "Threads that copy the process while it stands still, up to 16. Default: "
    "2 if there are two processors.",
    kind="threads",
    value="N",
)
SNAPSHOT = Option(
    "snapshot",
    "Make the process fork, and read the copy (see `goref help attach').",
)
WHY = Option(
    "why",
    "Run the verb `why'. May be repeated; with --json, the answers are then "
    "one array.",
    kind="text",
    value="EXPRESSION",
    repeats=True,
)
VERIFY = Option("verify", "Run the verb `verify'.")

FAIL_ON_DEADLOCK = Option(
    "fail-on-deadlock", "End with status 4 if there is a proven deadlock."
)
SHOW_STRING = Option(
    "max-string",
    "Bytes to print of a string (default 64).",
    kind="count",
    value="N",
    default=64,
)
SHOW_ELEMENTS = Option(
    "max-elements",
    "Elements to print of an array, a slice or a map (default 64).",
    kind="count",
    value="N",
    default=64,
)
SHOW_DEPTH = Option(
    "max-depth",
    "Structs in structs to print (default 1). A deeper one is "
    "printed as its address.",
    kind="count",
    value="N",
    default=1,
)


WEIGHT = Option(
    "weight",
    "Sizes in bytes, or in words that the collector scans.",
    kind="choice",
    value="bytes|pointers",
    choices=("bytes", "pointers"),
    default="bytes",
)
COMMON = (MEMORY_LIMIT, TIMEOUT, JSON, COLOR)

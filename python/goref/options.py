# SPDX-License-Identifier: Apache-2.0
"""The options of verbs (verbs/) and sources.

Data only: never imports gdb. The `kind` of an option says how its value is
read (args.py) and completed (complete.py, shells.py).
"""

import keyword
from typing import Any, NamedTuple


class Option(NamedTuple):
    """kind: flag, choice, count (0: no limit), limit (a count as the walk
    takes it), size, seconds, milliseconds, threads, file, text, label, time, or
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
    "The time of the profile: RFC 3339, seconds since 1970, or now.",
    kind="time",
    value="TIME",
)
OUT_LIST = Option(
    "out", "Write the list to FILE.", kind="file", value="FILE", letter="o"
)
TOP = Option(
    "top",
    "Rows of each table (default 10). With --json, the number of roots and of "
    "types.",
    kind="count",
    value="N",
)
TOP_OVERVIEW = Option(
    "top",
    "Rows of each table (default: as many as fit on a screen).",
    kind="count",
    value="N",
)
TOP_SUSPECTS = Option(
    "top",
    "Suspects to print (default 3). With --json, all are printed by default.",
    kind="count",
    value="N",
)
BY = Option(
    "by",
    "What the objects of a row have in common. Roots and goroutines are those "
    "that scan bills; of the fields that lead to an object, the nearest counts. "
    "A site is where sampled objects were allocated.",
    kind="choice",
    value="type|package|span-class|root|goroutine|field|site|site,root",
    choices=(
        "type",
        "package",
        "span-class",
        "root",
        "goroutine",
        "field",
        "site",
        "site,root",
    ),
    default="type",
)
RETAINED_ROWS = Option(
    "retained",
    "Also print what the objects of each row keep alive, and sort by it.",
)
EXACT = Option(
    "exact",
    "Also print exactly what all objects of TYPE, named as in a row or as "
    "other answers print it, keep alive together.",
    kind="text",
    value="TYPE",
)
GARBAGE = Option(
    "garbage", "Count objects that are allocated and not reached instead."
)
FILTER = Option(
    "filter",
    "Only rows whose key has a match of the regular expression RE. A type "
    "that begins with `[]', `[N]', `*' or `map[' is taken as it is.",
    kind="text",
    value="RE",
)
TOP_ROWS = Option(
    "top",
    "Rows to print (default 20). With --json, all are printed by default.",
    kind="count",
    value="N",
)
TYPE = Option(
    "type",
    "Only objects whose printed type has a match of the regular expression "
    "RE. A type that begins with `[]', `[N]', `*' or `map[' is taken as it "
    "is.",
    kind="text",
    value="RE",
)
MIN_BYTES_OBJECTS = Option(
    "min-bytes",
    "Only objects of at least SIZE.",
    kind="size",
    value="SIZE",
)
SORT = Option(
    "sort",
    "The order: by address, or the largest first.",
    kind="choice",
    value="address|bytes|retained",
    choices=("address", "bytes", "retained"),
    default="address",
)
RETAINED_OBJECTS = Option(
    "retained",
    "Print what each object retains (implied by --sort retained).",
)
LIMIT_LINES = Option("limit", "Lines to print.", kind="count", value="N")
FAIL_ABOVE = Option(
    "fail-above",
    "End with status 4 if a holder retains more than SIZE, suspect or not.",
    kind="size",
    value="SIZE",
)
FAIL_ABOVE_GROWTH = Option(
    "fail-above",
    "End with status 4 if the reached heap has grown by more than SIZE; with "
    "--by, if a row has.",
    kind="size",
    value="SIZE",
)
BY_DIFFERENCE = Option(
    "by",
    "Print only the table of this kind, with more rows.",
    kind="choice",
    value="type|root|path|site|package|goroutine",
    choices=("type", "root", "path", "site", "package", "goroutine"),
)
TOP_DIFFERENCE = Option(
    "top",
    "Rows of each table (default 5; with --by, 20). With --json, all are "
    "printed by default.",
    kind="count",
    value="N",
)
MIN_BYTES_GROWTH = Option(
    "min-bytes",
    "Leave out rows that have grown or shrunk by less than SIZE.",
    kind="size",
    value="SIZE",
)
SURVIVORS = Option(
    "survivors",
    "Count the objects that are on both sides, if both are of one process.",
)
OUT_DIFFERENCE = Option(
    "out",
    "Write the difference as a profile for `go tool pprof FILE'.",
    kind="file",
    value="FILE",
    letter="o",
)
FAIL_ON_LEAKS = Option(
    "fail-on-leaks", "End with status 4 if a goroutine has leaked."
)
IGNORE = Option(
    "ignore",
    "Leave out goroutines that wait in a function that PATTERN names; `*' "
    "stands for any characters. any:PATTERN: with the function anywhere on the "
    "stack. created-by:PATTERN: whose go statement is in the function. May be "
    "repeated.",
    kind="text",
    value="PATTERN",
    repeats=True,
)
IGNORE_FILE = Option(
    "ignore-file",
    "Ignore the patterns in FILE, one on each line. May be repeated.",
    kind="file",
    value="FILE",
    repeats=True,
)
BASELINE = Option(
    "baseline",
    "Describe only leaks that are not in FILE, and count only these for "
    "--fail-on-leaks.",
    kind="file",
    value="FILE",
)
WRITE_BASELINE = Option(
    "write-baseline",
    "Write what has leaked to FILE, for --baseline.",
    kind="file",
    value="FILE",
)
FAIL_ABOVE_BLOCKED = Option(
    "fail-above-blocked",
    "End with status 4 if more than N goroutines are blocked in one place, "
    "leaked or not.",
    kind="count",
    value="N",
)
TOP_LEAKS = Option(
    "top",
    "Groups to print (default 4). With --json, all are printed by default.",
    kind="count",
    value="N",
)
MAX_DEPTH = Option(
    "max-depth",
    "Levels of the tree. Deeper objects fold into them.",
    kind="limit",
    value="N",
)
MAX_NODES = Option(
    "max-nodes",
    "Nodes of the tree. Other objects fold into those above.",
    kind="limit",
    value="N",
)
MAX_SAMPLES = Option(
    "max-samples",
    "Paths in the profile. The smallest fold into others.",
    kind="count",
    value="N",
)
VIEW = Option(
    "view",
    "Paths: of references, or what keeps what alive.",
    kind="choice",
    value="references|dominators",
    choices=("references", "dominators"),
    default="references",
)
FORMAT = Option(
    "format",
    "The format of the profile. See `goref help scan'.",
    kind="choice",
    value="pprof|folded|dot|jsonl",
    choices=("pprof", "folded", "dot", "jsonl"),
    default="pprof",
)
FORMAT_EXPORT = Option(
    "format",
    "What the file is. "
    "hprof: a Java heap dump, for Eclipse MAT, VisualVM or JProfiler. "
    "heapsnapshot: a snapshot of V8, for Chrome DevTools or memlab. jsonl: a "
    "line of JSON for each object, with its references and what it retains. "
    "folded: stacks of references with bytes, for flame graphs. dot: what "
    "keeps most alive, for Graphviz.",
    kind="choice",
    value="hprof|heapsnapshot|jsonl|folded|dot",
    choices=("hprof", "heapsnapshot", "jsonl", "folded", "dot"),
)
MEMORY_LIMIT = Option(
    "memory-limit",
    "Memory that goref may use, such as 500M or 2G. Near the limit, the tree "
    "gets fewer nodes. Default: the memory that is free.",
    kind="size",
    value="SIZE",
)
TIMEOUT = Option(
    "timeout",
    "Stop SECONDS after the start of the command. scan and overview then "
    "print what was found.",
    kind="seconds",
    value="SECONDS",
)
ATTRIBUTION = Option(
    "attribution",
    "Which root is billed for what several reach: the one with the fewest "
    "references in between, or the first in order (as in `grf').",
    kind="choice",
    value="nearest|first",
    choices=("nearest", "first"),
    default="nearest",
)
PER_GOROUTINE = Option(
    "per-goroutine",
    "Keep the stack roots of goroutines apart, with the label goroutine_id.",
)
JSON = Option("json", "Print one JSON document.")
RETAINED = Option(
    "retained",
    "Add what each root alone keeps alive (by the graph).",
)
DEPTH_TREE = Option(
    "depth",
    "Levels of the tree (default 1; at most 64).",
    kind="count",
    value="N",
)
MIN_BYTES = Option(
    "min-bytes",
    "Leave out rows that keep less than SIZE alive.",
    kind="size",
    value="SIZE",
)
TOP_CHILDREN = Option(
    "top",
    "Rows directly below each row (default 10).",
    kind="count",
    value="N",
)
MAX_DIFFERENCES = Option(
    "max-differences",
    "Objects to list (default 20). Unexplained ones are always listed.",
    kind="count",
    value="N",
    default=20,
)
ADDRESSES = Option(
    "addresses",
    "Print one line for each object, ordered by address: its start (after a "
    "malloc header), and the bytes from there to the end of its slot. Use "
    "the list to compare goref with another heap walker.",
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

_GOROUTINE_FIELDS = (
    "userloc",
    "curloc",
    "goloc",
    "startloc",
    "state",
    "waiting",
    "running",
    "user",
    "label",
    "call",
)
WITH = Option(
    "with",
    "Only goroutines whose place (userloc, curloc, goloc, startloc: "
    "`FILE:LINE in FUNCTION'), wait reason (waiting) or state contains TEXT; "
    "that a thread runs (running); that are not the runtime's own (user); "
    "with the label KEY or KEY=VALUE; with a function in the stack whose name "
    "contains TEXT (call). May be repeated.",
    kind="condition",
    value="FIELD [TEXT]",
    choices=_GOROUTINE_FIELDS,
    repeats=True,
)
WITHOUT = Option(
    "without",
    "Only goroutines of which this is not true.",
    kind="condition",
    value="FIELD [TEXT]",
    choices=_GOROUTINE_FIELDS,
    repeats=True,
)
GROUP = Option(
    "group",
    "Count goroutines that have this in common, with examples. stack: all "
    "calls. label: all labels, or only that of KEY. waiting-on: the lock or "
    "channel, or its type and field.",
    kind="condition",
    value="FIELD [KEY]",
    choices=(
        "userloc",
        "curloc",
        "goloc",
        "startloc",
        "state",
        "stack",
        "label",
        "waiting-on",
    ),
)
BYTES = Option(
    "bytes",
    "Print the memory of the stacks, what each goroutine or group alone keeps "
    "alive, and what they share.",
)
LOCATION = Option(
    "location",
    "The place to print: of the user's innermost call (userloc, the default), "
    "the innermost call, the go statement, or the function.",
    kind="choice",
    value="FIELD",
    choices=("userloc", "curloc", "goloc", "startloc"),
    default="userloc",
)
TEXT_STACKS = Option(
    "text",
    "Print the calls of each goroutine instead, as a panic does. With --out, "
    "write them to the file.",
)
NOW = Option(
    "now",
    "With heap and allocs, count the objects that exist at this moment, "
    "instead of those of the last collection. Reads the heap.",
)
SITES = Option(
    "sites",
    "Profile sampled objects, with their allocation stacks.",
)
STACK = Option("t", "Print the calls of each goroutine (--exec bt).")
EXEC = Option(
    "exec",
    "Answer `goroutine ID bt', `locals' or `wait' for each.",
    kind="choice",
    value="bt|locals|wait",
    choices=("bt", "locals", "wait"),
)
CHAN = Option(
    "chan",
    "Only goroutines that wait for this channel, also in a select.",
    kind="text",
    value="EXPRESSION",
)
SYSTEM = Option("system", "List the runtime's own goroutines, too.")
LIMIT_GOROUTINES = Option(
    "limit",
    "Goroutines to list (default 100), or of each group (default 3).",
    kind="count",
    value="N",
)
LIMIT_WAITS = Option(
    "limit",
    "Groups to print (default 10). With --json, all are printed by default.",
    kind="count",
    value="N",
)
FORMAT_WAITS = Option(
    "format",
    "The format of the answer; dot is a graph for Graphviz.",
    kind="choice",
    value="text|dot|json",
    choices=("text", "dot", "json"),
    default="text",
)
SCHED = Option(
    "sched",
    "Print the scheduler instead: Ps, Ms, run queues, who stops the world. "
    "The heap is not read.",
)
FAIL_ON_DEADLOCK = Option(
    "fail-on-deadlock", "End with status 4 if there is a proven deadlock."
)
DEPTH_CALLS = Option(
    "depth",
    "Calls to print of each goroutine (default 50).",
    kind="count",
    value="N",
    default=50,
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
    "Structs in structs to print (default 1). Of a deeper one, only the "
    "address is printed.",
    kind="count",
    value="N",
    default=1,
)

PATHS = Option(
    "paths",
    "Print the K shortest paths, each from another root.",
    kind="count",
    value="K",
)
ALL_ROOTS = Option(
    "all-roots", "Print all roots that reach the object; count them if many."
)
EXCLUDE_WEAK = Option(
    "exclude-weak",
    "Leave out of paths and roots what does not keep an object for long: "
    "finalizers, cleanups, handles of weak pointers, the tables of package "
    "unique, the items that a sync.Pool caches.",
)
OF_TYPE = Option(
    "type",
    "Merge the shortest paths to all objects of TYPE, named as answers print "
    "it: main.T, []main.T, `string data'. Takes no operand.",
    kind="text",
    value="TYPE",
)
REFS = Option("refs", "List the references from the object.")
PRINT = Option("print", "Print the value, too, as Delve does.")
VALUES = Option(
    "values",
    "Also write values: texts of panics, labels of goroutines, keys of maps, "
    "addresses of sockets.",
)
SAVED_VALUES = Option(
    "values",
    "Save all memory, with strings, numbers and all other values of the "
    "program.",
)
REFERRERS = Option("referrers", "List the references to the object.")

COMMON = (MEMORY_LIMIT, TIMEOUT, JSON)

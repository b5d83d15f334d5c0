# SPDX-License-Identifier: Apache-2.0
"""Questions on goroutines: where they are, and what they wait for."""

from ..options import (
    COMMON,
    FAIL_ON_DEADLOCK,
    FAIL_ON_LEAKS,
    LABEL,
    OUT,
    SHOW_DEPTH,
    SHOW_ELEMENTS,
    SHOW_STRING,
    TIME,
    Option,
)
from .verb import Verb

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
CHAN = Option(
    "chan",
    "Only goroutines that wait for this channel, also in a select.",
    kind="text",
    value="EXPRESSION",
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
STACK = Option("t", "Print the calls of each goroutine (--exec bt).")
EXEC = Option(
    "exec",
    "Answer `goroutine ID bt', `locals' or `wait' for each.",
    kind="choice",
    value="bt|locals|wait",
    choices=("bt", "locals", "wait"),
)
DEPTH_CALLS = Option(
    "depth",
    "Calls to print of each goroutine (default 50).",
    kind="count",
    value="N",
    default=50,
)
SYSTEM = Option("system", "List the runtime's own goroutines, too.")
LIMIT_GOROUTINES = Option(
    "limit",
    "Goroutines to list (default 100), or of each group (default 3).",
    kind="count",
    value="N",
)

GOROUTINES = Verb(
    "goroutines",
    "List goroutines, what they do and where",
    """\
Prints one line for each goroutine, as Delve does: its number, the innermost
call that is the user's own, and in brackets its wait reason or state. With
--group, goroutines are counted by what they have in common. Only --chan,
--bytes, --group waiting-on, --exec locals and --exec wait read the heap.""",
    (
        WITH,
        WITHOUT,
        CHAN,
        GROUP,
        BYTES,
        LOCATION,
        STACK,
        EXEC,
        DEPTH_CALLS,
        SYSTEM,
        LIMIT_GOROUTINES,
        *COMMON,
    ),
    examples=(
        ("core EXE CORE goroutines --group userloc", "where are they?"),
        (
            "core EXE CORE goroutines --with waiting 'chan receive' -t",
            "the calls of those that receive",
        ),
    ),
)

GOROUTINE = Verb(
    "goroutine",
    "Print the calls and the variables of one goroutine",
    """\
Prints the state of a goroutine, who created it, and its calls, the innermost
first, with those that the compiler inlined. `locals' adds the arguments and
local variables of each call that is not the runtime's own; `frame N' prints
those of any one call. `wait' says what the goroutine waits for: the channel,
each case of a select, the lock and what holds it in memory, both ends of a
socket, the system call or the end of a sleep. Values are printed as Delve
prints them; a value that is no longer there is `(optimized out)'. gdb's
selected thread and frame stay as they are.""",
    (DEPTH_CALLS, SHOW_STRING, SHOW_ELEMENTS, SHOW_DEPTH, *COMMON),
    "ID [bt|locals|frame N|wait]",
    examples=(
        ("core EXE CORE goroutine 17", "what goroutine 17 does"),
        ("core EXE CORE goroutine 17 frame 2", "the variables of call 2"),
        ("core EXE CORE goroutine 17 wait", "what it waits for"),
    ),
    sample="1 locals",
    choices=((), ("bt", "locals", "frame", "wait")),
)

PANIC = Verb(
    "panic",
    "Say what ended the program",
    """\
Prints the values of the panics, the oldest first, or the text of the fatal
error; the signal, its address and, for a fault in C, the C function; the
goroutine with its calls; and the deferred calls that have not run. Errors
appear as their texts, because the runtime calls their Error method before it
ends the program. If nothing has ended the program, goref prints the goroutine
that panics and whose deferred calls are still running.

The heap is not walked.""",
    (DEPTH_CALLS, SHOW_STRING, SHOW_ELEMENTS, SHOW_DEPTH, *COMMON),
    examples=(("core EXE CORE panic", "why is there a core?"),),
)

NOW = Option(
    "now",
    "With heap and allocs, count the objects that exist at this moment, "
    "instead of those of the last collection. Reads the heap.",
)
TEXT_STACKS = Option(
    "text",
    "Print the calls of each goroutine instead, as a panic does. With --out, "
    "write them to the file.",
)

PROFILE = Verb(
    "profile",
    "Write Go's own profiles, read from memory",
    """\
Writes a profile that `go tool pprof' opens, as the program would write it:

heap, allocs: what the program's heap profile has, with Go's own four values.
block, mutex: waits for locks and channels, if the program samples them.
goroutine: how many goroutines have which stack. A second value, stack_space,
is the memory of their stacks. --text prints all goroutines as a panic does.
goroutineleak: the same for goroutines that can never wake, as the runtime
itself finds them in Go 1.27, for every release. See leaks.""",
    (OUT, NOW, TEXT_STACKS, LABEL, TIME, *COMMON),
    "PROFILE",
    """\
The heap profile is that of the last collection, like the program's own: samples
since then are not in it. With --now, the objects in use are the sampled ones
that exist at this moment, garbage that is not yet swept included, and the
allocations are all of them so far.

Sampled values are scaled as runtime/pprof scales them. heap, allocs, block and
mutex need the executable's symbols. `goref attach' copies the samples and
nothing else, except for --now.

Inlined calls are part of the stacks. The profiles of goroutines leave out the
runtime's own goroutines and the wrappers that the compiler makes. Their stacks
have all calls, however deep they are. Only goroutineleak and --now read the
heap.""",
    (
        ("core EXE CORE profile heap -o heap.pb.gz", "for go tool pprof"),
        ("core EXE CORE profile goroutine --text", "the stacks as text"),
        (
            "attach PID profile goroutine --text -o stacks.txt",
            "of a process that answers no HTTP",
        ),
    ),
    sample="goroutine --out {file}",
    choices=(("heap", "allocs", "block", "mutex", "goroutine", "goroutineleak"),),
)

TOP_LEAKS = Option(
    "top",
    "Groups to print (default 4). With --json, all are printed by default.",
    kind="count",
    value="N",
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

LEAKS = Verb(
    "leaks",
    "Find goroutines that can never wake",
    """\
Prints the goroutines that have leaked, in groups: how many, what they wait for
and where, who created them, and what they keep alive. A goroutine has leaked
if it waits for a channel, in a select, or for a lock, a WaitGroup or a Cond of
package sync, and nothing that can still run can reach what it waits for. This
is the rule of Go's own goroutineleak profile (Go 1.26 and later). goref applies
it to every release, after the fact.""",
    (
        TOP_LEAKS,
        IGNORE,
        IGNORE_FILE,
        BASELINE,
        WRITE_BASELINE,
        FAIL_ON_LEAKS,
        FAIL_ABOVE_BLOCKED,
        *COMMON,
    ),
    details="""\
A goroutine that waits for something in a package variable never counts as
leaked. Groups may share objects, so the total may be more than the sum of the
groups. For --fail-on-leaks, a goroutine is no leak if it is unproven: goref
does not know what it waits for, or a pointer to that may be in memory that the
core lacks.""",
    examples=(
        ("core EXE CORE leaks", "which goroutines have leaked?"),
        (
            "attach PID leaks --fail-on-leaks --baseline FILE",
            "status 4 if one has leaked that FILE does not know, for scripts",
        ),
    ),
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

WAITS = Verb(
    "waits",
    "Show who waits for what, and who could wake them",
    """\
Prints deadlocks, then goroutines by the lock, channel, wait group or condition
that they wait for, with its owner. With ID, prints what this goroutine waits
for and what it owns. An owner is proven by the runtime or by the machine code;
all others are likely, each with its evidence. A deadlock is a cycle: each
goroutine waits for a lock that the next one owns, or for a channel, condition
or wait group that no goroutine outside the cycle can use. It is proven if all
its owners are proven or all its goroutines have leaked; otherwise, it is
likely.""",
    (LIMIT_WAITS, FORMAT_WAITS, FAIL_ON_DEADLOCK, *COMMON),
    "[ID]",
    examples=(("core EXE CORE waits", "why do they wait, and for whom?"),),
)

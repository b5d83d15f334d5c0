# SPDX-License-Identifier: Apache-2.0
"""The growth of a process, while it runs."""

from ..options import COLOR, JSON, MAX_PAUSE, MEMORY_LIMIT, Option
from .trace_native import NATIVE_OPTIONS
from .verb import Verb

FOR = Option(
    "for",
    "How long to trace (default 60s; of a COMMAND, until it ends).",
    kind="duration",
    value="TIME",
)
EVERY = Option(
    "every",
    "The length of an interval (default 10s).",
    kind="duration",
    value="TIME",
    default=10.0,
)
COUNT = Option(
    "count", "End after N intervals.", kind="count", value="N"
)
MAX_OVERHEAD = Option(
    "max-overhead",
    "The share of a processor that the probes may take from the process "
    "(default 1%). To stay below it, goref gives fewer events a stack, or "
    "takes the probes away for a while, and says for how long.",
    kind="share",
    value="SHARE",
    default=1.0,
)
TOP_STACKS = Option(
    "top",
    "Stacks, and mappings of --idle, to print (default 10). With --json, all "
    "are printed by default.",
    kind="count",
    value="N",
)
IDLE = Option(
    "idle",
    "Also print which resident memory the process did not access, by class and "
    "by mapping. This clears the accessed bits in its page tables.",
)
LOOK = Option(
    "look",
    "How to see what the memory holds, at the end: by a snapshot (default), by "
    "stopping the process to copy it (attach), or not at all.",
    kind="choice",
    value="snapshot|attach|none",
    choices=("snapshot", "attach", "none"),
    default="snapshot",
)
OUT_TRACE = Option(
    "out",
    "Write the stacks to FILE, for `go tool pprof FILE'.",
    kind="file",
    value="FILE",
    letter="o",
)
FORMAT_TRACE = Option(
    "format",
    "The format of FILE: pprof (default), or folded, for flame graphs.",
    kind="choice",
    value="pprof|folded",
    choices=("pprof", "folded"),
    default="pprof",
)
HTML_TRACE = Option(
    "html",
    "Also write a page of HTML with the growth over time.",
    kind="file",
    value="FILE",
)
JSON_LINES = JSON._replace(
    help="Print a JSON document in a line for each interval, and one at the "
    "end."
)

TRACE = Verb(
    "trace",
    "Print what grows in a running process, and who lets it grow",
    """\
Watches the process for a minute, and prints a line for each interval: the
change of its resident memory, by class of `goref rss'. At the end come the
stacks that touched the new pages, what these pages hold, and who holds that.
Ctrl-C ends the trace early, and prints what there is.

MODE is rss (default), which sees page faults, or go, kernel or native. These
print what was allocated during the trace and is still there. The mode go prints
what Go allocated, from the samples of its own heap profiler. The mode kernel
prints what the kernel allocated for the process, such as sockets and pipes. The
mode native prints what C allocated with malloc and the like, and who holds it.
With `-- COMMAND', goref starts the command and traces it from its start. A
command that still runs at the end goes on.""",
    (
        FOR,
        EVERY,
        COUNT,
        MAX_OVERHEAD,
        TOP_STACKS,
        IDLE,
        LOOK,
        OUT_TRACE,
        FORMAT_TRACE,
        HTML_TRACE,
        *NATIVE_OPTIONS,
        MAX_PAUSE,
        JSON_LINES,
        COLOR,
        MEMORY_LIMIT,
    ),
    "PID [MODE]",
    """\
goref first prints its probes, and a forecast of their cost, as far as that is
known in advance. At the end it prints what they cost, how many events it did
not see, by reason, and for how long the probes were off. Memory that was there
before the start is not explained: `goref attach PID' explains it.

The classes of each interval add up to the change of the Rss in /proc/PID/smaps.
A page counts in the class of its address, and belongs to the stack that touched
it last before it appeared. A page that was mapped along with its neighbour
belongs to the neighbour's stack. New pages without a stack are counted.

The probes are programs that the kernel checks (BPF), kept by the helper
goref-trace. They need root, or CAP_BPF with CAP_PERFMON, beside the rights of
`goref attach'. However goref ends, the probes end with it. SIGTERM and SIGHUP
end goref without an answer; a COMMAND that has begun goes on. The mode rss
probes no code of the process. The mode go probes one function of the runtime,
which by default runs about once for each 512 KiB allocated. The mode kernel
probes the kernel's allocators, for all processes of the machine; it says what
that cost them. The mode native probes the functions of C's allocators, in
windows that keep the cost below the limit, and scales the numbers to the whole
time. A short trace may have no window. The options from --full to --sort are
for this mode alone.

The look at the end reads the heap as `goref attach --snapshot' does. If it is
refused, the stacks are printed without it.

FILE and the page appear whole or not at all.

In gdb there is no trace: a process that gdb holds does not grow.""",
    (
        ("trace PID", "a minute of growth, by class and by stack"),
        (
            "trace PID go --for 5m --out growth.pb",
            "what Go allocated in five minutes and still has",
        ),
        ("trace PID kernel", "sockets, pipes and the like, by kernel stack"),
        ("trace PID native", "blocks of C by stack, and who holds them"),
        ("trace --html page.html -- ./server -v", "a command, from its start"),
    ),
    choices=((), ("rss", "go", "kernel", "native")),
)

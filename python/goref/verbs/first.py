# SPDX-License-Identifier: Apache-2.0
"""The first questions, when nothing is known."""

from ..options import COMMON, FAIL_ON_DEADLOCK, FAIL_ON_LEAKS, WEIGHT, Option
from .verb import Verb

TOP_OVERVIEW = Option(
    "top",
    "Rows of each table (default: as many as fit on a screen).",
    kind="count",
    value="N",
)

OVERVIEW = Verb(
    "overview",
    "Summarize the program and suggest what to ask next",
    """\
Begins with the verdict: what ended the program, deadlocks, leaked goroutines
and the first suspect. Then prints what stopped the program, the size of its
heap, the number of goroutines, what keeps most alive, the largest holders and
types, and the commands to run next. It walks the heap and makes the object
graph; in gdb, later commands of the same stop use both again. If there is no
memory for the graph, it says so and goes on without.

`scan' prints the complete tables.""",
    (TOP_OVERVIEW, *COMMON),
    examples=(
        ("core EXE CORE", "an overview of a core"),
        ("attach PID overview --json", "the same for a process, for scripts"),
    ),
)

SCHED = Option(
    "sched",
    "Print the scheduler instead: Ps, Ms, run queues, who stops the world. "
    "The heap is not read.",
)

HUNG = Verb(
    "hung",
    "Say why a service hangs, on one screen",
    """\
The first line is the likely cause. Prints goroutines that wait for each other,
who keeps most others waiting, the largest pile-up, threads in system calls and
in C, goroutines by state and place, leaks with what they retain, and commands
that look closer.""",
    (SCHED, FAIL_ON_DEADLOCK, FAIL_ON_LEAKS, *COMMON),
    details="""\
With --sched, the first line says whether a P is free, whether something is
runnable, and which goroutine keeps the world from being stopped. Each P has a
row with its state, the goroutine that it runs, and the length of its run queue.
Each M has a row with its thread, its state, and the system call that it is in.

A core that a signal has made has a frozen world: the first line then says that
the program is ending, which is no hang.""",
    examples=(
        (
            "attach PID hung",
            "copy the process, let it go on, say why it hangs",
        ),
        (
            "core EXE CORE hung --fail-on-deadlock",
            "status 4 if a deadlock is proven, for scripts",
        ),
        ("core EXE CORE hung --sched", "is a P free, and what runs?"),
    ),
)

TOP_SUSPECTS = Option(
    "top",
    "Suspects to print (default 3). With --json, all are printed by default.",
    kind="count",
    value="N",
)
FAIL_ABOVE = Option(
    "fail-above",
    "End with status 4 if a holder retains more than SIZE, suspect or not.",
    kind="size",
    value="SIZE",
)

SUSPECTS = Verb(
    "suspects",
    "Name the few holders that keep most of the heap alive",
    """\
For each suspect, prints what it retains, where that accumulates, how much of it
is resident, what it consists of, a path from a root, and the commands to look
closer. A suspect is one holder, or many goroutines or objects that are alike.
It retains 10 % of what is reached or more, and 4 MiB or more. A holder that only
the runtime refers to is no suspect. On a heap without a suspect, one line says
so.""",
    (TOP_SUSPECTS, FAIL_ABOVE, WEIGHT, *COMMON),
    details="""\
A suspect retains what it alone keeps alive. A root that only shares an
object with other roots retains nothing of it; then the object itself is the
suspect. Suspects do not overlap.

It accumulates where the retained size drops: many objects hang there side by
side, and none of them has most of it. If a list accumulates, each element
holds the rest of it. The path is a shortest one; others may exist.

Pages that were allocated and never written are not resident; they may be most
of a suspect. goref knows what is resident of a process on this machine, and an
upper bound for a core in which the kernel left out untouched pages. Otherwise,
it does not print the line.

With --weight pointers, sizes are words that the collector scans (see `goref
help scan'). A suspect then retains 512 Ki words or more, and goref does not say
what is resident.""",
    examples=(
        ("core EXE CORE suspects", "who leaks?"),
        (
            "attach PID suspects --fail-above 500M",
            "status 4 if a holder retains more, for scripts",
        ),
    ),
)

RSS = Verb(
    "rss",
    "Say where the resident memory is, page by page",
    """\
Puts every resident page into one class, and the classes add up: live objects,
garbage, free slots and free pages of the Go heap, goroutine stacks, the
runtime's own structures by kind, thread stacks, executable and libraries, other
files, the C heap, shared memory, and what is unknown. Also prints the settings
of the collector, what the next collection would free, what the scavenger could
give back to the system, and what is allocated and was never touched.

The classes of a process add up to its Rss (residency: exact). A core of the
kernel has the anonymous pages (anonymous); their sum is an upper bound. Other
cores do not tell which pages were resident (unknown): the classes are then what
the core has, and pages of zeros are counted apart, because the process may
never have touched them.""",
    COMMON,
    details="""\
The kernel says which pages are resident (/proc/PID/smaps and pagemap), and
goref asks it before it reads anything else. Pages of zeros that the process has
only read do not count. Before Linux 6.7, they cannot be told from others; if
there are any, residency is anonymous.

A free page that the runtime has given back is resident again only if something
has touched it, such as a huge page. It is then in a class of its own. The
scavenger could give back the other free pages, except those in the caches of
the Ps. If pages are in swap, goref does not know what was never touched.

The C heap is the memory of the allocators that goref reads (see `native').
glibc maps large blocks one by one. goref knows them by their headers, and stops
the search after 32 MiB of resident memory without a header; blocks beyond that
are unknown. Anonymous memory that nothing explains is unknown: what
the program or a library maps itself. Without debug information, so are parts of
the Go runtime's own memory.

In --json, `rss_bytes' is null unless residency is exact, and `anonymous_bytes'
if it is unknown.""",
    examples=(
        ("attach PID rss", "where is the rest of the memory?"),
        ("core EXE CORE rss --json", "the same of a core, for scripts"),
    ),
)

TOP_NATIVE = Option(
    "top",
    "Rows of each table (default 8; of leaks 12). With --json, all are "
    "printed.",
    kind="count",
    value="N",
)
FAIL_ON_C_LEAKS = Option(
    "fail-on-leaks",
    "End with status 4 if a block of C memory is held by nothing; only with "
    "leaks.",
)
C_VALUES = Option(
    "values",
    "Also print the first words of an example of each group, in hexadecimal "
    "where they are no text; only with leaks.",
)

NATIVE = Verb(
    "native",
    "Say where C memory is, what holds it, and what of it leaks",
    """Prints the arenas of the C allocators: how much is in use, free, mapped and
resident, and how much each would give back on request, as by malloc_trim(3).
Then it prints the blocks in use by size, by type, and by what holds them, and
the Go objects that a cgo.Handle or a runtime.Pinner keeps alive for C, and what
only these references hold.

`native leaks' prints the blocks that nothing holds, in groups of one size and
content. A block is held if a path leads to it from a reached object of Go, from
the frames of a goroutine, from data of the program and its libraries, or from
a thread's stack, registers and variables. Dead objects of Go hold nothing.
A block that only a leaked block leads to is leaked, too.""",
    (TOP_NATIVE, FAIL_ON_C_LEAKS, C_VALUES, *COMMON),
    "[leaks]",
    """goref reads the allocators of glibc 2.28 to 2.41 and of musl 1.2.1 to 1.2.5,
jemalloc 5.2.1, 5.3.0 and 5.3.1, tcmalloc of gperftools 2.7 and 2.8.1 to 2.18.1,
and mimalloc 2.0.9 to 2.4.1. Several may be in one process. goref compares what
it finds with the counters of the allocator. An arena that disagrees is damaged,
or a thread was changing it. goref reports it, does not list its blocks, and
takes all of its memory as a holder. goref names other releases of jemalloc,
tcmalloc and mimalloc, and the older malloc of musl, but does not read them. For
other allocators, `goref rss' has the classes of memory.

Sizes are those of the allocator. With glibc, they include the header: 8 bytes,
or 16 for blocks that are mapped one by one. A word of C memory counts as a
pointer if its value lies in a block, so a number may seem to hold a block. A
pointer that is stored in another form (XORed, tagged, in a file) is not seen.
""",
    (
        ("core EXE CORE native", "how much memory does C have, and where?"),
        ("core EXE CORE native leaks", "which blocks are leaked?"),
        (
            "attach PID native leaks --fail-on-leaks",
            "status 4 if there are any, for scripts",
        ),
    ),
    choices=(("leaks",),),
)

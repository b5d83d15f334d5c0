# SPDX-License-Identifier: Apache-2.0
"""The comparison of two heaps."""

from ..options import COMMON, LABEL, MAX_PAUSE, SNAPSHOT, THREADS, TIME, Option
from .verb import Verb

BY_DIFFERENCE = Option(
    "by",
    "Print only the table of this kind, with more rows.",
    kind="choice",
    value="type|root|path|site|package|goroutine|holder|waste",
    choices=(
        "type",
        "root",
        "path",
        "site",
        "package",
        "goroutine",
        "holder",
        "waste",
    ),
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
FAIL_ABOVE_GROWTH = Option(
    "fail-above",
    "End with status 4 if the reached heap has grown by more than SIZE, C "
    "memory included, held or leaked; with --by, if a row has.",
    kind="size",
    value="SIZE",
)
OUT_DIFFERENCE = Option(
    "out",
    "Write the difference as a profile for `go tool pprof FILE'.",
    kind="file",
    value="FILE",
    letter="o",
)
HTML = Option(
    "html",
    "Write the difference as one page of HTML instead.",
    kind="file",
    value="FILE",
)

DIFF = Verb(
    "diff",
    "Print what has grown from one heap to another",
    """\
OLD and NEW are each a core (CORE, or EXE CORE), a file of `goref save' or the
number of a process, in any mix. The first lines are the growth of the reached
heap, that of C blocks that nothing holds, and the suspects that are new, remain
or are gone. Then come the tables of what grew most: by type, root, path,
allocation site, package, goroutine function and holder of C memory, and of what
could be saved, by check of `waste'. An object counts where scan bills it.""",
    (
        BY_DIFFERENCE,
        TOP_DIFFERENCE,
        MIN_BYTES_GROWTH,
        SURVIVORS,
        FAIL_ABOVE_GROWTH,
        OUT_DIFFERENCE,
        HTML,
        LABEL,
        TIME,
        MAX_PAUSE,
        THREADS,
        SNAPSHOT,
        *COMMON,
    ),
    "OLD NEW",
    """\
The sides are opened one after the other, so that only one heap is in memory at
a time. Rows of both sides are matched by their names. If the build ids differ,
these are different programs, and a line says so.

Retained sizes are those of `goref histogram --retained' and `goref goroutines
--group startloc --bytes': exact for roots and for the goroutines of a function.
Those of types and packages are lower bounds, whose difference says nothing;
only --json has them.

Stacks and other roots of C that are named by a thread or an address count
together, unless both sides are of one process.

Sites are those of the objects that the runtime has sampled (see `goref help
histogram'). Their growth is estimated unless every allocation is sampled.

The 1,000 paths with the greatest change have rows. If a side has more than
262,144 paths, objects on further ones are counted on the paths above them, also
in the profile; a line says so.

C memory counts like Go memory. The growth in C is in a column of its own, and
the last table has the fields and variables that hold it. Paths and sites are of
Go alone.

--survivors compares the addresses of objects. That makes sense only if both
sides are of one process. goref compares the number of the process, the build id
and the random bytes that the kernel gives each program when it begins; saved
files keep a digest of these bytes. The collector may have given the memory of a
dead object to a new one, so the number of survivors is an upper bound. It is
exact if no collection has run or ended between the two. Counting takes about 1 s
for a million objects.

The profile of --out has the samples of NEW, and those of OLD below zero, with
the label pprof::base, as `go tool pprof -diff_base' makes them.

The page of --html has the verdict, a chart of what grew by path, and all tables
with up to 500 rows. It needs no network. Keys of maps are left out. --by and
--top go with it only for --json, and --by for --fail-above. gdb writes no page.

In gdb, `goref diff OLD' compares OLD with the program that gdb looks at, and
`goref diff OLD NEW' compares two other heaps.

A file whose name is a number needs a path before it, as in ./1234.""",
    (
        ("diff core.1 core.2", "what has grown from one core to the next"),
        ("diff EXE CORE 4711 --by root", "a core, and the process now"),
        (
            "diff 4711 4711 --snapshot --fail-above 1M",
            "status 4 if the heap has grown by more",
        ),
    ),
)

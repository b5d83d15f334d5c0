# SPDX-License-Identifier: Apache-2.0
"""Files for people and for other tools, and a check of the walk."""

from ..options import COMMON, JSON, MEMORY_LIMIT, TIMEOUT, Option
from .verb import Verb

VALUES = Option(
    "values",
    "Also write values: texts of panics, labels of goroutines, keys of maps, "
    "addresses of sockets.",
)

REPORT = Verb(
    "report",
    "Write all answers as one HTML page",
    """\
Writes FILE, an HTML page for people who would rather look. It has what is
wrong, the heap and what keeps it alive, charts of dominators and of references
that can be searched and zoomed, suspects, roots, types, goroutines, who waits
for whom, leaks, and resident memory. The page is one file, which can be
attached to a ticket; a browser opens it without a network.""",
    (VALUES, *COMMON),
    "FILE",
    """\
The page has names, types, sizes and addresses of the program. Without --values,
it has no values: texts of panics, labels of goroutines with their keys, keys of
maps and addresses of sockets are left out.

The page has the rows of each tree and table that keep most alive, and says what
it leaves out. It has 0.2 to 1 MiB as a rule, and 10 MiB at most. If an answer
could not be found, the page says why. FILE appears whole or not at all.

In gdb, goref does not make the page: a report of a large heap takes memory that
a debugger should not take. Save the target there (`goref save FILE'), and run
`goref open FILE report PAGE' in a shell.""",
    examples=(
        ("core EXE CORE report page.html", "a page of a core"),
        ("attach PID report page.html", "a page of a running process"),
        ("open FILE report page.html", "a page of a saved file"),
    ),
    sample="{file}",
)

MAX_DIFFERENCES = Option(
    "max-differences",
    "Objects to list (default 20). Unexplained ones are always listed.",
    kind="count",
    value="N",
    default=20,
)

VERIFY_VERB = Verb(
    "verify",
    "Check the walk against the allocator's own counts",
    """\
Compares allocated with reached objects, one by one. Rebuilds the figures that
the runtime keeps (HeapAlloc, HeapObjects) from its spans. Counts pointers to
free slots, and pointers to objects that were not reached. Compares the arenas
of C with malloc's own counters, and counts their blocks that something holds.

Garbage that is not yet swept, or that was made since the last collection, is
an explained difference. An unexplained difference is an error in goref or in
the program. The command then fails with exit status 1, also in gdb's batch
mode.""",
    (MAX_DIFFERENCES, *COMMON),
    examples=(("core EXE CORE verify", "does goref see all of the heap?"),),
)

TYPE = Option(
    "type",
    "Only objects whose printed type has a match of the regular expression "
    "RE. A type that begins with `[]', `[N]', `*' or `map[' is taken as it "
    "is.",
    kind="type",
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
ADDRESSES = Option(
    "addresses",
    "Print one line for each object, ordered by address: its start (after a "
    "malloc header), and the bytes from there to the end of its slot. Use "
    "the list to compare goref with another heap walker.",
)
OUT_LIST = Option(
    "out", "Write the list to FILE.", kind="file", value="FILE", letter="o"
)

OBJECTS = Verb(
    "objects",
    "List the reached objects of the heap",
    """\
Prints a line for each object: its address, its bytes, the bytes that it retains
if they are asked for, and its type; `?' if that is not known. Address and bytes
leave out a malloc header. On a terminal, the command line prints 40 lines and
how many more there are; elsewhere there is no limit. In gdb, use `pipe goref
objects | COMMAND'.""",
    (
        TYPE,
        MIN_BYTES_OBJECTS,
        SORT,
        RETAINED_OBJECTS,
        LIMIT_LINES,
        ADDRESSES,
        OUT_LIST,
        JSON,
        MEMORY_LIMIT,
        TIMEOUT,
    ),
    examples=(
        (
            "core EXE CORE objects --sort retained --limit 20",
            "what keeps most alive",
        ),
        (
            "core EXE CORE objects --type '^main.Session$' -o sessions.txt",
            "all objects of a type",
        ),
        (
            "core EXE CORE objects --addresses -o objects.txt",
            "only addresses and bytes, for other tools",
        ),
    ),
    sample="--addresses",
)

FORMAT_EXPORT = Option(
    "format",
    "What the file is. "
    "hprof: a Java heap dump, for Eclipse MAT, VisualVM or JProfiler. "
    "heapsnapshot: a snapshot of V8, for Chrome DevTools (memlab reads the same "
    "format). "
    "jsonl: a line of JSON for each object, with its references and what it "
    "retains. "
    "folded: stacks of references with bytes of Go, for flame graphs. dot: "
    "what keeps most alive, for Graphviz.",
    kind="choice",
    value="hprof|heapsnapshot|jsonl|folded|dot",
    choices=("hprof", "heapsnapshot", "jsonl", "folded", "dot"),
)

EXPORT = Verb(
    "export",
    "Write the heap in the format of another tool",
    """\
Writes all reached objects to FILE, which other tools open. The file has no
values of the program: no texts, numbers or keys of maps.""",
    (FORMAT_EXPORT, MEMORY_LIMIT, TIMEOUT),
    "FILE",
    """\
In a Java heap dump, types are classes and packages are classes, too: package
variables are their static fields. Goroutines are threads with their calls as
stack traces; what a frame holds is a local variable of Java's. What a goroutine
holds otherwise is a root of the kind JNI local, finalizers and cleanups are
JNI global, timers are monitors in use, and words of the runtime are unknown.

Slices are arrays of the references in them; memory without pointers is a
primitive array. All other words are padding, which is zero and makes the sizes
of objects those of Go's allocator. Objects of less than 16 bytes, arrays of
less than 24, and some arrays of pointers are larger in Java's tools than in Go.

In a snapshot of V8, each object is a node; goroutines, roots and groups of
roots are synthetic nodes. V8's tools cannot deal with more than a million
nodes. Beyond that, all objects of a type are one node: its size is right, but
what it retains is not what one object retains.

FILE appears when it is whole, and replaces an existing file only then.""",
    (
        ("core EXE CORE export --format hprof heap.hprof", "open it in MAT"),
        (
            "core EXE CORE export --format jsonl objects.jsonl",
            "all objects and references, for a script",
        ),
    ),
    sample="--format hprof {file}",
)

SAVED_VALUES = Option(
    "values",
    "Save all memory, with strings, numbers and all other values of the "
    "program.",
)

SAVE = Verb(
    "save",
    "Save the target to a file that answers later questions",
    """\
Writes a file that `goref open' reads without the core, the process and the
executable. Every question that needs no values has the same answer from the
file.

The file has types, names, addresses, pointers and sizes, and what the runtime
keeps of itself. It has no values (no strings, numbers, keys of maps, labels of
goroutines, addresses of sockets, paths of data files or texts of panics) unless
--values is given. The file is compressed, and small enough to pass on.""",
    (SAVED_VALUES, *COMMON),
    "FILE",
    """\
The file appears whole or not at all. To find out what must be in it, goref
walks the heap and reads what every other question reads.

To hand over a process without working on its machine, use `goref attach PID
save FILE': the process stops only to be copied.

Every file has some facts that reveal a little about values: lengths and
capacities, when timers and deadlines are due, constants in the code of
functions, parts of the hashes of map keys, and names of types and fields that
the program makes at run time (reflect.StructOf). doc/verbs.md has the whole
list.""",
    (
        ("core EXE CORE save heap.goref", "save a core"),
        ("attach PID save heap.goref", "save a process, which goes on"),
        ("open heap.goref dominators", "ask the file"),
    ),
    sample="{file}",
)

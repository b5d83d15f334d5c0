# SPDX-License-Identifier: Apache-2.0
"""Questions on the heap: who holds what, and what keeps it alive."""

from ..options import (
    COMMON,
    LABEL,
    OUT,
    SHOW_DEPTH,
    SHOW_ELEMENTS,
    SHOW_STRING,
    TIME,
    WEIGHT,
    Option,
)
from .verb import Verb

_EXPRESSION = """\
An expression is a package variable, a field or an element (main.cache,
main.cache.head, main.users[3], main.users["ann"]), a local variable as it is
printed (main.serve.s, of goroutine 17 main.serve.s@17), the address of an
object, a Go conversion such as (*main.T)(0xc000012345), or, in gdb, an
expression of gdb."""

VIEW = Option(
    "view",
    "Paths: of references, or what keeps what alive.",
    kind="choice",
    value="references|dominators",
    choices=("references", "dominators"),
    default="references",
)
SITES = Option(
    "sites",
    "Profile sampled objects, with their allocation stacks.",
)
FORMAT = Option(
    "format",
    "The format of the profile. See `goref help scan'.",
    kind="choice",
    value="pprof|folded|dot|jsonl",
    choices=("pprof", "folded", "dot", "jsonl"),
    default="pprof",
)
TOP = Option(
    "top",
    "Rows of each table (default 10; with --json, all of them).",
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
ATTRIBUTION = Option(
    "attribution",
    "Bill what several roots reach to the nearest, or to the first.",
    kind="choice",
    value="nearest|first",
    choices=("nearest", "first"),
    default="nearest",
)
PER_GOROUTINE = Option(
    "per-goroutine",
    "Keep roots on stacks apart, by the label goroutine_id.",
)
ROOT_LABELS = Option(
    "root-labels",
    "Add the labels root_kind and goroutine_state.",
)
RETAINED = Option(
    "retained",
    "Add what each root alone keeps alive (by the graph).",
)

SCAN = Verb(
    "scan",
    "List who holds how much of the heap",
    """\
Walks the heap. Prints the ledger, and the largest roots and types by bytes and
by objects. With expressions such as main.cache, main.users["ann"] or the
address of an object, it counts only what these hold; `goref help why' has all
kinds of expressions.""",
    (
        OUT,
        VIEW,
        SITES,
        FORMAT,
        LABEL,
        ROOT_LABELS,
        TIME,
        TOP,
        MAX_DEPTH,
        MAX_NODES,
        MAX_SAMPLES,
        ATTRIBUTION,
        PER_GOROUTINE,
        RETAINED,
        WEIGHT,
        *COMMON,
    ),
    "[EXPRESSION]...",
    """\
If several roots reach an object, it is billed to the nearest one, counted in
references. Ties go to package variables in the order of their addresses, then
to goroutines, innermost frames first. Objects that are held only by timers,
finalizers, cleanups, the list of all sync.Pools or the runtime's own frames
come after all these. Objects that only the runtime holds come last. Sizes are
those of the allocator's slots.

--view dominators makes the profile a dominator tree: a path has what keeps its
objects alive, by names, and the first level is that of `goref dominators'. The
bytes of all paths add up to what is reached, in every view and format. The
format folded is for flamegraph.pl and speedscope, jsonl has a line for each
node, and dot is a graph of the largest nodes for Graphviz, which says what it
leaves out.

--root-labels and --label are for stores of profiles and for pprof's -tagfocus.
`go tool pprof' draws a box for each text label of a node.

--sites makes it a profile of the objects that the runtime has sampled for its
heap profile: allocated there, kept here. A path leads from a root to the object
and goes on with the calls that allocated it. Sizes are scaled as runtime/pprof
scales them. They are estimated unless runtime.MemProfileRate is 1.

--retained adds what would be freed if only this root let it go; it is never
more than what is billed. It makes the object graph (see `goref help
dominators').

--weight pointers shows what the collector pays: all sizes are words that it
scans, from the start of a slot up to its last pointer. An object without
pointers has none, however large it is, and neither has C memory. The words of
stacks and of package variables themselves are not counted.

The ledger says how objects were reached. By type: debug information gives the
type of the pointer. By runtime type: an interface's type word gives it. By
header: the object's malloc header gives its own type. By pointer mask: the
type is not known, but the collector's pointer map marks the word as a pointer.
Objects that are not reached are garbage: they are not yet swept, or died since
the last collection.""",
    (
        ("core EXE CORE scan -o refs.pb", "print tables, write a profile"),
        ("attach PID scan main.cache", "what one variable holds"),
        ("core EXE CORE scan --weight pointers", "what the collector scans"),
    ),
)

BY = Option(
    "by",
    "What the objects of a row have in common. Roots and goroutines are those "
    "that scan bills; of the fields that lead to an object, the nearest counts. "
    "A holder is the field or variable that leads to C memory. "
    "A site is where sampled objects were allocated.",
    kind="choice",
    value="type|package|span-class|root|goroutine|field|holder|site|site,root",
    choices=(
        "type",
        "package",
        "span-class",
        "root",
        "goroutine",
        "field",
        "holder",
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
    kind="type",
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

HISTOGRAM = Verb(
    "histogram",
    "Count the objects of the heap by type, package or root",
    """\
Prints objects and bytes of each row, the largest first. With --retained, it
also prints what the objects of a row keep alive. For roots and goroutines this
is exactly what is only theirs. For other rows it is a lower bound: the sum for
those objects that no other object of the row dominates. --exact gives the exact
size for one type.""",
    (BY, RETAINED_ROWS, EXACT, GARBAGE, FILTER, TOP_ROWS, WEIGHT, *COMMON),
    details="""\
Types are those of the memory: `[]main.T' is the array behind a slice, `string'
the bytes of strings, `map[K]V' all pieces of maps. A span class is a size of
slots, with or without pointers. Garbage has only the types that its headers
tell.

Go programs sample their allocations for the heap profile, about one in 512 KiB
(runtime.MemProfileRate). --by site counts the sampled objects that exist now by
the stack that allocated them, and estimates from them, as runtime/pprof does,
how many objects there are; at a rate of 1, nothing is estimated. --by site,root
also says which root keeps them. --filter then looks at all calls of a stack,
and at the root.

With --weight pointers (see `goref help scan'), sizes are words that the
collector scans.""",
    examples=(
        ("core EXE CORE histogram --retained", "which types keep most alive"),
        (
            "core EXE CORE histogram --by package --filter '^main'",
            "one's own types",
        ),
        ("core EXE CORE histogram --garbage", "what is not yet swept"),
        (
            "attach PID histogram --by site,root",
            "allocated there, kept here",
        ),
    ),
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

DOMINATORS = Verb(
    "dominators",
    "Show what keeps how much of the heap alive",
    f"""\
Prints the dominator tree. A row's size is what it alone keeps alive: all that
is reached only through it. Without the row, the collector would free its part
in Go, but no block of C. Rows below a row add up to it, together with the row
itself; no object is counted twice. Objects of one type below the same row are
one row, and so are a list or a tree of one type, the pieces of a map, and
goroutines with the same first function.

Without --depth, --top and --min-bytes, it prints the rows that keep most, as
many as fit on a screen. With expressions, it prints what each keeps alive, what
they keep alive together, and the tree below them. {_EXPRESSION}""",
    (DEPTH_TREE, MIN_BYTES, TOP_CHILDREN, WEIGHT, *COMMON),
    "[EXPRESSION]...",
    """\
The first level has the package variables, the goroutines, the timers, the
finalizers and the runtime's own roots. An object on the first level is held by
several of these: no single one keeps it alive. A goroutine keeps alive what its
frames hold.

The sizes on the first level add up to the bytes that are reached; `--top 0'
leaves none of them out. A small size beside a large one of `scan' means that
what scan bills to a root is held by others, too.

The first question of a stop makes the object graph. It takes about as long as
a scan, and up to 70 bytes of memory for each object; later questions use it
again.

With --weight pointers, sizes are words that the collector scans (see `goref
help scan'), which takes 4 bytes more for each object.""",
    (
        ("core EXE CORE dominators", "what keeps most alive"),
        ("core EXE CORE dominators main.cache --depth 3", "below a variable"),
        (
            "core EXE CORE dominators main.cache main.index",
            "what only these two keep alive",
        ),
    ),
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
    "it: main.T, []main.T, string. Takes no operand.",
    kind="type",
    value="TYPE",
)

WHY_VERB = Verb(
    "why",
    "Print the chain of references that holds an object",
    """\
The address may point anywhere into the object. An expression is a package
variable, a field or an element (main.cache: what it points to; main.users[3],
main.users["ann"].cart), a local variable as it is printed (main.serve.s, of
goroutine 17 main.serve.s@17), a Go conversion such as (*main.T)(0xc000012345)
or *(*main.T)(0xc000012345), also with fields and elements behind it, or, in
gdb, an expression of gdb ($rax, &main.cache). The chain is the one over which
`scan' bills the object. If the address is in no object, `why' says what is
there: a stack, data, a free slot and so on. For a variable that is no pointer,
`why' lists what its own words point to. The line below the object says who
alone holds it, and how much that holder alone keeps alive.""",
    (PATHS, ALL_ROOTS, EXCLUDE_WEAK, OF_TYPE, ATTRIBUTION, *COMMON),
    "ADDRESS|EXPRESSION",
    """\
The line below the object says what all paths to it have in common. "Only
through main.sessions" means: this variable is on every path, and if it is set
to zero, the collector frees the bytes of Go that are printed. It does not free
blocks of C. Without their holder they are leaked, unless a finalizer or the
program frees them. If a field is named, it is the only way to all these bytes.
"By 3 roots, none alone" means that freeing the object takes more than one change.
The paths may still go through one object, which the line then names.

The chain is that of billing: it begins at the nearest root, and roots of the
runtime come last. It says nothing about other holders. A path of --paths is a
shortest one of the object graph, and roots of the runtime come last here, too;
each hop has the field or element, address, type, own size and retained size of
the object. The part that a path shares with one before it is not printed again.

With --type, each branch has the number and bytes of the type's objects whose
shortest path leads over it. Objects of one type below the same branch are one
branch, roots of one name are one, and so are all goroutines. Each object is
counted on one path only: a branch does not keep its objects alone.""",
    (
        ("core EXE CORE why 0xc000782240", "what holds this object"),
        ("core EXE CORE why 0xc000782240 --paths 3", "three paths to it"),
        ("core EXE CORE why --type main.Session", "what holds all of these"),
        ("core EXE CORE why main.cache.head", "what holds the list's head"),
    ),
    sample="{place}",
)

PRINT = Option("print", "Print the value, too, as Delve does.")
REFS = Option("refs", "List the references from the object.")
REFERRERS = Option("referrers", "List the references to the object.")

OBJECT = Verb(
    "object",
    "Describe one object: type, slot, retained size",
    """\
Prints the object's type and how it is known, its slot and span, what it keeps
alive, its immediate dominator (the last object or root on all paths to it), and
the first of its references and referrers. The address may point anywhere into
the object; expressions are those of `why'.

With --refs and --referrers, all references in this direction are listed; more
than 20 are put into groups by type and field. --print adds the value of the
expression, or of the object that has the address.""",
    (
        PRINT,
        SHOW_STRING,
        SHOW_ELEMENTS,
        SHOW_DEPTH,
        REFS,
        REFERRERS,
        *COMMON,
    ),
    "ADDRESS|EXPRESSION",
    """\
The retained size is what the object alone keeps alive, in bytes of the
allocator's slots. The collector would free the part in Go. If the dominator is
"several roots", no single root and no other object holds it alone.

A type is known by the type of a pointer that leads to the object, or by its
malloc header, which the allocator writes before objects of 513 bytes to 32 KiB
since Go 1.22. The unused bytes of a slot are those beyond the type's size, a
malloc header included.""",
    (
        ("core EXE CORE object 0xc000782240", "what this object is"),
        ("core EXE CORE object main.cache --referrers", "who refers to it"),
    ),
    sample="{place}",
)

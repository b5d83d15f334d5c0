# SPDX-License-Identifier: Apache-2.0
"""The question what could be saved."""

from ..options import COMMON, Option
from .verb import Verb

# As the scanner has them, in its order.
CHECKS = (
    "duplicate-strings",
    "slice-capacity",
    "pinned-array",
    "sparse-map",
    "constant-field",
    "goroutine-stack",
    "stuck-finalizer",
    "gc-headroom",
    "context-children",
    "pool",
    "size-class",
    "field-order",
    "tiny-objects",
    "far-timers",
    "library-tax",
)
# Those that read strings and numbers of the program.
OF_VALUES = ("duplicate-strings", "constant-field")

ONLY_CHECKS = Option(
    "checks",
    "Make only these checks, separated by commas (default: all). "
    "`goref help waste' lists them.",
    kind="names",
    value="NAME,NAME",
    choices=CHECKS,
)
MIN_SHARE = Option(
    "min-share",
    "Leave out findings below PERCENT of the heap (default 1%; 0% prints "
    "all).",
    kind="percent",
    value="PERCENT",
    default=1.0,
)
TOP_WASTE = Option(
    "top",
    "Findings to print (default 15). With --json, all are printed by "
    "default.",
    kind="count",
    value="N",
)

WASTE = Verb(
    "waste",
    "Find memory that could be saved, and say how",
    """\
Looks for memory that the program does not need for what it does: equal strings,
unused capacity, small slices that keep large arrays, maps with few entries,
fields that never vary, stacks of waiting goroutines, slack of size classes.
Each finding has the bytes that its change alone would save, how many objects
waste them, the type and field to change, the address of one of them, and what
to do. The last line has the total; what two changes would both save counts
once.

Bytes are those of the allocator's slots: the slot now less the slot after the
change. Only reached objects count: a collection frees garbage anyway.""",
    (ONLY_CHECKS, MIN_SHARE, TOP_WASTE, *COMMON),
    details="""\
The checks:

duplicate-strings: strings and byte slices with equal contents.

slice-capacity: capacity of slices beyond their length.

pinned-array: arrays that slices or strings of a small part keep whole.

sparse-map: maps with more room than their entries need.

constant-field: fields that have one value in all objects of a type.

goroutine-stack: stacks of waiting goroutines beyond what they use.

stuck-finalizer: what only finalizers and cleanups that never run hold.

gc-headroom: memory that GOGC leaves to garbage; advice without bytes.

context-children: contexts that nobody has cancelled.

pool: buffers in a sync.Pool or a free list that are far larger than the others.

size-class: types that are slightly larger than a size class.

field-order: structs that would be smaller with their fields in another order.

tiny-objects: small objects that could be part of the object that holds them.

far-timers: what only timers hold that fire in more than an hour.

library-tax: what only the tables and caches of known libraries hold.

duplicate-strings and constant-field read values. A file that was saved without
values does not have them. To make these checks, `attach' also copies objects
without pointers, which takes longer; its estimate of the pause includes this.
Use --checks to leave these checks out, or --snapshot for a shorter pause.

Findings of less than 1 % of the heap are left out (--min-share). If there is no
finding, no check has found anything; this does not prove that nothing could be
saved.""",
    examples=(
        ("core EXE CORE waste", "what could be saved"),
        (
            "attach PID waste --checks slice-capacity,pinned-array",
            "two checks, which need no values",
        ),
        ("core EXE CORE waste --min-share 0% --json", "all findings"),
    ),
    # Files without values answer this, too.
    sample="--checks " + ",".join(c for c in CHECKS if c not in OF_VALUES),
)

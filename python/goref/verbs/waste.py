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
    "Make only these checks, with commas between their names (default: all). "
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
Looks for memory that the program could do without, although it does the same:
equal strings, unused capacity, small slices that keep large arrays, empty maps,
fields that never vary, stacks of goroutines that wait, slack of size classes.
Each finding has the bytes that its change alone would save, how many objects
waste them, the type and field to change, the address of one of them, and what
to do. The last line has the sum; what two changes would both save counts once.

Bytes are those of the allocator's slots: the slot now less the slot afterwards.
Only objects that are reached count: garbage wastes nothing that a change of the
program would save.""",
    (ONLY_CHECKS, MIN_SHARE, TOP_WASTE, *COMMON),
    details="""\
The checks:

duplicate-strings: strings and byte slices with equal contents.

slice-capacity: capacity of slices beyond their length.

pinned-array: arrays that are kept whole by slices or strings of a small part.

sparse-map: maps that have grown and are nearly empty.

constant-field: fields that have one value in all objects of a type.

goroutine-stack: stacks of waiting goroutines beyond what they use.

stuck-finalizer: what only finalizers and cleanups hold that do not run.

gc-headroom: memory that GOGC lets garbage take; advice without bytes.

context-children: contexts that nobody has cancelled.

pool: what only a sync.Pool holds.

size-class: types that are a little larger than a size class.

field-order: structs that another order of fields would make smaller.

tiny-objects: small objects that could be a part of another one.

far-timers: what timers hold that are due in the far future.

library-tax: what the tables and caches of libraries hold.

duplicate-strings and constant-field read values. A file that was saved without
values does not have them. To make these checks, `attach' also copies objects
without pointers, which takes longer: its estimate of the pause has them, and
--checks leaves these checks out. --snapshot makes the pause shorter.

A finding of less than 1 % of the heap is left out (--min-share). No finding
means that no check has found anything, not that nothing could be saved.""",
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

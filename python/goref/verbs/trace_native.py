# SPDX-License-Identifier: Apache-2.0
"""The options of the mode native of `goref trace'."""

from ..options import Option

FULL = Option(
    "full",
    "Keep the probes on, and follow frees, too. The cost has no limit then "
    "(default --for 10s).",
)
EACH = Option("each", "Print each recorded call as it happens.")
BLOCKS = Option("blocks", "List each outstanding block under its stack.")
OLDER = Option(
    "older",
    "Count only blocks that are at least TIME old at the end.",
    kind="duration",
    value="TIME",
)
MIN_SIZE = Option(
    "min-size", "Record only blocks of SIZE or more.", kind="size", value="SIZE"
)
MAX_SIZE = Option(
    "max-size", "Record only blocks of SIZE or less.", kind="size", value="SIZE"
)
SAMPLE = Option(
    "sample", "Record one in N allocations, at random.", kind="count", value="N"
)
TOTALS = Option(
    "totals", "Print one row for each stack, whoever holds its blocks."
)
ALLOCATOR = Option(
    "allocator",
    "Probe only the functions of this library, or of the executable.",
    kind="text",
    value="OBJECT",
)
PREFIX = Option(
    "prefix",
    "Probe also the functions PREFIXmalloc, PREFIXfree and the like.",
    kind="text",
    value="PREFIX",
)
MAPPINGS = Option("mappings", "Probe also mmap and munmap.")
HOLDERS = Option(
    "holders",
    "Say whether the goroutines that hold the blocks wait, for what, and "
    "how long.",
)
SORT_NATIVE = Option(
    "sort",
    "The order of the rows. By default, bytes that nobody holds come first.",
    kind="choice",
    value="nobody|bytes|blocks|age",
    choices=("nobody", "bytes", "blocks", "age"),
    default="nobody",
)

NATIVE_OPTIONS = (
    FULL,
    EACH,
    BLOCKS,
    OLDER,
    MIN_SIZE,
    MAX_SIZE,
    SAMPLE,
    TOTALS,
    ALLOCATOR,
    PREFIX,
    MAPPINGS,
    HOLDERS,
    SORT_NATIVE,
)

# SPDX-License-Identifier: Apache-2.0
"""The options that `goref trace PID native' has alone."""

from ..options import Option

FULL = Option(
    "full",
    "Keep the probes on, and follow frees, too. There is no limit of the cost "
    "then (default --for 10s).",
)
EACH = Option("each", "Print each call as it happens.")
BLOCKS = Option("blocks", "List each outstanding block under its stack.")
OLDER = Option(
    "older",
    "Only blocks that are at least so old at the end.",
    kind="duration",
    value="TIME",
)
MIN_SIZE = Option(
    "min-size", "Only blocks from SIZE on.", kind="size", value="SIZE"
)
MAX_SIZE = Option(
    "max-size", "Only blocks up to SIZE.", kind="size", value="SIZE"
)
SAMPLE = Option(
    "sample", "See one of N allocations.", kind="count", value="N"
)
TOTALS = Option("totals", "Print one row for each stack.")
ALLOCATOR = Option(
    "allocator",
    "Only functions of this library, or of the executable.",
    kind="text",
    value="OBJECT",
)
PREFIX = Option(
    "prefix",
    "Also functions whose names begin so, as PREFIXmalloc.",
    kind="text",
    value="PREFIX",
)
MAPPINGS = Option("mappings", "Also mmap and munmap.")
HOLDERS = Option(
    "holders", "Say for what the goroutines of each row wait, and how long."
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

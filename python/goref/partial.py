# SPDX-License-Identifier: Apache-2.0
"""Whether an answer is about all of the memory. Pure: never imports gdb."""

from typing import Any

from .render import human_bytes

# Gaps behind which there may be memory that nothing else leads to, and what
# was wrong with it, if it did not simply lie in the missing part of a core.
_LOSSES = {
    "unreadable_pages": ("pages of memory", "are missing"),
    "bad_spans": ("spans of the heap", "make no sense"),
    "goroutines_skipped": ("goroutines", "could not be read"),
    "broken_lists": ("of the runtime's lists and tables", "make no sense"),
}
_TABLES = ("bad_spans", "broken_lists")


def reasons(
    info: dict[str, Any], ledger: dict[str, Any], ended: str = ""
) -> list[str]:
    """Why sizes are lower bounds; empty: they are not.
    ended: why the walk was, if it was not by Ctrl-C."""
    found = []
    if ledger.get("is_partial"):
        found.append(ended or "interrupted")
    if info["missing_bytes"]:
        found.append(
            "the core file is truncated, "
            f"{human_bytes(info['missing_bytes'])} are missing"
        )
    for gap, (what, wrong) in _LOSSES.items():
        count = ledger["gaps"].get(gap)
        if gap in _TABLES and info["missing_bytes"]:
            wrong = "lay in that part"
        if count:
            found.append(f"{count:,} {what} {wrong}")
    return found

# SPDX-License-Identifier: Apache-2.0
"""goref rss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .report import Report, partial_lines
from .style import title
from .table import table
from .units import human_bytes, percent

if TYPE_CHECKING:
    from .._goref import Collector, Rss, RssClass
    from .report import Document

_BAR = 24  # characters of the longest bar
_NO_LIMIT = 2**63 - 1
_OBJECTS = ("go_heap_live", "go_heap_garbage")
ZEROS = "zero_pages"
_NAMED = 3  # classes of the rest, if they have a hundredth of it
_CONSEQUENCE = "live objects may count as garbage"

_HEADS = {
    "exact": "{} resident (Rss), page by page",
    "anonymous": "at most {} of anonymous memory was resident; "
    "pages of files are not known",
    "unknown": "{} in the core{}; which pages were resident is not known",
}


def zero_bytes(classes: Iterable[RssClass]) -> int:
    """The pages of zeros of a core that does not tell what was resident."""
    return sum(c.bytes for c in classes if c.name == ZEROS)


def beside_zeros(count: int) -> str:
    """Pages of zeros may be ones that the process has never had."""
    if not count:
        return ""
    size = human_bytes(count)
    return f", beside {size} of zeros, which may never have been touched"


class RssReport(Report):
    """Where the resident memory is."""

    found: Rss

    def __post_init__(self) -> None:
        self.zero_bytes = zero_bytes(self.found.classes)
        self.whole = self.found.total_bytes - self.zero_bytes

    def lines(self) -> list[str]:
        found = self.found
        head = _HEADS[found.residency].format(
            human_bytes(self.whole), beside_zeros(self.zero_bytes)
        )
        return [
            title(head),
            *partial_lines(self.partial, _CONSEQUENCE),
            *self._beside_a_profile(),
            *self._rows(),
            "",
            *_collector_lines(found.collector),
            *_bytes_line(
                "the scavenger could give back", found.returnable_bytes
            ),
            *_bytes_line(
                "allocated, but never touched", found.untouched_bytes
            ),
            f"next collection frees: {human_bytes(found.garbage_bytes)} of "
            f"{human_bytes(found.allocated_bytes)} allocated",
        ]

    def _classes(self) -> list[RssClass]:
        """The classes that have memory, the largest first."""
        classes = [
            c for c in self.found.classes if c.bytes and c.name != ZEROS
        ]
        return sorted(classes, key=lambda c: -c.bytes)

    def _beside_a_profile(self) -> list[str]:
        """The part that a heap profile accounts for, and where the rest is."""
        rest = [c for c in self._classes() if c.name not in _OBJECTS]
        rest_bytes = sum(c.bytes for c in rest)
        untouched = self.found.untouched_bytes
        counted = human_bytes(self.whole - rest_bytes)
        if untouched:
            counted += f" resident, {human_bytes(untouched)} not"
        elif self.zero_bytes:
            counted += ", beside those in pages of zeros"
        parts = [
            f"{c.text} {human_bytes(c.bytes)}"
            for c in rest[:_NAMED]
            if c.bytes * 100 >= rest_bytes
        ]
        return [
            f"Go objects (what a heap profile counts): {counted}",
            f"the rest: {human_bytes(rest_bytes)}"
            + (f", of which {', '.join(parts)}" if parts else ""),
            "",
        ]

    def _rows(self) -> list[str]:
        classes = self._classes()
        if not classes:
            return []
        largest = classes[0].bytes
        return table(
            [
                (
                    human_bytes(c.bytes),
                    percent(c.bytes, self.whole),
                    "#" * round(_BAR * c.bytes / largest),
                    c.text,
                )
                for c in classes
            ],
            left=(2, 3),
        )

    def body(self) -> Document:
        found = self.found
        is_exact = found.residency == "exact"
        is_known = found.residency != "unknown"
        limit = found.collector.memory_limit
        return {
            "residency": found.residency,
            "rss_bytes": found.total_bytes if is_exact else None,
            "anonymous_bytes": found.anonymous_bytes if is_known else None,
            "total_bytes": found.total_bytes,
            "classes": [
                {"name": c.name, "bytes": c.bytes} for c in found.classes
            ],
            "go": {
                "gogc": found.collector.gogc,
                "memory_limit": None if limit == _NO_LIMIT else limit,
                "goal_bytes": found.collector.goal_bytes,
                "next_gc_frees_bytes": found.garbage_bytes,
                "scavengeable_bytes": found.returnable_bytes,
                "untouched_bytes": found.untouched_bytes,
            },
        }


def _bytes_line(what: str, count: int | None) -> list[str]:
    """A figure, if it is known."""
    return [] if count is None else [f"{what}: {human_bytes(count)}"]


def _collector_lines(collector: Collector) -> list[str]:
    """GOGC and GOMEMLIMIT, as far as they are known."""
    if collector.gogc is None:
        return []
    words = [f"GOGC={'off' if collector.gogc < 0 else collector.gogc}"]
    limit = collector.memory_limit
    if limit is not None and limit != _NO_LIMIT:
        words.append(f"GOMEMLIMIT={human_bytes(limit)}")
    if collector.goal_bytes is not None and collector.gogc >= 0:
        words.append(f"heap goal {human_bytes(collector.goal_bytes)}")
    return [", ".join(words)]

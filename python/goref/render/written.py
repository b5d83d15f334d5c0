# SPDX-License-Identifier: Apache-2.0
"""goref report, as it answers: which file was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .report import Report, partial_lines
from .units import human_bytes

if TYPE_CHECKING:
    from .report import Document


class WrittenReport(Report):
    """A page was written.

    missing: answers that the page lacks, and why."""

    out: str
    bytes: int
    missing: Mapping[str, str]

    def lines(self) -> list[str]:
        return [
            f"report: {self.out} ({human_bytes(self.bytes)}); open it in a "
            "browser",
            *(
                f"without {name}: {reason}"
                for name, reason in self.missing.items()
            ),
            *partial_lines(self.partial, "the page says what is missing"),
        ]

    def body(self) -> Document:
        return {
            "out": self.out,
            "bytes": self.bytes,
            "missing": dict(self.missing),
        }

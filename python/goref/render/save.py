# SPDX-License-Identifier: Apache-2.0
"""goref save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .report import Report, partial_lines
from .target import target_document, target_name
from .units import human_bytes

if TYPE_CHECKING:
    from .._goref import Info
    from .report import Document

_CONSEQUENCE = "the file lacks what the target lacks"


class SaveReport(Report):
    """A file was written."""

    info: Info
    path: str
    file_bytes: int
    has_values: bool
    warnings: Sequence[str]

    def lines(self) -> list[str]:
        values = "with all values" if self.has_values else "without values"
        return [
            f"saved {target_name(self.info)} to {self.path}: "
            f"{human_bytes(self.file_bytes)}, {values}",
            *partial_lines(self.partial, _CONSEQUENCE),
        ]

    def body(self) -> Document:
        return {
            **target_document(self.info),
            "file": self.path,
            "file_bytes": self.file_bytes,
            "values": self.has_values,
            "warnings": list(self.warnings),
        }

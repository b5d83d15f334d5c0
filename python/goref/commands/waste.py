# SPDX-License-Identifier: Apache-2.0
"""goref waste: memory that could be saved."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..render.waste import WasteReport, share_of
from ..verbs.waste import CHECKS, OF_VALUES
from .base import ask, check_has

if TYPE_CHECKING:
    from .._goref import Scan, Waste


def extent(options: Any) -> str:
    """Some checks read strings and numbers."""
    asked = options.checks or CHECKS
    return "values" if {*asked} & {*OF_VALUES} else "native"


def question(scan: Scan, options: Any) -> Waste:
    """Ask for the findings. If no check can be made, that is an error: an
    empty answer would read as one about the program."""
    if options.checks and {*options.checks} <= {*OF_VALUES}:
        check_has(scan, "contents to compare")
    return scan.waste(options.checks, share_of(options.min_share))


def run(options: Any) -> list[str]:
    # Unlike a process, files and gdb have values when they are read.
    report = ask(
        options,
        partial(
            WasteReport, min_share=options.min_share, checks=options.checks
        ),
        partial(question, options=options),
        "native",
    )
    return list(report.partial)

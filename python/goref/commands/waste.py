# SPDX-License-Identifier: Apache-2.0
"""goref waste: memory that could be saved."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..render.waste import WasteReport, share_of
from ..verbs.waste import CHECKS, OF_VALUES
from .base import ask


def extent(options: Any) -> str:
    """Some checks read strings and numbers."""
    asked = options.checks or CHECKS
    return "values" if {*asked} & {*OF_VALUES} else "native"


def run(options: Any) -> list[str]:
    # Unlike a process, files and gdb have values when they are read.
    report = ask(
        options,
        partial(
            WasteReport, min_share=options.min_share, checks=options.checks
        ),
        lambda scan: scan.waste(options.checks, share_of(options.min_share)),
        "native",
    )
    return list(report.partial)

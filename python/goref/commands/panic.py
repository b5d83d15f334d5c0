# SPDX-License-Identifier: Apache-2.0
"""goref panic: what ended the program."""

from __future__ import annotations

from typing import Any

from .. import native, partial
from ..render.panic import PanicReport
from ..session import running
from .base import answer_report

_NO_LIMIT = 2**32 - 1


def extent(options: Any) -> str:
    """Values lead into the heap."""
    return "values"


def run(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as scan:
        found = scan.panic(
            options.max_string or _NO_LIMIT,
            options.max_elements or _NO_LIMIT,
            options.max_depth or _NO_LIMIT,
        )
        calls = None
        if found.goroutine:
            calls = scan.backtrace(found.goroutine.id, options.depth)
        info = scan.info()
        lost = partial.reasons(info, None)
        has_values = info.kind != "saved" or info.has_values
    report = PanicReport(
        tool_version=native.load().VERSION,
        partial=lost,
        panic=found,
        backtrace=calls,
        has_values=has_values,
    )
    answer_report(report, options)
    return lost

# SPDX-License-Identifier: Apache-2.0
"""goref rss: where the resident memory is."""

from __future__ import annotations

from typing import Any

from .. import native, partial
from ..render.rss import RssReport
from ..session import running
from .base import answer_report


def extent(_options: Any) -> str:
    return "residency"


def run(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        found = opened.rss()
        report = RssReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(opened.info(), found),
            found=found,
        )
    answer_report(report, options)
    return list(report.partial)

# SPDX-License-Identifier: Apache-2.0
"""goref verify: is that all of the heap?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import native, partial
from ..errors import Error
from ..render.native import nothing_line
from ..render.verify import VerifyReport, unexplained
from ..session import running
from .base import answer_report

if TYPE_CHECKING:
    from .._goref import Info, Scan


def extent(_options: Any) -> str:
    return "native"


def _nothing(scan: Scan, info: Info) -> str:
    """Why the C memory that the program may have is not known, if a part of
    the core is missing."""
    found = scan.native() if info.missing_bytes else None
    return nothing_line(found, info) if found and found.is_expected else ""


def run(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        verdict = opened.verify(options.max_differences)
        info = opened.info()
        nothing = _nothing(opened, info)
    report = VerifyReport(
        tool_version=native.load().VERSION,
        partial=partial.reasons(info, verdict),
        info=info,
        verdict=verdict,
        nothing=nothing,
    )
    answer_report(report, options)
    # The missing part of a truncated core explains a difference.
    if verdict.unexplained and not info.missing_bytes:
        raise Error("goref verify: " + unexplained(verdict.unexplained))
    return list(report.partial)

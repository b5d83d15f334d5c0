# SPDX-License-Identifier: Apache-2.0
"""goref verify: is that all of the heap?"""

from typing import Any

from .. import native, partial
from ..errors import Error
from ..render.verify import VerifyReport, unexplained
from ..session import running
from .base import answer_report


def extent(_options: Any) -> str:
    return "native"


def run(options: Any) -> list[str]:
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        verdict = opened.verify(options.max_differences)
        info = opened.info()
    report = VerifyReport(
        tool_version=native.load().VERSION,
        partial=partial.reasons(info, verdict),
        info=info,
        verdict=verdict,
    )
    answer_report(report, options)
    # The missing part of a truncated core explains a difference.
    if verdict.unexplained and not info.missing_bytes:
        raise Error("goref verify: " + unexplained(verdict.unexplained))
    return list(report.partial)

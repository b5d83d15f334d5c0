# SPDX-License-Identifier: Apache-2.0
"""goref save: the target as a file that answers later questions."""

from __future__ import annotations

import os
from typing import Any

from .. import args, lifetime, native, partial, stop
from ..render.save import SaveReport
from ..session import current, running
from .base import answer_report, check_writable


def extent(options: Any) -> str:
    return "save-values" if options.values else "save"


def check(options: Any) -> None:
    if len(options.words) != 1:
        raise args.UsageError("save takes one FILE")
    check_writable(options.words[0])


def run(options: Any) -> list[str]:
    [path] = options.words
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        reason = stop.reason(opened)
        life = lifetime.of_target(
            opened.info(), current.look().lifetime()
        )
        opened.save(
            path, options.values, stop.pack(reason), lifetime.pack(life)
        )
        report = SaveReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(opened.info(), opened.gaps()),
            info=opened.info(),
            path=path,
            file_bytes=os.path.getsize(path),
            has_values=options.values,
            warnings=[*current.notes, *opened.info().warnings],
        )
    answer_report(report, options)
    return list(report.partial)

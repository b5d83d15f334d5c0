# SPDX-License-Identifier: Apache-2.0
"""goref export: the heap as a file for other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, native, params, partial
from ..render.export import export_text, profile_text
from ..session import current, running
from ..verbs.tools import FORMAT_EXPORT
from .base import answer, check_writable, nodes, partial_reasons

if TYPE_CHECKING:
    from .._goref import Scan

_PROFILES = ("folded", "dot")  # of a walk; the other formats are of the graph


def extent(_options: Any) -> str:
    """The object graph has C memory, too."""
    return "native"


def check(options: Any) -> None:
    if options.format is None:
        raise args.UsageError(f"give --format {FORMAT_EXPORT.value}")
    if len(options.words) != 1:
        raise args.UsageError("give one FILE to write")
    check_writable(options.words[0])


def run(options: Any) -> list[str]:
    [path] = options.words
    with running(
        options.memory_limit, options.timeout, extent(options)
    ) as opened:
        if options.format in _PROFILES:
            return _profile(opened, path, options)
        found = opened.export(path, options.format)
        lost = partial.reasons(opened.info(), opened.gaps())
    answer(export_text(found, path, lost))
    return lost


def _profile(scan: Scan, path: str, options: Any) -> list[str]:
    """The paths of references, or for a drawing those of dominators."""
    depth = params.max_depth()
    count = nodes(scan, params.max_nodes(), options.memory_limit)
    result = current.walk(depth, count, (), "nearest", False)
    ledger = result.ledger()
    lost = partial_reasons(scan.info(), ledger)
    if options.format == "dot" and not ledger.is_partial:
        result = result.dominators(depth, count)
    written = result.write_profile(
        path,
        native.load().MAX_SAMPLES,
        ", ".join(lost) or None,
        options.format,
    )
    answer(profile_text(written, path, lost))
    return lost

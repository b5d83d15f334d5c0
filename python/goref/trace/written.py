# SPDX-License-Identifier: Apache-2.0
"""The stacks of a trace as files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import native
from ..render.units import printable

if TYPE_CHECKING:
    from ..render.trace import TraceReport
    from ..render.traced_stack import TracedStack

_UNKNOWN = "[no stack]"


def folded(stacks: Sequence[TracedStack]) -> str:
    """A line for each stack, as flamegraph.pl takes it: the calls, outermost
    first, and the bytes."""
    lines = []
    for stack in stacks:
        calls = [frame.function for frame in reversed(stack.frames)]
        calls = [_folded_name(name) for name in calls or [_UNKNOWN]]
        if stack.class_name:
            calls.append(f"[{stack.rss_class or stack.class_name}]")
        lines.append(f"{';'.join(calls)} {stack.bytes}\n")
    return "".join(lines)


def _folded_name(name: str) -> str:
    """Without what has a meaning in the format."""
    return printable(name).replace(";", ":")


def _labels(stack: TracedStack) -> tuple[tuple[str, str], ...]:
    found = {
        "class": stack.class_name,
        "rss_class": stack.rss_class,
        "type": stack.type,
        "holder": _nobody(stack) or stack.holder,
        **dict(stack.labels or ()),
    }
    return tuple((key, value) for key, value in found.items() if value)


def _nobody(stack: TracedStack) -> str | None:
    """A block of C has a holder, nobody, or it is not known."""
    is_known = stack.native is not None and stack.native.held is False
    return "nobody" if is_known else None


class _Tree:
    """Stacks as a tree, as write_tree_profile() takes it."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str | None, int], int] = {}
        self.sets: dict[tuple[tuple[str, str], ...], int] = {}
        self.index: dict[tuple[int, int, int], int] = {}
        self.nodes: list[list[int]] = []

    def add(self, stack: TracedStack) -> None:
        labels = self.sets.setdefault(_labels(stack), len(self.sets))
        at = -1
        calls: list[tuple[str, str | None, int]] = [
            (frame.function, frame.file or None, frame.line)
            for frame in reversed(stack.frames)
        ]
        for call in calls or [(_UNKNOWN, None, 0)]:
            place = self.places.setdefault(call, len(self.places))
            key = (at, place, labels)
            if key not in self.index:
                self.index[key] = len(self.nodes)
                self.nodes.append([at, place, labels, 0, 0])
            at = self.index[key]
        self.nodes[at][3] += stack.blocks or 0
        self.nodes[at][4] += stack.bytes


def write(report: TraceReport, form: str, path: str) -> None:
    """Write the stacks, whole or not at all."""
    if form == "folded":
        native.load().write_file(path, folded(report.stacks).encode())
        return
    tree = _Tree()
    for stack in report.stacks:
        tree.add(stack)
    native.load().write_tree_profile(
        path,
        list(tree.places),
        list(tree.sets),
        [tuple(node) for node in tree.nodes],
        comment=f"goref trace {report.mode} of process {report.pid}, "
        f"{report.seconds:.1f} s",
        partial=", ".join(report.partial) or None,
    )

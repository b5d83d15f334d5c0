# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom, as the nodes and edges of a picture.

A goroutine leads to what it waits for, and that to its likely owner. Those
that wait for the same thing, and that nobody else waits for, are one node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calls import own_call

NODES = 40  # more are hard to read


def graph(waits: Mapping[str, Any]) -> dict[str, Any]:
    """The graph of a document of waits, bounded by limits.waits(). left_out:
    groups of waiters that the picture has no room for."""
    made = _Graph(waits["stacks"])
    for deadlock in waits["deadlocks"]:
        if made.has_room(2 * len(deadlock["ids"])):
            made.add_deadlock(deadlock)
    left_out = 0
    for group in _worth_it(waits):
        if made.has_room(3):
            made.add_group(group)
        else:
            left_out += 1
    return {
        "nodes": list(made.nodes.values()),
        "edges": list(made.edges.values()),
        "left_out": left_out,
    }


def _worth_it(waits: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A lone waiter for something that nobody owns is no picture."""
    return [
        group
        for group in waits["waits"]
        if group["primitive"]
        and group["things"] == 1
        and (group["count"] > 1 or _owner(group))
    ]


def _owner(group: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The likeliest owner, if something speaks for it."""
    owners: list[Mapping[str, Any]] = group["owners"]
    return owners[0] if owners and owners[0]["likely"] else None


class _Graph:
    def __init__(self, stacks: Mapping[str, Any]) -> None:
        """stacks: of the members of deadlocks."""
        self.stacks = stacks
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: dict[tuple[str, str], dict[str, Any]] = {}

    def has_room(self, more: int) -> bool:
        return len(self.nodes) + more <= NODES

    def add_deadlock(self, deadlock: Mapping[str, Any]) -> None:
        ids, primitives = deadlock["ids"], deadlock["primitives"]
        for i, number in enumerate(ids):
            awaited = self._primitive(primitives[i % len(primitives)], True)
            me = self._goroutine(number, None, True)
            self._edge(me, awaited, True, True)
            if deadlock["count"] > len(ids) and i + 1 == len(ids):
                continue  # the rest of the circle is not known here
            owner = self._goroutine(ids[(i + 1) % len(ids)], None, True)
            self._edge(awaited, owner, bool(deadlock["certain"]), True)

    def add_group(self, group: Mapping[str, Any]) -> None:
        awaited = self._primitive(group, False)
        drawn = [n for n in group["waiters"] if f"g{n}" in self.nodes]
        for number in drawn:
            self._edge(f"g{number}", awaited, True, False)
        owner = _owner(group)
        if owner:
            name = self._goroutine(owner["id"], owner["function"], False)
            self._edge(awaited, name, bool(owner["certain"]), False)
        self._crowd(group, awaited)

    def _crowd(self, group: Mapping[str, Any], awaited: str) -> None:
        """Those that have no node of their own."""
        known = sum(to == awaited for _from, to in self.edges)
        left = group["count"] - known
        if left <= 0:
            return
        name = f"c{awaited}"
        self.nodes[name] = {
            "id": name,
            "kind": "crowd",
            "label": f"{left:,} goroutine{'' if left == 1 else 's'}",
            "detail": group["function"] or "",
            "bad": False,
        }
        self._edge(name, awaited, True, False)

    def _primitive(self, awaited: Mapping[str, Any], is_bad: bool) -> str:
        name = f"p{awaited['primitive']}"
        state = f", {awaited['state']}" if awaited["state"] else ""
        node = self.nodes.setdefault(
            name,
            {
                "id": name,
                "kind": "primitive",
                "label": awaited["path"] or awaited["primitive"] or "nothing",
                "detail": f"{awaited['kind']}{state}",
                "bad": is_bad,
            },
        )
        node["bad"] = node["bad"] or is_bad
        return name

    def _goroutine(
        self, number: int, function: str | None, is_bad: bool
    ) -> str:
        name = f"g{number}"
        node = self.nodes.setdefault(
            name,
            {
                "id": name,
                "kind": "goroutine",
                "label": f"goroutine {number}",
                "detail": "",
                "bad": is_bad,
            },
        )
        node["bad"] = node["bad"] or is_bad
        node["detail"] = (
            node["detail"] or self._place(number) or function or ""
        )
        return name

    def _place(self, number: int) -> str | None:
        """Where a member of a deadlock is; waiters of one lock may be at
        several places."""
        found = self.stacks.get(str(number))
        call = own_call(found["frames"]) if found else None
        return call["function"] if call else None

    def _edge(self, start: str, end: str, is_sure: bool, is_bad: bool) -> None:
        self.edges.setdefault(
            (start, end),
            {"from": start, "to": end, "sure": is_sure, "bad": is_bad},
        )

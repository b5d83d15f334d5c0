# SPDX-License-Identifier: Apache-2.0
"""Trees of references that scan has written as JSON lines: the amounts of each
path, and two trees as one profile. Pure: never imports gdb."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from .difference import BETWEEN, Amount

_Labels = tuple[tuple[str, str], ...]
# As pprof marks what is subtracted.
_BASE = ("pprof::base", "true")


class Node(NamedTuple):
    """parent: -1: a root."""

    parent: int
    place: tuple[str, str | None, int]
    objects: int
    bytes: int


def read(path: str) -> list[Node]:
    """The nodes of a tree; a parent comes before its children."""
    found: list[Node] = []
    index: dict[int, int] = {}
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            node = json.loads(line)
            is_root = node["parent"] is None
            parent = -1 if is_root else index[node["parent"]]
            index[node["id"]] = len(found)
            found.append(
                Node(
                    parent,
                    (node["name"], node.get("file"), node.get("line", 0)),
                    node["objects"],
                    node["bytes"],
                )
            )
    return found


class _Numbers(dict[Any, int]):
    """Numbers things in the order of their first use."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


def _by_path(
    nodes: list[Node], numbers: _Numbers
) -> dict[int, tuple[int, int]]:
    """Objects and bytes of each path itself, by its number. A path is the
    number of the one above it and a name. Roots of equal names are one."""
    found: dict[int, tuple[int, int]] = {}
    at: list[int] = []
    for node in nodes:
        above = at[node.parent] if node.parent >= 0 else -1
        number = numbers[above, node.place[0]]
        at.append(number)
        if node.objects:
            objects, size = found.get(number, (0, 0))
            found[number] = (objects + node.objects, size + node.bytes)
    return found


def _name(number: int, steps: list[tuple[int, str]]) -> str:
    names = []
    while number >= 0:
        number, name = steps[number]
        names.append(name)
    return BETWEEN.join(reversed(names))


def paths(
    old: list[Node], new: list[Node], most: int
) -> tuple[dict[str, Amount], dict[str, Amount]]:
    """The amounts of each path on both sides: of those that differ, as many as
    are asked for, with the greatest change. Names of all paths together may be
    much longer than the trees."""
    numbers = _Numbers()
    before, after = _by_path(old, numbers), _by_path(new, numbers)
    none = (0, 0)

    def change(number: int) -> tuple[int, int]:
        (n, size), (m, other) = before.get(number, none), after.get(
            number, none
        )
        return abs(other - size), abs(m - n)

    differing = (i for i in numbers.values() if change(i) != none)
    chosen = heapq.nlargest(most, differing, key=lambda i: (*change(i), -i))
    steps = [*numbers]
    names = {i: _name(i, steps) for i in chosen}
    return (
        {names[i]: Amount(*before.get(i, none)) for i in chosen},
        {names[i]: Amount(*after.get(i, none)) for i in chosen},
    )


class Change(NamedTuple):
    """The change of a path itself. above: the index of the
    path that it continues; -1: it begins at a root. is_c: of blocks of C."""

    above: int
    name: str
    objects: int
    bytes: int
    is_c: bool = False


def changes(old: list[Node], new: list[Node]) -> list[Change]:
    """The changes of all paths of both sides, also those of nothing; a path
    comes after the one that it continues."""
    numbers = _Numbers()
    before, after = _by_path(old, numbers), _by_path(new, numbers)
    none = (0, 0)
    found = []
    for (above, name), number in numbers.items():
        (n, size), (m, other) = before.get(number, none), after.get(
            number, none
        )
        found.append(Change(above, name, m - n, other - size))
    return found


class Profile(NamedTuple):
    """As write_tree_profile() takes it."""

    places: list[tuple[str, str | None, int]]
    label_sets: list[_Labels]
    nodes: list[tuple[int, int, int, int, int]]


def _rows(
    tree: list[Node], first: int, sign: int, tags: _Labels,
    places: _Numbers, labels: _Numbers,
) -> Iterator[tuple[int, int, int, int, int]]:  # fmt: skip
    for node in tree:
        yield (
            node.parent + first if node.parent >= 0 else -1,
            places[node.place],
            labels[tags],
            sign * node.objects,
            sign * node.bytes,
        )


def difference(old: list[Node], new: list[Node]) -> Profile:
    """All of NEW, and OLD below zero, as `pprof -diff_base' makes it: a store
    or a reader adds both up, and pprof counts shares of OLD."""
    places, labels = _Numbers(), _Numbers()
    nodes = [*_rows(new, 0, 1, (), places, labels)]
    nodes += _rows(old, len(new), -1, (_BASE,), places, labels)
    return Profile([*places], [*labels], nodes)

# SPDX-License-Identifier: Apache-2.0
"""goref waits: what goroutines wait for, who could wake them, deadlocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .goroutines import waited_words
from .report import Listed, Report, fields_of, partial_lines
from .stack import own_call, place, stack_lines
from .style import styled
from .table import wrapped
from .units import counted

if TYPE_CHECKING:
    from .._goref import (
        Awaited,
        Backtrace,
        Deadlock,
        WaitOwner,
        Waits,
    )
    from .report import Document, Json

GROUPS = 10  # as text
MEMBERS = 10  # of a deadlock, as text
_CALLS = 6  # of a stack, as text
_OWNERS = 3
_IDS = 6
_DEADLOCKS = 3
_PLAIN_TYPES = ("sync.", "chan ", "hchan", "runtime.hchan")


def awaited_name(group: Awaited) -> str:
    """`main.store.mu', or an address."""
    if group.addr is None:
        return "nothing"
    return group.path or f"{group.addr:#x}"


def awaited_text(group: Awaited, with_address: bool = False) -> str:
    """with_address: other things have the same name."""
    words = [group.kind]
    if group.state:
        words.append(group.state)
    name = awaited_name(group)
    if with_address and group.addr is not None:
        if f"{group.addr:#x}" not in name:
            name += f" at {group.addr:#x}"
    text = f"{name} ({', '.join(words)})"
    if group.type and not group.type.startswith(_PLAIN_TYPES):
        text += f" in {group.type}"
    return text


def owner_text(owner: WaitOwner) -> str:
    state = owner.wait_reason or owner.state
    return (
        f"goroutine {owner.id} [{state}] in {place(owner.user)}: "
        f"{owner.evidence}"
    )


# All else that goroutines wait for is in the reach of some.
OWNED = ("mutex", "read lock", "write lock", "wait group")


def deadlocks_line(found: Waits) -> str:
    """How many there are, in one line: those that are proven first."""
    proven = [d for d in found.deadlocks if d.is_certain]
    likely = [d for d in found.deadlocks if not d.is_certain]
    behind = sum(deadlock.behind for deadlock in found.deadlocks)
    line = ", ".join(
        f"{counted(len(rows), what)} of "
        f"{counted(sum(len(row.ids) for row in rows), 'goroutine')}"
        for rows, what in ((proven, "deadlock"), (likely, "likely deadlock"))
        if rows
    )
    if behind:
        verb = "waits" if behind == 1 else "wait"
        line += f"; {behind:,} more {verb} for what they hold"
    return line


def deadlock_lines(
    number: int,
    deadlock: Deadlock,
    stacks: Mapping[int, Backtrace],
    max_calls: int = _CALLS,
) -> list[str]:
    """Who waits for what, with the calls of each; without calls, where."""
    doubt = "" if deadlock.is_certain else " (likely, not proven)"
    lines = [
        f"deadlock {number}: {counted(len(deadlock.ids), 'goroutine')}{doubt}"
    ]
    for i, goroutine in enumerate(deadlock.ids[:MEMBERS]):
        awaited = deadlock.primitives[deadlock.awaits[i]]
        where = "" if max_calls else _where(stacks.get(goroutine))
        line = (
            f"  goroutine {goroutine}{where} waits for "
            f"{awaited_text(awaited)}, {_whose(deadlock, i)}"
        )
        lines += wrapped(line) if len(deadlock.ids) <= MEMBERS else [line]
        if goroutine in stacks and max_calls:
            lines += stack_lines(stacks[goroutine], max_calls)
    left = len(deadlock.ids) - MEMBERS
    if left > 0:
        lines.append(f"  and {counted(left, 'more goroutine')} of the cycle")
    if deadlock.behind:
        lines.append(
            f"  {counted(deadlock.behind, 'other goroutine')} "
            f"{'wait' if deadlock.behind > 1 else 'waits'} for these"
        )
    return lines


def _whose(deadlock: Deadlock, i: int) -> str:
    """Who owns what a member waits for, or could use it."""
    kind = deadlock.primitives[deadlock.awaits[i]].kind
    has = "owned by" if kind in OWNED else "in reach of"
    owner = deadlock.owners[i]
    if not owner:
        return f"{has} several of them"
    is_own = owner == deadlock.ids[i]
    return f"{has} {'itself' if is_own else f'goroutine {owner}'}"


def _where(backtrace: Backtrace | None) -> str:
    own = own_call(backtrace.calls) if backtrace else None
    return f" in {place(own.at)}" if own else ""


def group_lines(
    group: Awaited,
    title: str = "",
    most: int | None = _OWNERS,
    with_address: bool = False,
) -> list[str]:
    """A group of waiters, and who could wake them.

    most: owners; None: all.
    with_address: other groups have the same name."""
    verb = "waits" if group.waiters == 1 else "wait"
    waited = waited_words(group.waited_ns)
    lines = [
        *wrapped(
            f"{title}{counted(group.waiters, 'goroutine')} {verb} for "
            f"{', '.join([awaited_text(group, with_address), *waited])}"
        ),
        *wrapped(f"  {_waiters_text(group)}"),
    ]
    if group.verdict:
        lines.append(f"  {group.verdict}")
    for line in _owner_lines(group, most):
        lines += wrapped(f"  {line}")
    return lines


def _waiters_text(group: Awaited) -> str:
    """Who they are, and where the first one is: others may be elsewhere."""
    ids = ", ".join(map(str, group.ids[:_IDS]))
    if group.waiters == 1:
        return f"in {place(group.user)}: {ids}"
    more = ", ..." if group.waiters > min(len(group.ids), _IDS) else ""
    return f"{ids}{more}; the first one in {place(group.user)}"


def _owner_lines(group: Awaited, most: int | None = _OWNERS) -> list[str]:
    likely = [owner for owner in group.owners if owner.is_likely]
    shown = (likely or group.owners)[:most]
    lines = []
    for owner in shown:
        kind = "others that reach it"
        if owner.is_likely:
            kind = owner_kind(group, owner)
        lines.append(f"{kind}: {owner_text(owner)}")
    left = (group.likely if likely else group.reaching) - len(shown)
    if left > 0:
        lines.append(f"and {left:,} more")
    return lines


def owner_kind(group: Awaited, owner: WaitOwner) -> str:
    """The words about an owner: sure, likely, or one of several candidates."""
    if group.kind not in OWNED and owner.is_certain:
        return "alone reaches it"
    what = "owner" if group.kind in OWNED else "holder"
    if not owner.is_certain:
        what = f"likely {what}"
    return f"one of {group.likely:,} {what}s" if group.likely > 1 else what


def awaited_document(group: Awaited) -> Document:
    return {
        "primitive": None if group.addr is None else f"{group.addr:#x}",
        **fields_of(group, "kind path type state"),
    }


def wait_document(group: Awaited) -> Document:
    return {
        **awaited_document(group),
        "count": group.waiters,
        "senders": group.senders,
        "waited_ns": group.waited_ns,
        "waiters": list(group.ids),
        **fields_of(group.user, "function file line"),
        **fields_of(group, "verdict reaching likely"),
        "owners": [
            {
                "id": owner.id,
                "certain": owner.is_certain,
                "likely": owner.is_likely,
                **fields_of(owner, "evidence state wait_reason"),
                **fields_of(owner.user, "function file line"),
            }
            for owner in group.owners
        ],
    }


def deadlock_document(deadlock: Deadlock) -> Document:
    return {
        "ids": list(deadlock.ids),
        "awaits": list(deadlock.awaits),
        "owners": [owner or None for owner in deadlock.owners],
        "primitives": [awaited_document(p) for p in deadlock.primitives],
        "certain": deadlock.is_certain,
        "behind": deadlock.behind,
    }


class WaitsReport(Report):
    """The things that goroutines wait for.

    stacks: of the goroutines of deadlocks.
    most: owners of a group; None: all.
    how: the command up to the verb, as a person types it."""

    found: Waits
    stacks: Mapping[int, Backtrace] = {}
    goroutine_id: int | None = None
    most: int | None = _OWNERS
    how: str = "goref"

    def lines(self) -> list[str]:
        found = self.found
        first = self._first_line()
        if self.partial and not found.deadlocks:
            first = f"in what could be read: {first}"
        grade = "bad" if found.deadlocks else "title"
        lines = [styled(first, grade), *partial_lines(self.partial)]
        for number, deadlock in enumerate(found.deadlocks[:_DEADLOCKS], 1):
            lines += ["", *deadlock_lines(number, deadlock, self.stacks)]
        left = len(found.deadlocks) - _DEADLOCKS
        if left > 0:
            lines += ["", f"and {counted(left, 'more deadlock')}"]
        names = Counter(map(awaited_name, found.groups))
        for group in found.groups:
            is_one = names[awaited_name(group)] == 1
            lines += ["", *group_lines(group, "", self.most, not is_one)]
        left = found.total - len(found.groups)
        if left:
            lines += [
                "",
                f"and {counted(left, 'more group')} (--limit 0 shows all)",
            ]
        return lines

    def _first_line(self) -> str:
        found = self.found
        if found.deadlocks:
            return deadlocks_line(found)
        if not found.total and self.goroutine_id:
            return (
                f"goroutine {self.goroutine_id} waits for no lock and no "
                "channel, and nobody waits for it"
            )
        if not found.total:
            return "no goroutine waits for a lock or a channel"
        return (
            f"no deadlock found; {counted(found.total, 'group')} of goroutines "
            f"{'wait' if found.total > 1 else 'waits'} for locks or channels"
        )

    def body(self) -> Mapping[str, Json | Listed]:
        found = self.found
        return {
            "goroutines": found.goroutines,
            "groups": found.total,
            "waits": Listed(wait_document, found.groups),
            "deadlocks": [deadlock_document(d) for d in found.deadlocks],
        }

    def dot(self) -> str:
        """A graph for Graphviz: waiters lead to what they wait for, and that
        to its owners. Nodes have the same names in every run."""
        edges = set()
        nodes = {}
        red = {number for d in self.found.deadlocks for number in d.ids}
        for group in self.found.groups:
            key = f"p{group.addr or 0:x}_{group.kind.replace(' ', '_')}"
            label = f"{awaited_name(group)}\\n{group.kind}"
            nodes[key] = f'[shape=box, label="{_quoted(label)}"]'
            for number in group.ids:
                edges.add((f"g{number}", key, ""))
            for owner in group.owners:
                if owner.is_likely:
                    style = "solid" if owner.is_certain else "dashed"
                    edges.add((key, f"g{owner.id}", f" [style={style}]"))
        for name in {n for edge in edges for n in edge[:2] if n[0] == "g"}:
            color = ", color=red" if int(name[1:]) in red else ""
            nodes[name] = f'[label="goroutine {name[1:]}"{color}]'
        lines = [f"  {name} {nodes[name]};" for name in sorted(nodes)]
        lines += [f"  {a} -> {b}{style};" for a, b, style in sorted(edges)]
        return "\n".join(["digraph waits {", *lines, "}", ""])


def _quoted(text: str) -> str:
    return text.replace('"', '\\"')

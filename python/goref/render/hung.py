# SPDX-License-Identifier: Apache-2.0
"""goref hung: why a service hangs, on one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .command import command, next_lines
from .finalization import finalization_document, finalization_lines
from .goroutine_wait import wait_document, wait_lines, wait_text
from .hung_cause import (
    Findings,
    blockers_of,
    cause_of,
    crowd_of,
    most_behind,
    pile_heading,
    pile_of,
    waiters,
    with_finalizers,
)
from .leaks import leaks_line
from .report import Report, fields_of, partial_lines
from .sizes import both, sizes_of
from .stack import c_function, own_call, place, stack_lines
from .style import styled
from .table import table, wrapped
from .units import counted, human_bytes
from .waits import (
    awaited_document,
    awaited_text,
    deadlock_document,
    deadlock_lines,
    group_lines,
    owner_kind,
)
from .waits import wait_document as pile_document

if TYPE_CHECKING:
    from .._goref import (
        Backtrace,
        Finalization,
        Goroutine,
        GoroutineCount,
        GoroutineGroup,
        GoroutineList,
        GoroutineWait,
        Leaks,
        LeakGroup,
        Location,
        Wait,
        WaitBlocker,
        Waits,
    )
    from .report import Document

_STATES = 5
GROUPS = 4
_CALLS = 3  # of a stack
_MEMBERS = 3  # of a deadlock, with their calls
_LEAKS = 2
_OUTSIDE = 2
# The styles of causes; the others are facts.
_GRADES = {
    "ended": "bad",
    "deadlock": "bad",
    "owner": "bad",
    "scheduler": "bad",
    "finalizers": "warn",
    "waits": "warn",
    "leaks": "warn",
    "in C": "warn",
}
# Causes that say that something was not found.
_NOT_FOUND = ("owner", "waits", "leaks", "in C", "idle", "crowd")


class Outside(NamedTuple):
    """Goroutines of one line that are in a system call or in C."""

    group: GoroutineGroup
    first: Goroutine
    wait: Wait | None
    """The wait of the first one; None: it is on its way out."""
    backtrace: Backtrace

    @property
    def is_in_c(self) -> bool:
        return bool(self.wait and self.wait.is_in_c)


class HungReport(Report):
    """Why it hangs.

    listed: goroutines by the user's line, with examples.
    leaks: None: unknown says why not.
    stacks: of the goroutines of deadlocks, of the first blockers, and of
        the examples.
    ended: what has ended the program.
    scheduler: what keeps goroutines from running, if it is the scheduler.
    runnable: what is said if all Ps are busy and more are runnable.
    awaits: what the first blockers wait for.
    finalization: the finalizers and cleanups; None: not known.
    how: the command up to the verb, as a person types it."""

    states: Sequence[GoroutineCount]
    listed: GoroutineList
    found: Waits
    leaks: Leaks | None = None
    unknown: str = ""
    outside: Sequence[Outside] = ()
    stacks: Mapping[int, Backtrace] = {}
    awaits: Mapping[int, GoroutineWait] = {}
    ended: str = ""
    scheduler: str = ""
    runnable: str = ""
    finalization: Finalization | None = None
    how: str = "goref"

    def __post_init__(self) -> None:
        self.states = [row for row in self.states if not row.is_system]
        blocker = next(iter(blockers_of(self.found)), None)
        in_c = sum(o.group.goroutines for o in self.outside if o.is_in_c)
        self.findings = Findings(
            self.found, self.listed, self.leaks, self.states, in_c,
            self.ended, self.scheduler, self.runnable, self._group_place,
        )  # fmt: skip
        self.cause = with_finalizers(
            cause_of(self.findings, self._doing(blocker) if blocker else ""),
            self.findings,
            self.finalization,
        )

    @property
    def grade(self) -> str | None:
        """The style of the cause if something is wrong, and not only a fact.
        A lone waiter is none."""
        is_alone = most_behind(self.found) < 2 and not crowd_of(
            self.listed, pile_of(self.found)
        )
        if self.cause.kind == "waits" and is_alone:
            return None
        return _GRADES.get(self.cause.kind)

    def lines(self) -> list[str]:
        return [
            styled(self._first_line(), self.grade or "title"),
            *partial_lines(self.partial),
            *self._deadlock_lines(),
            *self._pile_lines(),
            *self._blocker_lines(),
            *self._outside_lines(),
            *self._goroutine_lines(),
            *self._leak_lines(),
            *self._finalization_lines(),
            *next_lines(self._next()),
        ]

    def _first_line(self) -> str:
        text = self.cause.text
        if self.partial and self.cause.kind in _NOT_FOUND:
            return f"in what could be read: {text}"
        return text

    def body(self) -> Document:
        found = self.found
        pile = pile_of(found)
        return {
            "cause": self.cause.text,
            "cause_kind": self.cause.kind,
            "states": [
                {
                    "state": row.state,
                    "wait_reason": row.wait_reason,
                    "count": row.goroutines,
                }
                for row in self.states
            ],
            "groups": [self._group_document(g) for g in self.listed.groups],
            "deadlocks": [deadlock_document(d) for d in found.deadlocks],
            "pile_up": pile and pile_document(pile),
            "owners": [_blocker_document(b) for b in found.blockers],
            "outside": [_outside_document(row) for row in self.outside],
            "leaked": self.leaks and self.leaks.leaked,
            "unproven": self.leaks and self.leaks.unproven,
            "leak_groups": self._leak_documents(),
            "no_leaks": self.unknown or None,
            "finalization": finalization_document(self.finalization),
            "next": [row[0] for row in self._next()],
        }

    def _doing(self, blocker: WaitBlocker) -> str:
        owner = blocker.owner
        in_c = c_function(owner.user)
        if in_c:
            return f"in C: {in_c}"
        state = owner.wait_reason or owner.state
        stack = self.stacks.get(owner.id)
        own = own_call(stack.calls) if stack else None
        return f"[{state}] in {place(own.at if own else owner.user)}"

    # -------------------------------------------------------------- sections

    def _deadlock_lines(self) -> list[str]:
        found = self.found.deadlocks
        lines: list[str] = []
        for number, deadlock in enumerate(found[:1], 1):
            calls = _CALLS if len(deadlock.ids) <= _MEMBERS else 0
            shown = deadlock_lines(number, deadlock, self.stacks, calls)
            lines += ["", *shown]
        if len(found) > 1:
            lines.append(f"and {counted(len(found) - 1, 'more deadlock')}")
        return lines

    def _pile_lines(self) -> list[str]:
        pile = pile_of(self.found)
        if not pile:
            return []
        if self._blocked_pile():
            pile = pile._replace(owners=(), reaching=0)
        stack = self.stacks.get(pile.ids[0]) if pile.ids else None
        own = own_call(stack.calls) if stack else None
        if own:
            pile = pile._replace(user=own.at)
        return ["", *group_lines(pile, pile_heading(self.found, pile))]

    def _blocked_pile(self) -> bool:
        """Does the first blocker own what the pile-up waits for?"""
        pile, blockers = pile_of(self.found), blockers_of(self.found)
        return bool(
            pile and blockers and blockers[0].primitive.addr == pile.addr
        )

    def _blocker_lines(self) -> list[str]:
        lines: list[str] = []
        for blocker in blockers_of(self.found)[:1]:
            owner = blocker.owner
            kind = owner_kind(blocker.primitive, owner)
            lines += [
                "",
                *wrapped(
                    f"{kind}: goroutine {owner.id}, {self._doing(blocker)}"
                ),
                *wrapped(f"  {owner.evidence}"),
            ]
            if not self._blocked_pile():
                lines += wrapped(
                    f"  {waiters(blocker.behind)} for it in the end, "
                    f"because of {awaited_text(blocker.primitive)}"
                )
            if not c_function(owner.user):
                lines += self._awaits(owner.id)
            if owner.id in self.stacks:
                lines += stack_lines(self.stacks[owner.id], _CALLS)
        left = len(blockers_of(self.found)) - 1
        if left > 0:
            lines.append(
                f"and {counted(left, 'more owner')} that others await"
            )
        return lines

    def _awaits(self, number: int) -> list[str]:
        """The wait of an owner itself, if it is one thing."""
        awaited = self.awaits.get(number)
        lines = wait_lines(awaited) if awaited and awaited.waits else []
        return wrapped(f"  {lines[0]}") if len(lines) == 1 else []

    def _outside_lines(self) -> list[str]:
        if not self.outside:
            return []
        total = sum(o.group.goroutines for o in self.outside)
        lines = ["", f"in system calls or in C: {counted(total, 'thread')}"]
        for row in self.outside[:_OUTSIDE]:
            lines += wrapped(f"  {_outside_text(row)}")
        left = len(self.outside) - _OUTSIDE
        if left > 0:
            lines.append(f"  and {counted(left, 'more place')}")
        return lines

    def _goroutine_lines(self) -> list[str]:
        states = [
            f"{row.goroutines:,} {row.wait_reason or row.state}"
            for row in self.states
        ]
        if len(states) > _STATES:
            states[_STATES:] = [counted(len(states) - _STATES, "more state")]
        total = sum(row.goroutines for row in self.states)
        head = f"goroutines: {total:,}"
        if states:
            head += f" ({', '.join(states)})"
        groups = self.listed.groups
        rows = [
            [
                f"{g.goroutines:,}",
                _state(self._members(g)[0]),
                self._group_place(g),
            ]
            for g in groups[:GROUPS]
        ]
        lines = ["", head, *(table(rows, left=[1, 2]) if rows else [])]
        left = groups[GROUPS:]
        if left:
            count = sum(group.goroutines for group in left)
            lines.append(
                f"  and {counted(count, 'goroutine')} in "
                f"{counted(len(left), 'more place')}"
            )
        return lines

    def _group_place(self, group: GoroutineGroup) -> str:
        """The program's own call, where all members are known to be in it; else
        where one of them is."""
        members = self._members(group)
        stacks = [self.stacks.get(row.id) for row in members]
        owns = [own_call(stack.calls) if stack else None for stack in stacks]
        places = {place(own.at) if own else None for own in owns}
        first = owns[0]
        if not first or first.at[1:] == group.at[1:]:
            return place(group.at)
        if len(places) == 1 and len(members) == group.goroutines:
            return place(first.at)
        return f"{place(group.at)}, one in {place(first.at)}"

    def _members(self, group: GoroutineGroup) -> Sequence[Goroutine]:
        return self.listed.rows[group.first : group.first + group.nrows]

    def _leak_groups(self) -> list[LeakGroup]:
        if not self.leaks:
            return []
        return [g for g in self.leaks.groups if g.verdict == "leaked"]

    def _leak_lines(self) -> list[str]:
        if not self.leaks:
            reason = self.unknown
            return [
                "",
                f"whether goroutines have leaked is not known: {reason}",
            ]
        groups = self._leak_groups()
        rows = [
            [
                f"{group.goroutines:,}",
                group.wait_reason or "?",
                place(group.at),
                both(group.retained_bytes, group.retained_c_bytes),
            ]
            for group in groups[:_LEAKS]
        ]
        lines = ["", leaks_line(self.leaks)]
        lines += table(rows, left=[1, 2]) if rows else []
        left = len(groups) - _LEAKS
        if left > 0:
            lines.append(f"  and {counted(left, 'more group')}")
        return lines

    def _finalization_lines(self) -> list[str]:
        lines = finalization_lines(self.finalization)
        return ["", *lines] if lines else []

    def _next(self) -> list[tuple[str, str]]:
        """Commands that look closer, with what they tell."""
        found = self.found
        rows: list[tuple[list[str], str]] = []
        if found.total:
            rows.append((["waits"], "who waits for what, and for whom"))
        blockers = blockers_of(self.found)
        pile = pile_of(found)
        if found.deadlocks:
            for number in found.deadlocks[0].ids[:2]:
                rows.append(
                    (["goroutine", str(number), "locals"],
                     "a member of the deadlock, with its variables")
                )  # fmt: skip
        elif blockers:
            number = blockers[0].owner.id
            rows.append(
                (["goroutine", str(number), "locals"],
                 "who keeps them waiting, with its variables")
            )  # fmt: skip
        elif pile and pile.ids:
            rows.append(
                (["goroutine", str(pile.ids[0]), "wait"],
                 "what one of them waits for")
            )  # fmt: skip
        asked = {words[1] for words, _what in rows if len(words) > 1}
        outside = [str(row.first.id) for row in self.outside[:1]]
        if outside and outside[0] not in asked:
            rows.append(
                (["goroutine", outside[0]], "the calls of one outside of Go")
            )
        if self.leaks and self.leaks.leaked:
            rows.append((["leaks"], "who has leaked, and from where"))
        rows.append(
            (["goroutines", "--group", "stack"], "all of them, by their calls")
        )
        return [(command(self.how, *words), what) for words, what in rows]

    # ------------------------------------------------------------- documents

    def _group_document(self, group: GoroutineGroup) -> Document:
        members = self._members(group)
        first = members[0]
        return {
            "key": group.key,
            "count": group.goroutines,
            "state": first.state,
            "wait_reason": first.wait_reason,
            **fields_of(group.at, "function file line"),
            "ids": [row.id for row in members],
        }

    def _leak_documents(self) -> list[Document]:
        leaks = self.leaks
        if not leaks:
            return []
        return [
            {
                "count": group.goroutines,
                **fields_of(group.at, "function file line"),
                "wait_reason": group.wait_reason,
                "created_by": group.go.function,
                **sizes_of(group, "retained", leaks.knows_c),
                "stack_bytes": group.stack_bytes,
            }
            for group in self._leak_groups()
        ]


def _state(row: Goroutine) -> str:
    return row.wait_reason or row.state


def _outside_text(row: Outside) -> str:
    first = row.first
    count = row.group.goroutines
    text = f"{waiters(count)}{', the first one' if count > 1 else ''} "
    text += wait_text(row.wait, first) if row.wait else "for a system call"
    in_c = c_function(row.group.at)
    if in_c:
        text += f": {in_c}, called"
    return f"{text} in {place(_own_place(row))}"


def _own_place(row: Outside) -> Location:
    own = own_call(row.backtrace.calls)
    return own.at if own else row.group.at


def _blocker_document(blocker: WaitBlocker) -> Document:
    owner = blocker.owner
    return {
        "id": owner.id,
        "certain": owner.is_certain,
        **fields_of(owner, "evidence state wait_reason"),
        **fields_of(owner.user, "function file line"),
        "owns": awaited_document(blocker.primitive),
        "behind": blocker.behind,
        "in_deadlock": blocker.is_in_cycle,
    }


def _outside_document(row: Outside) -> Document:
    at = _own_place(row)
    return {
        "count": row.group.goroutines,
        "id": row.first.id,
        "thread_id": row.first.thread_id,
        **fields_of(at, "function file line"),
        "c_function": c_function(row.group.at),
        "wait": row.wait and wait_document(row.wait),
    }

# SPDX-License-Identifier: Apache-2.0
"""goref hung: which of all waits a service hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .leaks import leaks_line
from .stack import place
from .units import counted
from .waits import awaited_text, first_owner

if TYPE_CHECKING:
    from .._goref import Awaited, Goroutine, GoroutineGroup, GoroutineList
    from .._goref import Leaks, WaitBlocker, Waits

# Who is never woken if nobody lets go or counts down; a receiver without a
# sender may as well be a worker without work.
_SERIOUS = (
    "mutex",
    "read lock",
    "write lock",
    "chan send",
    "nil chan",
    "empty select",
)
# The reasons of those that wait for each other, not for the world outside.
_INSIDE = ("chan ", "select", "sync.", "semacquire")


def is_serious(group: Awaited) -> bool:
    """A single goroutine that waits for a WaitGroup mostly waits for workers:
    only if nobody will call Done, it hangs."""
    if group.kind == "wait group":
        return group.waiters > 1 or not first_owner(group)
    return group.kind in _SERIOUS


def blockers_of(found: Waits) -> list[WaitBlocker]:
    """Who keeps others waiting, and is in no cycle with them."""
    return [b for b in found.blockers if not b.is_in_cycle]


def is_parked_main(group: Awaited) -> bool:
    """The main function of many a service ends with `select {}'."""
    return group.kind == "empty select" and tuple(group.ids) == (1,)


def pile_of(found: Waits) -> Awaited | None:
    """The group that most hangs on: a lost lock before idle receivers."""
    groups = [group for group in found.groups if not is_parked_main(group)]
    serious = [group for group in groups if is_serious(group)]
    several = [group for group in groups if group.waiters > 1]
    return next(iter([*serious, *several, *groups]), None)


def waiters(count: int) -> str:
    return f"{counted(count, 'goroutine')} {'waits' if count == 1 else 'wait'}"


def pile_heading(found: Waits, pile: Awaited) -> str:
    """What is said before a group: whether it is a pile-up at all."""
    if pile.waiters == 1:
        return ""
    most = max(group.waiters for group in found.groups)
    return "largest pile-up: " if pile.waiters == most else "pile-up: "


def crowd_of(
    listed: GoroutineList, pile: Awaited | None
) -> GoroutineGroup | None:
    """More goroutines than those of the pile-up that wait at one place, each
    for a thing of its own: locks of one type, or requests of one pool."""
    for group in listed.groups:
        if group.goroutines <= (pile.waiters if pile else 1):
            return None
        if not _reason(listed, group).startswith(_INSIDE):
            continue
        if not pile or not is_serious(pile) or group.at[1:] == pile.user[1:]:
            return group
    return None


def most_waiting(
    found: Waits, listed: GoroutineList, leaks: Leaks | None
) -> int:
    """How many goroutines an owner must keep waiting to be the cause."""
    pile = pile_of(found)
    crowd = crowd_of(listed, pile)
    most = crowd.goroutines if crowd else pile.waiters if pile else 0
    if leaks and not (pile and is_serious(pile)):
        most = max(most, leaks.leaked)
    return most


def _members(
    listed: GoroutineList, group: GoroutineGroup
) -> Sequence[Goroutine]:
    return listed.rows[group.first : group.first + group.nrows]


def _reason(listed: GoroutineList, group: GoroutineGroup) -> str:
    return next((row.wait_reason or "" for row in _members(listed, group)), "")


def _crowd_text(listed: GoroutineList, group: GoroutineGroup) -> str:
    return (
        f"{waiters(group.goroutines)} in {place(group.at)} "
        f"[{_reason(listed, group)}]"
    )


def pile_cause(group: Awaited) -> str:
    text = f"{waiters(group.waiters)} for {awaited_text(group)}"
    return f"{text}: {group.verdict}" if group.verdict else text


def cause_of_waits(
    found: Waits, listed: GoroutineList, leaks: Leaks | None, in_c: int
) -> str:
    """In one line, if there is no deadlock and nobody keeps all waiting."""
    pile = pile_of(found)
    crowd = crowd_of(listed, pile)
    leaked = leaks.leaked if leaks else 0
    if leaks and leaked > (pile.waiters if pile else 0):
        if not pile or not is_serious(pile) or _has_leaked(pile, leaks):
            return leaks_line(leaks)
    if pile and (is_serious(pile) or pile.owners):
        if not crowd:
            return pile_cause(pile)
        if is_serious(pile):
            # Its waiters may be at several places.
            return f"{_crowd_text(listed, crowd)}; {pile_cause(pile)}"
    if in_c:
        verb = "is" if in_c == 1 else "are"
        return f"{counted(in_c, 'goroutine')} {verb} in C"
    if crowd:
        return f"{_crowd_text(listed, crowd)}, for different things"
    return pile_cause(pile) if pile else ""


def _has_leaked(pile: Awaited, leaks: Leaks) -> bool:
    groups = [group for group in leaks.groups if group.verdict == "leaked"]
    return any(
        number in leaks.ids[group.first : group.first + group.nids]
        for group in groups
        for number in pile.ids[:1]
    )

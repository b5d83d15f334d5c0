# SPDX-License-Identifier: Apache-2.0
"""goref hung: which of all waits a service hangs on, and which are no more than
facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .finalization import blocked_runners, finding
from .leaks import leaks_line
from .stack import place
from .units import counted
from .waits import awaited_text, deadlocks_line, owner_kind

if TYPE_CHECKING:
    from .._goref import Awaited, Finalization, Goroutine, GoroutineCount
    from .._goref import GoroutineGroup, GoroutineList, Leaks, WaitBlocker
    from .._goref import Waits

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
_OUTSIDE = ("IO wait", "sleep", "signal wait")
_LOCKS = ("mutex", "read lock", "write lock", "wait group")
# So many goroutines that wait one for another are no pipeline without work.
_LONG_QUEUE = 10
_PROVEN = "no goroutine that can still run reaches it"


class Cause(NamedTuple):
    """The cause of a hang."""

    kind: str
    """ended, scheduler, deadlock, owner, waits, leaks, in C, finalizers;
    facts: idle, crowd."""
    text: str


class Findings(NamedTuple):
    """The findings that the cause is chosen from."""

    found: Waits
    listed: GoroutineList
    """By the user's line, with examples."""
    leaks: Leaks | None
    states: Sequence[GoroutineCount]
    in_c: int
    """Goroutines."""
    ended: str = ""
    scheduler: str = ""
    runnable: str = ""
    """The sentence for the case that all Ps are busy and goroutines are
    runnable."""
    place_of: Callable[[GoroutineGroup], str] = lambda group: place(group.at)
    """Where the goroutines of a group are, in the program's own calls."""


def is_serious(group: Awaited) -> bool:
    """A single goroutine that waits for a WaitGroup mostly waits for workers:
    only if nobody can call Done, it hangs. A worker does not wait to send."""
    if group.kind == "wait group":
        is_dead = (group.verdict or "").startswith(_PROVEN)
        return group.waiters > 1 or is_dead
    return group.kind in _SERIOUS or group.senders > 1


def blockers_of(found: Waits) -> list[WaitBlocker]:
    """Who keeps others waiting, and is in no cycle with them."""
    return [
        blocker
        for blocker in found.blockers
        if not blocker.is_in_cycle and _holds_up(blocker)
    ]


def _holds_up(blocker: WaitBlocker) -> bool:
    """A single goroutine that waits for a WaitGroup waits for workers. Whoever
    owns a lock, or holds a place of a semaphore or a value of a pool,
    does. Receivers of other channels may be workers without work, and a short
    chain of them a pipeline."""
    if blocker.primitive.kind == "wait group":
        return blocker.behind > 1
    if blocker.primitive.kind in _LOCKS or not blocker.owner.is_certain:
        return True
    if blocker.primitive.kind == "chan send" or blocker.primitive.senders:
        return True
    is_idle = (blocker.owner.wait_reason or "").startswith(
        (*_OUTSIDE, "chan receive", "select", "sync.Cond.Wait")
    )
    return blocker.depth > 1 and (
        not is_idle or blocker.behind >= _LONG_QUEUE
    )


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
    """The words before a group: whether it is a pile-up at all."""
    if pile.waiters == 1:
        return ""
    most = max(group.waiters for group in found.groups)
    is_largest = pile.waiters == most
    if not is_serious(pile):
        return "largest group: " if is_largest else "a group: "
    return "largest pile-up: " if is_largest else "pile-up: "


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


def most_waiting(from_: Findings) -> int:
    """How many goroutines an owner must keep waiting to be the cause."""
    pile = pile_of(from_.found)
    if not pile or not is_serious(pile):
        return from_.leaks.leaked if from_.leaks else 0
    crowd = crowd_of(from_.listed, pile)
    return crowd.goroutines if crowd else pile.waiters


def _members(
    listed: GoroutineList, group: GoroutineGroup
) -> Sequence[Goroutine]:
    return listed.rows[group.first : group.first + group.nrows]


def _reason(listed: GoroutineList, group: GoroutineGroup) -> str:
    return next((row.wait_reason or "" for row in _members(listed, group)), "")


def _crowd_text(from_: Findings, group: GoroutineGroup) -> str:
    return (
        f"{waiters(group.goroutines)} in {from_.place_of(group)} "
        f"[{_reason(from_.listed, group)}]"
    )


def _pile_text(group: Awaited) -> str:
    text = f"{waiters(group.waiters)} for {awaited_text(group)}"
    return f"{text}: {group.verdict}" if group.verdict else text


# ------------------------------------------------------------------ the cause


def cause_of(from_: Findings, doing: str = "") -> Cause:
    """The answer, in one line. doing: what the first blocker does."""
    if from_.ended:
        return _ended(from_)
    if from_.scheduler:
        return Cause("scheduler", from_.scheduler)
    if from_.found.deadlocks:
        return Cause("deadlock", deadlocks_line(from_.found))
    for blocker in blockers_of(from_.found)[:1]:
        if blocker.behind >= most_waiting(from_):
            return _found("owner", blocker_text(blocker, doing))
    return _waits(from_) or _fact(from_)


# Causes that say no more than where goroutines are.
_PLAIN = ("idle", "crowd", "in C")


def most_behind(found: Waits) -> int:
    """The most goroutines that wait for one thing, or for one goroutine."""
    piles = [group.waiters for group in found.groups]
    return max([*piles, *(each.behind for each in found.blockers)], default=0)


def with_finalizers(
    cause: Cause, from_: Findings, finalization: Finalization | None
) -> Cause:
    """The cause, and what is to be known first of finalizers: alone, unless
    others than those that run finalizers wait, too."""
    text = finding(finalization)
    if not text:
        return cause
    alone = max(len(blocked_runners(finalization)), 1)
    is_other = cause.kind in ("owner", "waits")
    if cause.kind in _PLAIN or (is_other and most_behind(from_.found) <= alone):
        return _found("finalizers", text)
    return Cause(cause.kind, f"{cause.text}; {text}")


def _found(kind: str, text: str) -> Cause:
    return Cause(kind, f"no deadlock found; {text}")


def _ended(from_: Findings) -> Cause:
    text = from_.ended
    if from_.found.deadlocks:
        text += f"; {deadlocks_line(from_.found)}"
    return Cause("ended", text)


def blocker_text(blocker: WaitBlocker, doing: str) -> str:
    owner = blocker.owner
    kind = owner_kind(blocker.primitive, owner)
    who, joint = f"the {kind} of", "which is"
    if kind.startswith("one of"):
        who = f"{kind} of"
    elif kind.startswith("alone"):
        who, joint = "which alone can reach", "and is"
    elif kind.endswith("holder"):
        who = f"the {kind} of"
    queue = ", one for another," if blocker.depth > 1 else ""
    return (
        f"{waiters(blocker.behind)}{queue} for goroutine {owner.id}, "
        f"{who} {awaited_text(blocker.primitive)}, {joint} {doing}"
    )


def _waits(from_: Findings) -> Cause | None:
    """If there is no deadlock and nobody keeps all waiting."""
    pile = pile_of(from_.found)
    serious = pile if pile and is_serious(pile) else None
    leaks = from_.leaks
    leaked = leaks.leaked if leaks else 0
    if leaks and leaked > (serious.waiters if serious else 0):
        if not serious or _has_leaked(serious, leaks):
            return _found("leaks", leaks_line(leaks))
    if serious:
        crowd = crowd_of(from_.listed, serious)
        text = _pile_text(serious)
        if crowd:
            # Its waiters may be at several places.
            text = f"{_crowd_text(from_, crowd)}; {text}"
        return _found("waits", text)
    if from_.in_c:
        verb = "is" if from_.in_c == 1 else "are"
        text = f"{counted(from_.in_c, 'goroutine')} {verb} in C"
        return _found("in C", text)
    return None


def _fact(from_: Findings) -> Cause:
    """Nobody waits for a lock, or to send: an idle service, unless more
    goroutines wait in one place, or for one thing, than for the world
    outside. A select in many a place has a case for the end of the program."""
    pile = pile_of(from_.found)
    outside = _count(from_.states, _OUTSIDE)
    crowd = crowd_of(from_.listed, None)
    if pile and pile.kind != "select" and pile.waiters > outside:
        if not crowd or pile.waiters >= crowd.goroutines:
            text = f"{waiters(pile.waiters)} for {awaited_text(pile)}"
            return _found("crowd", text)
    if crowd and crowd.goroutines > outside:
        text = f"{_crowd_text(from_, crowd)}, for different things"
        return _found("crowd", text)
    if from_.runnable:
        return Cause("crowd", from_.runnable)
    return Cause("idle", _idle_text(from_.states, outside))


def _idle_text(states: Sequence[GoroutineCount], outside: int) -> str:
    total = counted(sum(row.goroutines for row in states), "goroutine")
    inside = _count(states, _INSIDE)
    calls = sum(row.goroutines for row in states if row.state == "syscall")
    calls -= _count(states, ("signal wait",))
    parts = [
        (outside, "the network or timers"),
        (inside, "channels or conditions"),
        (calls, "system calls or C"),
    ]
    if not outside + inside:
        return "no goroutine waits for a lock or a channel"
    (first, what), *others = [part for part in parts if part[0]]
    verb = "waits" if first == 1 else "wait"
    text = f"nothing stands out: {first:,} of {total} {verb} for {what}"
    return text + "".join(f", {count:,} for {what}" for count, what in others)


def _count(states: Sequence[GoroutineCount], reasons: tuple[str, ...]) -> int:
    return sum(
        row.goroutines
        for row in states
        if (row.wait_reason or "").startswith(reasons)
    )


def _has_leaked(pile: Awaited, leaks: Leaks) -> bool:
    groups = [group for group in leaks.groups if group.verdict == "leaked"]
    return any(
        number in leaks.ids[group.first : group.first + group.nids]
        for group in groups
        for number in pile.ids[:1]
    )

# SPDX-License-Identifier: Apache-2.0
"""The findings, the worst first: the first screen of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..render.native_leaks import stands_out
from ..render.sizes import both
from ..render.suspects import untouched_text
from ..render.units import counted, human_bytes, percent
from ..render.waste import of_what, place_of
from .live import in_c, size_text, whole, whole_name
from .values import HIDDEN

_NAMED = 3  # suspects
_WASTED = 0.05  # of the live heap, from which on what could be saved is a fact
_UNREACHED = 0.25  # of the allocated bytes, from which on it is a fact
# Units of times, the largest first, and what comes behind each.
_TIMES = (
    (86400 * 10**9, "d", 3600 * 10**9, "h"),
    (3600 * 10**9, "h", 60 * 10**9, "min"),
    (60 * 10**9, "min", 10**9, "s"),
    (10**9, "s", 0, ""),
    (10**6, "ms", 0, ""),
    (10**3, "µs", 0, ""),
    (1, "ns", 0, ""),
)
# Signals that end a program that is wrong, not one that was told to end.
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP")


class Finding(NamedTuple):
    """grade: "bad", "warn", "good" or "fact". link: the section that says
    more. rows: names below the text, and what is said of each."""

    grade: str
    title: str
    text: str
    link: str
    command: str | None = None
    rows: Sequence[tuple[str, str]] = ()


def findings(document: Mapping[str, Any]) -> list[Finding]:
    found = [
        *_ended(document),
        *_deadlocks(document),
        *_blocked(document),
        *_finalizers(document),
        *_suspects(document),
        *_leaks(document),
        *_native_leaks(document),
        *_much_c(document),
    ]
    return [*(found or [_nothing(document)]), *_facts(document)]


def _nothing(document: Mapping[str, Any]) -> Finding:
    missing = {"hung", "suspects", "leaks"} & {*document["missing"]}
    if missing or document["partial"]:
        return Finding(
            "warn",
            "Incomplete",
            "a part of the program could not be read; nothing stands out in "
            "the rest",
            "about",
        )
    return Finding(
        "good",
        "Nothing stands out",
        "no crash, deadlock or leaked goroutine found, and no single holder "
        f"of much of the {whole_name(document)}",
        "heap",
    )


def _ended(document: Mapping[str, Any]) -> list[Finding]:
    panic = document.get("panic")
    if not panic or panic["kind"] is None:
        return []
    text = ended_text(panic)
    is_fault = panic["signal"] in _FAULTS
    if panic["kind"] == "signal" and not is_fault:
        return []  # somebody sent it: a fact, and no fault
    title = "Panic" if panic["kind"] in ("panic", "panicking") else "Crash"
    return [
        Finding("bad", title, text, "stop", f"{document['command']} panic")
    ]


def ended_text(panic: Mapping[str, Any]) -> str:
    """The cause of the program's end, in one line."""
    where = ""
    if panic["goroutine_id"]:
        where = f" in goroutine {panic['goroutine_id']}"
        own = [
            frame["function"]
            for frame in panic["frames"]
            if not (frame["function"] or "").startswith("runtime.")
        ]
        where += f", {own[0]}" if own and own[0] else ""
    if panic["kind"] == "fatal error":
        text = panic["fatal_error"] or "its text is not known"
        return f"fatal error: {text}{where}"
    if panic["values"]:
        return _panic_text(panic["values"][-1], where)
    if panic["signal"]:
        address = f" at {panic['address']}" if panic["address"] else ""
        if panic["sent_with_kill"]:
            address = ", sent with kill"
        return f"{panic['signal']}{address}{where}"
    return f"the program was ended by a {panic['kind']}{where}"


def _panic_text(value: Mapping[str, Any], where: str) -> str:
    type_ = value["type"] or ""
    if value["value"] in (HIDDEN, None):
        of_type = f" of type {type_}" if type_ else ""
        return f"panic{of_type}{where}; its text is left out"
    return f"panic: {' '.join(filter(None, [type_, value['value']]))}{where}"


def _deadlocks(document: Mapping[str, Any]) -> list[Finding]:
    waits = document.get("waits")
    hung = document.get("hung")
    if not waits or not waits["ndeadlocks"]:
        return []
    cause = hung["cause"] if hung else counted(waits["ndeadlocks"], "deadlock")
    awaited = {
        primitive["primitive"]
        for deadlock in waits["deadlocks"]
        for primitive in deadlock["primitives"]
    }
    rows = [row for row in waits["waits"] if row["primitive"] in awaited]
    return [
        Finding(
            "bad",
            "Deadlock",
            cause,
            "waits",
            f"{document['command']} hung",
            [("", _since_when(rows, waits["deadlocks"]))],
        )
    ]


def duration(nanoseconds: int) -> str:
    """`2 min 17 s', rounded down: waiting times are lower bounds."""
    for unit, name, below, name_below in _TIMES:
        if nanoseconds >= unit:
            text = f"{nanoseconds // unit:,} {name}"
            rest = nanoseconds % unit // below if below else 0
            return f"{text} {rest} {name_below}" if rest else text
    return "0 s"


def _longest(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The row with the longest wait that is known."""
    known = [row for row in rows if row.get("waited_ns")]
    return max(known, key=lambda row: int(row["waited_ns"]), default=None)


def _since_when(
    rows: Sequence[Mapping[str, Any]], deadlocks: Sequence[Mapping[str, Any]]
) -> str:
    """How long a deadlock lasts. A row has the longest wait of its waiters,
    who may be more than the members."""
    longest = _longest(rows)
    if not longest:
        return (
            "how long is not known: no collection is known to have run since"
        )
    text = f"waiting for at least {duration(longest['waited_ns'])}"
    count = sum(row["count"] for row in rows)
    if count > sum(deadlock["count"] for deadlock in deadlocks):
        text += f", the longest of the {count:,} who wait for what it is about"
    return text


def _longest_text(rows: Sequence[Mapping[str, Any]]) -> str | None:
    longest = _longest(rows)
    if not longest:
        return None
    where = f" ({longest['function']})" if longest["function"] else ""
    return f"longest wait at least {duration(longest['waited_ns'])}{where}"


# Idle pools and services are facts; the others have findings of their own.
_BLOCKED = ("scheduler", "owner", "waits", "in C")


def _blocked(document: Mapping[str, Any]) -> list[Finding]:
    """The wait of most goroutines, if that is no deadlock and no leak."""
    hung, waits = document.get("hung"), document.get("waits")
    if not hung or not waits or waits["ndeadlocks"]:
        return []
    cause = hung["cause"].removeprefix("no deadlock found; ")
    if hung["cause_kind"] not in _BLOCKED:
        return []
    cause = cause.removesuffix(f"; {_about_finalizers(hung)['finding']}")
    pile = max((row["count"] for row in waits["waits"]), default=0)
    behind = max((row["behind"] for row in waits["owners"]), default=0)
    if max(pile, behind) < 2 and hung["cause_kind"] == "waits":
        return []  # a lone waiter
    return [
        Finding(
            "bad" if behind > 1 else "warn",
            "Waiting",
            cause,
            "waits",
            f"{document['command']} waits",
        )
    ]


def _about_finalizers(hung: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the answer about them, if it is known."""
    none = {"finding": None, "stuck_finding": None}
    return hung.get("finalization") or none


def _finalizers(document: Mapping[str, Any]) -> list[Finding]:
    """Finalizers that do not run, and objects that are never freed."""
    hung = document.get("hung")
    if not hung:
        return []
    about = _about_finalizers(hung)
    command = f"{document['command']} hung"
    return [
        Finding("warn", title, text, link, command)
        for title, text, link in (
            ("Finalizers", about["finding"], "waits"),
            ("Never freed", about["stuck_finding"], "heap"),
        )
        if text
    ]


def _facts(document: Mapping[str, Any]) -> list[Finding]:
    return [
        *_crowd(document),
        *_no_deadlock(document),
        *_garbage(document),
        *_waste(document),
    ]


def _waste(document: Mapping[str, Any]) -> list[Finding]:
    """Memory that could be saved, if it is much in all."""
    found = document.get("waste")
    if not found or not found["checks"]:
        return []
    largest, total = found["checks"][0], found["total_bytes"]
    if total <= found["heap_bytes"] * _WASTED:
        return []
    checks = (row["check"] for row in found["checks"])
    part, words = of_what(checks, found["heap_bytes"], found["stack_bytes"])
    text = (
        f"{human_bytes(total)}, {percent(total, part)} of the live {words}; "
        f"most in {place_of(largest)} ({largest['check']})"
    )
    command = f"{document['command']} waste"
    return [Finding("fact", "Could be saved", text, "waste", command)]


def _crowd(document: Mapping[str, Any]) -> list[Finding]:
    """Where most goroutines wait, if that may be an idle pool."""
    hung = document.get("hung")
    if not hung or hung["cause_kind"] != "crowd":
        return []
    cause = hung["cause"].removeprefix("no deadlock found; ")
    command = f"{document['command']} waits"
    return [Finding("fact", "Waiting", cause, "waits", command)]


def _no_deadlock(document: Mapping[str, Any]) -> list[Finding]:
    hung, waits = document.get("hung"), document.get("waits")
    if not hung or not waits or waits["ndeadlocks"] or not waits["waits"]:
        return []
    longest = (
        _longest_text(waits["waits"]) or "how long the waits last is not known"
    )
    text = f"no deadlock found; {longest}"
    return [
        Finding("fact", "Hang", text, "waits", f"{document['command']} hung")
    ]


def _garbage(document: Mapping[str, Any]) -> list[Finding]:
    """A large part of the heap that no reference reaches. Without all of the
    memory, the references may be in what is missing."""
    heap = document["heap"]
    allocated = heap["heap"]["allocated_bytes"]
    unreached = heap["unreached"]["bytes"]
    if document["partial"] or unreached <= allocated * _UNREACHED:
        return []
    text = (
        f"{human_bytes(unreached)}, {percent(unreached, allocated)} of all "
        f"allocated {human_bytes(allocated)}, is not reached: garbage or not "
        "yet swept"
    )
    return [Finding("fact", "Not reached", text, "heap")]


def _untouched(row: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    return untouched_text(
        row["resident_bytes"], whole(row), found["residency"]
    )


def _suspects(document: Mapping[str, Any]) -> list[Finding]:
    found = document.get("suspects")
    if not found or not found["suspects"]:
        return []
    rows = found["suspects"]
    held = sum(whole(row) for row in rows)
    size = both(held, sum(map(in_c, rows)))
    share = percent(held, whole(found, "reached"))
    size += f", {share} of the {whole_name(document)}"
    text = f"{len(rows):,} suspects hold {size}"
    if len(rows) == 1:
        text = f"{rows[0]['name']} holds {size}"
    return [
        Finding(
            "warn",
            "Memory",
            text,
            "suspects",
            f"{document['command']} suspects",
            _shares(found),
        )
    ]


def _shares(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first suspects, and what each holds."""
    rows = found["suspects"]
    if len(rows) == 1:
        untouched = _untouched(rows[0], found).removeprefix(", ")
        return [("", untouched)] if untouched else []
    shares = [
        (
            row["name"],
            f"{size_text(row)} "
            f"({percent(whole(row), whole(found, 'reached'))})"
            f"{_untouched(row, found)}",
        )
        for row in rows[:_NAMED]
    ]
    if len(rows) > _NAMED:
        shares.append(("", f"{len(rows) - _NAMED:,} more"))
    return shares


def _native_leaks(document: Mapping[str, Any]) -> list[Finding]:
    """Blocks of C that nothing holds, if they are more than what libc itself
    leaves."""
    found = document.get("native_leaks")
    if not found:
        return []
    leaked, in_use = found["leaked_bytes"], found["in_use_bytes"]
    if not stands_out(leaked, in_use):
        return []
    verb = "is" if found["leaked_blocks"] == 1 else "are"
    seen = "in what could be read, " if found.get("partial") else ""
    text = (
        f"{seen}{counted(found['leaked_blocks'], 'block')} of C {verb} held by "
        f"nothing: {human_bytes(leaked)}, {percent(leaked, in_use)} of the "
        f"{human_bytes(in_use)} in use"
    )
    return [
        Finding(
            "warn",
            "Leaked C memory",
            text,
            "native",
            f"{document['command']} native leaks",
        )
    ]


def _much_c(document: Mapping[str, Any]) -> list[Finding]:
    """More of the memory is C's than Go's, and it is enough for a suspect."""
    found, suspects = document.get("native"), document.get("suspects")
    if not found or not found["allocators"] or not suspects:
        return []
    in_use = sum(row["in_use_bytes"] for row in found["allocators"])
    live = document["heap"]["reached"]["bytes"]
    if in_use <= live or in_use < suspects["min_bytes"]:
        return []
    text = (
        f"C has {human_bytes(in_use)} in use, "
        f"{percent(in_use, in_use + live)} of what Go's live heap and C have "
        "together"
    )
    command = f"{document['command']} native"
    return [Finding("warn", "C memory", text, "native", command)]


def _leaks(document: Mapping[str, Any]) -> list[Finding]:
    found = document.get("leaks")
    if not found or not found["leaked"]:
        return []
    where = found["groups"][0]["function"] if found["groups"] else None
    text = (
        f"{counted(found['leaked'], 'goroutine')} can never wake, and "
        f"{'retains' if found['leaked'] == 1 else 'retain'} "
        f"{size_text(found)} of heap and "
        f"{human_bytes(found['stack_bytes'])} of stacks"
    )
    if where:
        text += f"; most in {where}"
    return [
        Finding("warn", "Leaked goroutines", text, "leaks",
                f"{document['command']} leaks")
    ]  # fmt: skip

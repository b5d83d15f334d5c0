# SPDX-License-Identifier: Apache-2.0
"""The first screen: what is wrong, in which program; then what stopped it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...render.rss import beside_zeros
from ...render.units import counted, human_bytes
from ..findings import Finding, ended_text, findings
from ..live import c_bytes
from ..markup import code, el, empty, prose, section, verbatim
from ..screens import finding, finding_list, partial_note, subject
from .parts import missing, own_calls, stack
from .resident import zero_pages

if TYPE_CHECKING:
    from ..markup import Child, Element

_UNREACHED = 0.01  # of the allocated bytes, from which on it is said
# The texts of links from facts to sections.
_LINKS = {
    "waits": "Who waits for what",
    "heap": "The heap",
    "waste": "What could be saved",
}


def screen(document: Mapping[str, Any]) -> Element:
    heap = document["heap"]
    exe = heap["target"]["exe"]
    all_ = findings(document)
    return el(
        "div",
        {"class": "first"},
        subject(exe.rpartition("/")[2], exe, _target(document)),
        _partial(document),
        finding_list(
            "What is wrong",
            [_finding(found) for found in all_ if found.grade != "fact"],
        ),
        el("dl", {"class": "facts"}, _facts(document)),
        [_aside(found) for found in all_ if found.grade == "fact"],
    )


def _target(document: Mapping[str, Any]) -> str:
    heap = document["heap"]
    made = document["made_at"].replace("T", " ").replace("+00:00", " UTC")
    return f"{heap['target_name']}, {heap['go_version']}; report of {made}"


def _partial(document: Mapping[str, Any]) -> Element | None:
    """The warning about what could not be found, which comes first."""
    lost = "; ".join(document["partial"])
    absent = "; ".join(
        f"{name}: {reason}" for name, reason in document["missing"].items()
    )
    if not lost and not absent:
        return None
    return partial_note(
        "Partial" if lost else "Incomplete",
        f"{lost}. Sizes are lower bounds, and retained sizes may be too "
        "small or too large. "
        if lost
        else None,
        f"Not in this report: {absent}." if absent else None,
    )


def _finding(found: Finding) -> Element:
    """If nothing is wrong, the title is the verdict."""
    is_good = found.grade == "good"
    verdict = found.title if is_good else found.text
    rows = [("", found.text)] if is_good else found.rows
    return finding(
        found.grade,
        found.link,
        "Verdict" if is_good else found.title,
        prose(verdict),
        *_rows(rows),
    )


def _rows(rows: Sequence[tuple[str, str]]) -> list[Element]:
    return [
        el("span", None, code(name) if name else None, " ", prose(words))
        for name, words in rows
    ]


def _aside(found: Finding) -> Element:
    """A fact, which is nothing wrong."""
    return el(
        "p",
        {"class": "aside"},
        f"{found.title}: ",
        prose(found.text),
        ". ",
        el("a", {"href": f"#{found.link}"}, _LINKS[found.link]),
    )


def _facts(document: Mapping[str, Any]) -> list[Element]:
    heap = document["heap"]
    rows: list[tuple[str, str, str]] = [_live(document)]
    rss = document.get("rss")
    if rss:
        rows.append(_memory(rss))
    overview = document.get("overview")
    if overview:
        total = overview["goroutines"]["total"]
        rows.append(("Goroutines", f"{total:,}", _states(overview)))
    rows.append(("Stopped by", *_stopped(document)))
    return [
        el("div", None, el("dt", None, title), el("dd", None, text),
           el("dd", {"class": "more"}, prose(more)))
        for title, text, more in rows
    ]  # fmt: skip


def _live(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """All shares of the page are shares of this."""
    if c_bytes(document):
        return _live_of_both(document)
    heap = document["heap"]
    reached, unreached = heap["reached"], heap["unreached"]["bytes"]
    more = counted(reached["objects"], "object")
    if unreached > heap["heap"]["allocated_bytes"] * _UNREACHED:
        more = (
            f"+ {human_bytes(unreached)} not reached: garbage or not yet swept"
        )
    return "Live heap", human_bytes(reached["bytes"]), more


def _live_of_both(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """Go and C side by side, and what neither reaches."""
    heap, in_c = document["heap"], c_bytes(document)
    in_go, unreached = heap["reached"]["bytes"], heap["unreached"]["bytes"]
    leaked = (document.get("native_leaks") or {}).get("leaked_bytes", 0)
    more = f"Go {human_bytes(in_go)}, C {human_bytes(in_c)}"
    lost = []
    if unreached > heap["heap"]["allocated_bytes"] * _UNREACHED:
        lost.append(f"{human_bytes(unreached)} of Go not reached")
    if leaked > in_c * _UNREACHED:
        lost.append(f"{human_bytes(leaked)} of C leaked")
    more += f"; + {', '.join(lost)}" if lost else ""
    return "Live memory", human_bytes(in_go + in_c), more


def _memory(rss: Mapping[str, Any]) -> tuple[str, str, str]:
    """A core that does not tell which pages were resident has pages of zeros
    that the process may never have had."""
    size = human_bytes(rss["total_bytes"])
    if rss["residency"] == "exact":
        return "Resident", size, "page by page (Rss)"
    if rss["residency"] == "anonymous":
        return "Resident", size, "of anonymous memory, at most"
    zeros = zero_pages(rss)
    text = "which pages were resident is not known"
    if zeros:
        text = f"{beside_zeros(zeros)[2:]}; {text}"
    return "In the core", human_bytes(rss["total_bytes"] - zeros), text


def _states(overview: Mapping[str, Any]) -> str:
    states = overview["goroutines"]["states"]  # most first
    words = [
        f"{row['count']:,} {row['wait_reason'] or row['state']}"
        for row in states[:3]
    ]
    if len(states) > 3:
        words.append("...")
    return ", ".join(words)


def _stopped(document: Mapping[str, Any]) -> tuple[str, str]:
    stop = (document.get("overview") or {}).get("stopped_by")
    if not stop:
        return _not_by_a_debugger(document)
    signal = stop["signal"]
    thread = f"thread {stop['thread']}"
    if stop["goroutine_id"]:
        thread += f", goroutine {stop['goroutine_id']}"
    if not signal:
        return "a debugger", thread
    if not stop["sent_by"]:
        return signal, thread
    if stop["sent_by"] == document["overview"]["own_pid"]:
        if document["overview"]["panic"]:
            return signal, f"{thread}; the Go runtime raised it afterwards"
        return signal, f"{thread}, sent by the program itself"
    return signal, f"{thread}, sent by process {stop['sent_by']}"


def _not_by_a_debugger(document: Mapping[str, Any]) -> tuple[str, str]:
    """Without a stop: goref has copied a process, or the answer is
    missing."""
    target = document["heap"]["target"]
    if target["kind"] in ("native", "snapshot"):
        return "goref", "to be copied; the process went on"
    if "overview" not in document:
        return "not known", document["missing"].get("overview", "")
    saved_of = target["origin"] or ""
    if target["kind"] == "core" or saved_of.startswith("core "):
        return "not known", "the core does not tell"
    return "goref", "to be saved; the process went on"


def stop(document: Mapping[str, Any]) -> Element:
    title = "What stopped the program"
    panic = document.get("panic")
    if panic is None:
        return section(
            "stop", title, None, missing(document, "panic", "what ended it")
        )
    if panic["kind"] is None:
        text = "Nothing has ended the program, and no goroutine panics."
        return section("stop", title, None, empty(text))
    deferred: Child = None
    if panic["deferred"]:
        deferred = [
            el("h3", None, "Deferred calls that have not run, the next first"),
            stack(panic["deferred"], True),
        ]
    return section(
        "stop",
        title,
        None,
        el("p", {"class": "cause"}, prose(ended_text(panic))),
        _values(panic),
        own_calls(panic["frames"], True)
        if panic["frames"]
        else _thread(panic),
        deferred,
    )


def _values(panic: Mapping[str, Any]) -> Element | None:
    """Several panics, the oldest first."""
    if len(panic["values"]) < 2:
        return None
    return el(
        "ol",
        None,
        [
            el(
                "li",
                None,
                verbatim(" ".join(filter(None, [v["type"], v["value"]]))),
                " recovered" if v["recovered"] else None,
            )
            for v in panic["values"]
        ],
    )


def _thread(panic: Mapping[str, Any]) -> Element | None:
    if not panic["thread_id"]:
        return None
    thread = f"Thread {panic['thread_id']}"
    if panic["sent_with_kill"]:
        return empty(f"{thread}, which received the signal, ran no goroutine.")
    return empty(f"{thread} ran no goroutine: it was in the scheduler.")

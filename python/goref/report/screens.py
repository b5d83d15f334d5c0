# SPDX-License-Identifier: Apache-2.0
"""The parts that the first screens of all pages have: the subject, the note
that the answer is partial, and the list of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .markup import el

if TYPE_CHECKING:
    from .markup import Child, Element


def subject(title: str, exe: str, target: str) -> Element:
    """exe: the path of the executable, as a tooltip of the title."""
    return el(
        "div",
        {"class": "subject"},
        el("h1", {"title": exe}, title),
        el("p", {"class": "target"}, target),
    )


def partial_note(title: str, *said: Child) -> Element:
    return el(
        "div",
        {"class": "finding warn", "role": "note", "id": "partial"},
        el("strong", None, title),
        el("span", None, *said),
    )


def finding_list(label: str, *findings: Child) -> Element:
    return el("ul", {"class": "findings", "aria-label": label}, *findings)


def finding(
    grade: str, link: str, title: str, verdict: Child, *shares: Element | None
) -> Element:
    """grade: "bad", "warn" or "good". link: the section that says more.
    shares: rows below the verdict."""
    rows = [row for row in shares if row is not None]
    return el(
        "li",
        None,
        el(
            "a",
            {"class": f"finding {grade}", "href": f"#{link}"},
            el("strong", None, title),
            el("span", {"class": "verdict"}, verdict),
            el("span", {"class": "shares"}, rows) if rows else None,
        ),
    )

# SPDX-License-Identifier: Apache-2.0
"""Elements of a page. Names in the target are input: text becomes text, and
never markup."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Union
from xml.etree import ElementTree

from ..render.units import human_bytes, percent, printable
from .names import LENGTH, column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Element = ElementTree.Element
    Child = Union[None, str, int, Element, Iterable["Child"]]
    Attributes = Mapping[str, Union[None, str, int, bool]]

_WITH_UNIT = re.compile(r"([\d.]+ (?:%|(?:[KMGT]i)?B\b))")
_SPACE = re.compile(r"(\s+|[,;:.]+(?=\s|$))")
_IN_PROSE = 64  # characters of a name in a sentence
_PARTS = re.compile(r"(?<=\w[./])(?=\w)|(?<=\w)(?=\[)")


def _append(parent: Element, child: Child) -> None:
    if child is None:
        return
    if isinstance(child, ElementTree.Element):
        parent.append(child)
    elif isinstance(child, (str, int)):
        text = printable(str(child))
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + text
        else:
            parent.text = (parent.text or "") + text
    else:
        for one in child:
            _append(parent, one)


def el(
    tag: str, attributes: Attributes | None = None, *children: Child
) -> Element:
    """An element. An attribute that is None or False is left out, and True is
    an empty one. Children are elements, texts, or lists of both."""
    element = ElementTree.Element(tag)
    for name, value in (attributes or {}).items():
        if value is None or value is False:
            continue
        element.set(name, "" if value is True else printable(str(value)))
    _append(element, children)
    return element


def data(name: str, document: object) -> Element:
    """A document for the scripts of the page. The text of a script is not
    escaped by HTML's rules; JSON's own escapes keep it from ending early."""
    text = json.dumps(document, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    element = el("script", {"type": "application/json", "id": name})
    element.text = text
    return element


def asset(tag: str, text: str) -> Element:
    """A style sheet or a script of ours."""
    if f"</{tag}" in text.lower() or "<!--" in text:
        raise ValueError(f"the text would end its <{tag}> element")
    element = ElementTree.Element(tag)
    element.text = text
    return element


def html(root: Element) -> str:
    text = ElementTree.tostring(root, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{text}\n"


# ------------------------------------------------------------ common pieces


def size(count: int) -> Element:
    """Bytes for a person, with the exact number in a tooltip."""
    return el("span", {"class": "num", "title": f"{count:,} B"},
              human_bytes(count))  # fmt: skip


def code(name: str, length: int = LENGTH) -> Element:
    """A name as it fits into a column. The tooltip has the whole name, and so
    has a copy (assets/copy.js)."""
    shown = column(name, length)
    return el(
        "code", {"title": name if shown != name else None}, _pieces(shown)
    )


def verbatim(text: str) -> Element:
    """A command or a path, which is whole."""
    return el("code", None, _pieces(text))


def _pieces(text: str) -> list[Child]:
    """A text that may be broken between the parts of a name."""
    first, *rest = _PARTS.split(text)
    return [first, [[el("wbr"), part] for part in rest]]


def bar(part: int, whole: int) -> Element:
    """A share as a bar. It has presentation attributes only: the page's
    policy forbids styles in elements."""
    share = min(100.0, 100 * part / whole) if whole else 0.0
    return el(
        "svg",
        {"class": "bar", "viewBox": "0 0 100 1", "aria-hidden": "true",
         "preserveAspectRatio": "none"},
        el("rect", {"width": f"{share:.2f}", "height": "1"}),
    )  # fmt: skip


def prose(text: str) -> list[Child]:
    """A sentence: its numbers stay on the line of their units, and its names
    are short."""
    return [
        el("span", {"class": "num"}, part) if i % 2 else _words(part)
        for i, part in enumerate(_WITH_UNIT.split(text))
    ]


def _words(text: str) -> list[Child]:
    return [
        code(word, _IN_PROSE)
        if "/" in word and column(word, _IN_PROSE) != word
        else word
        for word in _SPACE.split(text)
    ]


def sentence(words: str) -> str:
    """Words of a line of text, as a sentence."""
    return f"{words[:1].upper()}{words[1:]}."


def note(*children: Child) -> Element:
    return el("p", {"class": "note"}, *children)


def empty(*children: Child) -> Element:
    """The sentence of a section that has nothing to show."""
    return el("p", {"class": "empty"}, *children)


def section(name: str, title: str, lead: Child, *children: Child) -> Element:
    return el(
        "section",
        {"id": name, "aria-labelledby": f"{name}-title"},
        el("h2", {"id": f"{name}-title"}, title),
        el("p", {"class": "lead"}, _lead(lead)) if lead else None,
        *children,
    )


def _lead(lead: Child) -> Child:
    return prose(lead) if isinstance(lead, str) else lead


def share_text(part: int, whole: int) -> str:
    return percent(part, whole)


def place(row: Mapping[str, object], length: int = LENGTH) -> Element:
    """`main.f  main.go:17' of a document with function, file and line."""
    file = str(row.get("file") or "?")
    short = file.rpartition("/")[2]
    return el(
        "span",
        {"class": "place"},
        code(str(row.get("function") or "?"), length),
        " ",
        el("span", {"class": "file", "title": f"{file}:{row.get('line')}"},
           f"{short}:{row.get('line')}"),
    )  # fmt: skip

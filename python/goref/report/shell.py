# SPDX-License-Identifier: Apache-2.0
"""The shell of a page: its head, the bar at the top, the style sheets and the
scripts. Nothing in it knows what the page says; any page of several sections
uses it. It is one file without a single address of a network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .markup import asset, data, el, html

if TYPE_CHECKING:
    from .markup import Child, Element

_ASSETS = Path(__file__).resolve().parent / "assets"
STYLES = (
    "theme.css",
    "base.css",
    "bar.css",
    "first.css",
    "tables.css",
    "growth.css",
    "cards.css",
    "charts.css",
    "panel.css",
    "waits.css",
    "small.css",
    "print.css",
)
# Those of every page, each after those that it uses; start.js is the last.
_SCRIPTS = (
    "dom.js",
    "names.js",
    "state.js",
    "theme.js",
    "copy.js",
    "search.js",
    "tables.js",
)
_LICENCES = {"vendor/dagre.min.js": "vendor/dagre.LICENSE"}


class Sheet(NamedTuple):
    """All that a page says. links: the sections, as (id, title). data: the
    documents for scripts, by the id of their element. scripts: names of
    assets, each after those that it uses."""

    title: str
    links: Sequence[tuple[str, str]]
    main: Child
    data: Mapping[str, object]
    scripts: Sequence[str]


def scripts(*own: str) -> tuple[str, ...]:
    """The scripts of a page: those of every page, and its own."""
    return (*_SCRIPTS, *own, "start.js")


def shell(sheet: Sheet) -> str:
    """The whole page."""
    style = "\n".join(map(_read, STYLES))
    texts = [_script(name) for name in sheet.scripts]
    return html(
        el(
            "html",
            {"lang": "en"},
            _head(sheet.title, style, texts),
            el(
                "body",
                None,
                _top_bar(sheet.links),
                el("main", {"id": "main", "tabindex": "-1"}, sheet.main),
                [data(name, found) for name, found in sheet.data.items()],
                [asset("script", text) for text in texts],
            ),
        )
    )


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _script(name: str) -> str:
    """A script, below its licence if it is not ours. A page has no use for the
    name of a source map."""
    text = re.sub(r"^//# sourceMappingURL=.*$", "", _read(name), flags=re.M)
    licence = _LICENCES.get(name)
    return f"/*\n{_read(licence)}*/\n{text}" if licence else text


def _policy(style: str, scripts: list[str]) -> str:
    """Only this style sheet and these scripts, and no network at all."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {' '.join(map(_hash, scripts))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _head(title: str, style: str, scripts: list[str]) -> Element:
    return el(
        "head",
        None,
        el("meta", {"charset": "utf-8"}),
        el(
            "meta",
            {
                "http-equiv": "Content-Security-Policy",
                "content": _policy(style, scripts),
            },
        ),
        el(
            "meta",
            {
                "name": "viewport",
                "content": "width=device-width, initial-scale=1",
            },
        ),
        el("meta", {"name": "color-scheme", "content": "light dark"}),
        el("meta", {"name": "referrer", "content": "no-referrer"}),
        el("link", {"rel": "icon", "href": "data:,"}),
        el("title", None, title),
        asset("style", style),
    )


def _top_bar(links: Sequence[tuple[str, str]]) -> Element:
    return el(
        "header",
        {"class": "top"},
        el("a", {"class": "skip", "href": "#main"}, "Skip to content"),
        el("a", {"class": "brand", "href": "#main"}, "goref"),
        el(
            "nav",
            {"aria-label": "Sections", "tabindex": "-1"},
            [el("a", {"href": f"#{name}"}, title) for name, title in links],
        ),
        _search(),
        el(
            "button",
            {"type": "button", "id": "theme", "class": "ghost",
             "hidden": True},
            "Dark",
        ),
        el("div", {"id": "hits", "class": "hits", "hidden": True}),
    )  # fmt: skip


def _search() -> Element:
    """The search of the whole page, which a script begins."""
    return el(
        "div",
        {"class": "search", "role": "search", "hidden": True},
        el(
            "input",
            {"type": "search", "id": "search", "autocomplete": "off",
             "placeholder": "Search the page", "spellcheck": "false",
             "aria-label": "Search the page; takes text or a regular expression",
             "aria-keyshortcuts": "/"},
        ),
        el("kbd", {"aria-hidden": "true"}, "/"),
    )  # fmt: skip

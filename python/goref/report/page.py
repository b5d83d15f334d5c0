# SPDX-License-Identifier: Apache-2.0
"""The whole page: one file without a single address of a network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..render.units import printable
from .markup import asset, data, el, html
from .sections import Part, first_screen, parts
from .waitgraph import graph

if TYPE_CHECKING:
    from .markup import Element

_ASSETS = Path(__file__).resolve().parent / "assets"
STYLE = "report.css"
# In this order: each may use those before it.
SCRIPTS = (
    "dom.js",
    "theme.js",
    "tables.js",
    "tree.js",
    "icicle.js",
    "drill.js",
    "vendor/dagre.min.js",
    "waitgraph.js",
)
_LICENCES = {"vendor/dagre.min.js": "vendor/dagre.LICENSE"}


def page(document: Mapping[str, Any]) -> str:
    """The page of the document that commands/report.py gathers."""
    document = _printable(document)
    shown = parts(document)
    style = _read(STYLE)
    scripts = [_script(name) for name in SCRIPTS]
    return html(
        el(
            "html",
            {"lang": "en"},
            _head(document, style, scripts),
            el(
                "body",
                None,
                _top_bar(shown),
                el(
                    "main",
                    {"id": "main"},
                    first_screen(document),
                    [part.make(document) for part in shown],
                ),
                data("goref-document", document),
                data("goref-waits", _waits(document)),
                [asset("script", text) for text in scripts],
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


def _printable(part: Any) -> Any:
    """Without what would turn text around or break it, also where a script
    shows it."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, Mapping):
        return {printable(k): _printable(v) for k, v in part.items()}
    if isinstance(part, (list, tuple)):
        return [_printable(one) for one in part]
    return part


def _waits(document: Mapping[str, Any]) -> dict[str, Any]:
    waits = document.get("waits")
    if not waits:
        return {"nodes": [], "edges": [], "left_out": 0}
    return graph(waits)


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


def _head(
    document: Mapping[str, Any], style: str, scripts: list[str]
) -> Element:
    exe = document["heap"]["target"]["exe"].rpartition("/")[2]
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
        el("title", None, f"{exe}: report of goref"),
        asset("style", style),
    )


def _top_bar(shown: Sequence[Part]) -> Element:
    return el(
        "header",
        {"class": "top"},
        el("a", {"class": "skip", "href": "#main"}, "Skip to the content"),
        el("a", {"class": "brand", "href": "#main"}, "goref"),
        el(
            "nav",
            {"aria-label": "Sections"},
            [
                el("a", {"href": f"#{part.name}"}, part.title)
                for part in shown
            ],
        ),
        el(
            "button",
            {"type": "button", "id": "theme", "class": "ghost",
             "hidden": True},
            "Dark",
        ),
    )  # fmt: skip

# SPDX-License-Identifier: Apache-2.0
"""Values of the program in a document: shown, or left out.

Names, types, sizes and addresses are no values. Texts of panics, labels of
goroutines (keys, too), addresses of sockets and keys of maps are: a page is
passed on."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "(left out)"

# The key of a map in the name of a place: main.users["ann"]. It may be cut.
_QUOTED = re.compile(r'\["(?:[^"\\]|\\.)*(?:"\]?|$)')
# Any index of an expression may be a key, too: main.accounts[4711], `[4711]'.
_INDEX = re.compile(r"(?<=[\w\])])\[(?:-?\d+|true|false)\]")
_STEP = re.compile(r"^\[(?:-?\d+|true|false)\](?=$|\.)")
# A field or an element, as a step of a path is one, may be behind a key.
_ELEMENT = re.compile(r"\[(?:-?\d+|true|false)\]")
# Keys that have texts of the program, and those that have expressions.
_TEXTS = ("value", "local", "remote")
_EXPRESSIONS = ("path", "accumulation_point", "next")


def shown(document: dict[str, Any], with_values: bool) -> dict[str, Any]:
    """A copy of a document that may be passed on."""
    if with_values:
        return document
    found: dict[str, Any] = _without(document, "")
    return found


def _without(part: Any, key: str) -> Any:
    if isinstance(part, dict) and key == "labels":
        return {HIDDEN: str(len(part))} if part else {}
    if isinstance(part, dict) and key == "panic" and "text" in part:
        return {**part, "text": f"{part['kind']} {HIDDEN}"}
    if isinstance(part, dict):
        step = {"name": "step"} if key == "fields" else {}
        return {
            name: _without(value, step.get(name, name))
            for name, value in part.items()
        }
    if isinstance(part, list):
        return [_without(value, key) for value in part]
    if not isinstance(part, str):
        return part
    return HIDDEN if key in _TEXTS else _name(part, key)


def _name(text: str, key: str) -> str:
    if "[" not in text:
        return text
    text = _QUOTED.sub("[...]", text)
    if key == "step":
        return _ELEMENT.sub("[...]", text)
    if key in _EXPRESSIONS:
        text = _INDEX.sub("[...]", text)
    return _STEP.sub("[...]", text) if key == "name" else text

# SPDX-License-Identifier: Apache-2.0
"""Names as they fit into a column: short by package, cut in the middle.

assets/names.js has the same rules for what scripts show; the tests give both
the same names."""

from __future__ import annotations

import re

LENGTH = 56  # characters of a name in a column

# A text in quotes, or what stands between the punctuation of a type.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s"*()\[\]{},;:<>&]+')
_VERSION = re.compile(r"v[0-9]+(?=\.)")  # example.com/a/v2.T
_POINT_VERSION = re.compile(r"%2ev[0-9]+(?=\.)")  # gopkg.in/yaml%2ev3.Node


def short(name: str) -> str:
    """`server.Account' of `github.com/nats-io/nats-server/v2/server.Account',
    wherever a package stands in the name."""
    return _TOKEN.sub(_short_token, name) if "/" in name else name


def _short_token(found: re.Match[str]) -> str:
    token = found[0]
    name = token.lstrip(".")
    head, slash, tail = name.rpartition("/")
    is_path = name != token and not token.startswith("...")
    if not slash or token[0] in '"/' or is_path or "." not in tail:
        return token
    above = head.rpartition("/")
    version = _VERSION.match(tail)
    if version and above[1]:
        tail = above[2] + tail[version.end() :]
    dots = token[: len(token) - len(name)]
    return dots + _POINT_VERSION.sub("", tail, count=1)


def middle(text: str, length: int = LENGTH) -> str:
    """A text without its middle, if it is longer than length."""
    if len(text) <= length:
        return text
    left = length // 2
    right = length - 1 - left
    return f"{text[:left]}…{text[len(text) - right :]}"


def column(name: str, length: int = LENGTH) -> str:
    """A name as it stands in a column."""
    return middle(short(name), length)

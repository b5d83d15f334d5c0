# SPDX-License-Identifier: Apache-2.0
"""Where a name comes from: the main module, a dependency, the standard
library, the runtime, or no package at all. assets/origins.js has the same
rules as packages.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import packages
from .markup import el

if TYPE_CHECKING:
    from .markup import Element

# In the order of the legend.
TITLES = {
    "main": "main module",
    "dependency": "dependencies",
    "std": "standard library",
    "runtime": "Go runtime",
    "c": "C: blocks and roots",
    "none": "no package: bytes, strings, roots",
}
_C_KINDS = ("C ", "unchecked arena")  # how kinds of roots of C begin


def is_c_kind(kind: str) -> bool:
    """Is a root of that kind one of C?"""
    return kind.startswith(_C_KINDS)


class Origins:
    """The origins of the names of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._modules: packages.Modules = document.get(
            "modules", packages.NONE
        )

    def of(self, name: str) -> str:
        """A key of TITLES."""
        package = packages.package_of(name)
        return packages.origin(package, self._modules) or "none"

    def mark_of_package(self, path: str) -> Element:
        return mark(packages.origin(path, self._modules) or "none")

    def mark(self, name: str, is_c: bool = False) -> Element:
        """The origin as a small mark, which is a letter as well as a color.
        is_c: it is a block or a root of C, whatever its name."""
        return mark("c" if is_c else self.of(name))


def mark(origin: str) -> Element:
    title = TITLES[origin]
    return el(
        "span",
        {"class": f"mark of-{origin}", "role": "img", "aria-label": title,
         "title": title},
    )  # fmt: skip


def legend(*more: tuple[str, str], has_c: bool = False) -> Element:
    """The meanings of colors and marks. more: classes and meanings of a
    chart. has_c: some names are C's."""
    return el(
        "ul",
        {"class": "colors", "aria-label": "Colors"},
        [
            el("li", None, mark(origin), title)
            for origin, title in TITLES.items()
            if has_c or origin != "c"
        ],
        [
            el("li", None, el("span", {"class": f"swatch of-{name}",
                                       "aria-hidden": "true"}), title)
            for name, title in more
        ],
    )  # fmt: skip

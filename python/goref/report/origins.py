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
    "none": "no package: bytes, strings, roots",
}


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

    def mark(self, name: str) -> Element:
        """The origin as a small mark, which is a letter as well as a
        color."""
        return mark(self.of(name))


def mark(origin: str) -> Element:
    title = TITLES[origin]
    return el(
        "span",
        {"class": f"mark of-{origin}", "role": "img", "aria-label": title,
         "title": title},
    )  # fmt: skip


def legend(*more: tuple[str, str]) -> Element:
    """The meanings of colors and marks. more: classes and meanings of a
    chart."""
    return el(
        "ul",
        {"class": "colors", "aria-label": "Colors"},
        [
            el("li", None, mark(origin), title)
            for origin, title in TITLES.items()
        ],
        [
            el("li", None, el("span", {"class": f"swatch of-{name}",
                                       "aria-hidden": "true"}), title)
            for name, title in more
        ],
    )  # fmt: skip

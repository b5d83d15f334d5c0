# SPDX-License-Identifier: Apache-2.0
"""Packages of the names of types and functions, and whose they are. Pure:
never imports gdb.

    package_of("map[string]*github.com/x/y/z.T")   "github.com/x/y/z"
    package_of("main.(*T).f")                      "main"
    package_of("[]uint8")                          "": no package
    origin("github.com/x/y/z", modules)            "dependency"

`modules` is what the program's build information says, as `goref report`
puts it in the document of its page under the key "modules"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypedDict

Origin = Literal["main", "dependency", "std", "runtime", ""]


class Modules(TypedDict):
    """The modules of a program. A build without modules has none."""

    main: str | None
    """The path of the main module."""
    path: str | None
    """The import path of the main package."""
    dependencies: list[str]
    """The paths of the modules that it depends on, sorted."""


NONE: Modules = {"main": None, "path": None, "dependencies": []}

# Before a type there may be `*`, `[]`, `[8]`, `chan `, `<-chan `, `chan<- `.
_BEFORE = re.compile(r"[*(]+|\[\d*\]|<-|chan(?:<-)? ")
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
# Names that compiler and linker make: `type:.eq.main.T`, `go:itab.*T,I`, and
# before them `go.itab.*T,I`; but go.uber.org/zap is a package.
_MADE = re.compile(r"type:|type\.\.|go:|go\.(?![\w.-]+/)")
# gopkg.in/yaml.v3 has the dot in its last element.
_VERSION = re.compile(r"\.v\d+(?=[.-])")
_MAX_KEYS = 8  # maps as keys of maps
_RUNTIME = ("runtime", "internal/runtime", "internal/abi")


def package_of(name: str) -> str:
    """The import path of the package of a type or of a function; "" if it
    has none: `[]uint8`, `struct {...}`. A map is in the package of its
    elements, or of its keys if those have none; an instance of a generic type
    is in that of the type. Functions that the linker makes, as
    `type:.eq.main.T`, are the runtime's."""
    for _ in range(_MAX_KEYS):
        name, key = _element(name)
        found = _package(name)
        if found or not key:
            return found
        name = key
    return ""


def _package(name: str) -> str:
    if _MADE.match(name):
        return "runtime"
    whole = _path(name)
    slash = whole.rfind("/") + 1
    if whole.startswith("gopkg.in/"):
        version = _VERSION.search(whole, slash)
        if version:
            return whole[: version.end()]
    dot = whole.find(".", slash)
    return _unescaped(whole[:dot]) if dot > 0 else ""


def origin(package: str, modules: Modules) -> Origin:
    """Whose a package is: of the main module, of a dependency, of the standard
    library, or of the runtime; "" of no package. If the main module is not
    known, the main package and those below its path are "main"."""
    if not package:
        return ""
    if _is_below(package, _RUNTIME):
        return "runtime"
    if package == "main":
        return "main"
    own = modules["main"] or modules["path"]
    if own and _is_below(package, (own,)):
        return "dependency" if _is_other(package, own, modules) else "main"
    if _is_below(package, modules["dependencies"]):
        return "dependency"
    return "dependency" if "." in package.partition("/")[0] else "std"


def _element(name: str) -> tuple[str, str]:
    """A type without what stands before the name of its element type, and the
    key type of the last map on the way; "" if there is none."""
    key, at = "", 0
    while True:
        before = _BEFORE.match(name, at)
        if before:
            at = before.end()
        elif name.startswith("map[", at):
            first, at = at + 4, _end_of_brackets(name, at + 3)
            key = name[first : at - 1]
        else:
            return name[at:], key


def _end_of_brackets(text: str, start: int) -> int:
    """Where the bracket at start ends; the end of the text if it does not."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    return len(text)


def _path(name: str) -> str:
    """A name up to its receiver, its type arguments, or a word after it."""
    return re.split(r"[\[({ ]", name, maxsplit=1)[0]


def _unescaped(path: str) -> str:
    """The linker writes dots of the last element of a path as %2e."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), path)


def _is_below(package: str, paths: Iterable[str]) -> bool:
    return any(
        package == path or package.startswith(f"{path}/") for path in paths
    )


def _is_other(package: str, own: str, modules: Modules) -> bool:
    """Is a package below the main module one of another module there, or of
    the folder of copies?"""
    if "/vendor/" in package:
        return True
    inner = (d for d in modules["dependencies"] if len(d) > len(own))
    return _is_below(package, inner)

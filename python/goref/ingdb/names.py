# SPDX-License-Identifier: Apache-2.0
"""Package variables and their fields by gdb's own symbols, for completion before
the first question. gdb reads symbols here, and no memory of the program."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import gdb

from .expressions import Neutral

_gdb: Any = gdb  # mypy's stubs have little of it
_MOST = 200  # names that are offered
# Names that gdb may list: functions and types are among them.
_LISTED = 10000
_PACKAGES = 50  # whose variables are looked for
_TRIED = 5  # names that may lead to a package
# A name, and a path of fields behind it.
_PLAIN = re.compile(r"[\w./-]+")
_MATCH = re.compile(r"^print '([\w./-]+)'?$", re.M)
# Structs that a Go program does not have as such: its strings, slices, maps,
# channels and interfaces.
_OTHERS = re.compile(r"(string|runtime\.[ie]face)$|\[|map\[|chan |\w+<")


class _Many:
    """A context in which gdb lists enough names, if the user has set a
    limit."""

    def __enter__(self) -> None:
        self.saved: Any = gdb.parameter("max-completions")
        self._set(_LISTED)

    def __exit__(self, *_: object) -> None:
        self._set(self.saved)

    def _set(self, number: int | None) -> None:
        limit = "unlimited" if number in (None, -1) else number
        gdb.execute(f"set max-completions {limit}", to_string=True)


def _variable(name: str) -> Any:
    """The symbol of a variable, or None."""
    symbol = _gdb.lookup_global_symbol(name)
    return symbol if symbol is not None and symbol.is_variable else None


def _package(name: str) -> str:
    """The package of a name, with the dot behind it."""
    return name[: name.index(".", name.rfind("/") + 1) + 1]


def _symbols(names: list[str]) -> Any:
    """All symbols of a package, some names of which gdb has listed: the linker
    puts a package into a unit of its own. gdb takes long to look a name up."""
    for name in names[:_TRIED]:
        symbol = _gdb.lookup_global_symbol(name)
        if symbol is not None and symbol.symtab is not None:
            return symbol.symtab.global_block()
    return ()


def _variables(prefix: str) -> list[str]:
    with Neutral(), _Many():
        text = gdb.execute(f"complete print '{prefix}", to_string=True)
    packages: dict[str, list[str]] = {}
    for name in _MATCH.findall(text):
        if "." in name[name.rfind("/") + 1 :]:
            packages.setdefault(_package(name), []).append(name)
    found = (
        symbol.name
        for names in islice(packages.values(), _PACKAGES)
        for symbol in _symbols(names)
        if symbol.is_variable and symbol.name.startswith(prefix)
    )
    return sorted(islice(found, _MOST))


def _struct(kind: Any) -> Any:
    """The struct that a field may be taken of: a pointer is followed. None: a
    type without fields."""
    kind = kind.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        kind = kind.target().strip_typedefs()
    is_struct = kind.code == _gdb.TYPE_CODE_STRUCT
    return kind if is_struct and not _OTHERS.match(kind.name or "") else None


def _field(kind: Any, name: str) -> Any:
    """The type of a field, or None."""
    struct = _struct(kind)
    for field in struct.fields() if struct is not None else ():
        if field.name == name:
            return field.type
    return None


def _fields(text: str) -> list[str]:
    """The fields of the longest variable of a text, or of its path."""
    head, _, begin = text.rpartition(".")
    name, path = head, ""
    while name and not _variable(name):
        name, _, last = name.rpartition(".")
        path = f".{last}{path}"
    if not name:
        return []
    kind = _variable(name).type
    for step in path.split(".")[1:]:
        kind = _field(kind, step)
        if kind is None:
            return []
    struct = _struct(kind)
    names = (f.name for f in struct.fields()) if struct is not None else ()
    found = [n for n in names if n and n.startswith(begin)]
    return [f"{head}.{name}" for name in found[:_MOST]]


def complete(text: str) -> list[str]:
    """Variables that begin so, or the fields of one. Never fails."""
    if not _PLAIN.fullmatch(text):
        return []
    try:
        return _variables(text) or _fields(text)
    except (gdb.error, RuntimeError):
        return []

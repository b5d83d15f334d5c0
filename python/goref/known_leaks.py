# SPDX-License-Identifier: Apache-2.0
"""Leaks that are known: patterns of those that are ignored, and the baseline
of those that were there before. Pure: never imports gdb."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from typing import Literal

    from ._goref import LeakGroup

    Field = Literal["top", "any", "created-by"]

_FIELDS = ("top", "any", "created-by")
_MAX_FILE = 16 << 20
_MAX_PATTERN = 1000
_HEADER = "# goref leaks: baseline 1"
_COMMENT = f"""\
{_HEADER}
# Leaked goroutines that are known, a line for each place: how many, the wait
# reason, the function that waits, the function with the go statement. Between
# them are tabs. `goref leaks --write-baseline FILE' writes this file.
"""
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


class FileError(Exception):
    """A file is no list of leaks. str() names the mistake in one line."""


class Pattern(NamedTuple):
    """Goroutines to ignore."""

    field: Field
    """top, any or created-by: which of their functions is compared."""
    name: str
    """A name, in which `*' stands for any characters."""

    def __str__(self) -> str:
        return f"{self.field}:{self.name}"


class Key(NamedTuple):
    """The place that makes leaks the same in two programs. No line number: it
    moves with each change of the file."""

    wait_reason: str
    function: str
    creator: str


class Baseline(NamedTuple):
    """A file of known leaks."""

    path: str
    known: Mapping[Key, int]


# ------------------------------------------------------------------ patterns


def _shown(text: str) -> str:
    """As it is, if a terminal can show it."""
    return text if text.isprintable() else repr(text[:80])


def pattern(text: str) -> Pattern:
    """ValueError, with the mistake, if it is none."""
    head, colon, rest = text.partition(":")
    field: Field = "top"
    name = text
    if colon:
        if head not in _FIELDS:
            raise ValueError(
                f"not a pattern: {_shown(text)} (a function, which `top:', "
                "`any:' or `created-by:' may precede)"
            )
        field, name = cast("Field", head), rest
    if not name or "\0" in name or len(name) > _MAX_PATTERN:
        raise ValueError(
            f"not a pattern: {text[:80]!r} (a function's name has 1 to "
            f"{_MAX_PATTERN:,} characters)"
        )
    return Pattern(field, name)


def read_patterns(path: str) -> list[Pattern]:
    """A pattern a line; lines that begin with `#' are comments."""
    found = []
    for number, line in _lines(path):
        try:
            found.append(pattern(line.strip()))
        except ValueError as problem:
            raise FileError(f"{path}:{number}: {problem}") from None
    return found


# ------------------------------------------------------------------ baseline


def key_of(group: LeakGroup) -> Key:
    return Key(
        group.wait_reason or "?",
        group.at.function or "?",
        group.go.function or "?",
    )


def counts(groups: Iterable[LeakGroup]) -> dict[Key, int]:
    """The counts of leaked goroutines by their places."""
    found: dict[Key, int] = {}
    for group in groups:
        if group.verdict == "leaked":
            key = key_of(group)
            found[key] = found.get(key, 0) + group.goroutines
    return found


def baseline_text(groups: Iterable[LeakGroup]) -> bytes:
    """The same text for the same leaks, in whatever order."""
    rows = sorted((key[1:] + key[:1], n) for key, n in counts(groups).items())
    lines = [
        "\t".join((str(n), *map(_escaped, (reason, function, creator)))) + "\n"
        for (function, creator, reason), n in rows
    ]
    text = _COMMENT + "".join(lines)
    return text.encode("utf-8", "surrogateescape")


def read_baseline(path: str) -> Baseline:
    known: dict[Key, int] = {}
    if _first_line(path) != _HEADER:
        raise FileError(
            f"{path} is no baseline of leaks: its first line is not "
            f"`{_HEADER}'"
        )
    for number, line in _lines(path):
        count, *words = line.split("\t")
        if len(words) != 3 or not re.fullmatch(r"[0-9]{1,18}", count):
            raise FileError(
                f"{path}:{number}: not a count, a wait reason and two "
                "functions, with tabs between"
            )
        key = Key(*map(_unescaped, words))
        if key in known:
            raise FileError(f"{path}:{number}: this place has a line already")
        known[key] = int(count)
    return Baseline(path, known)


class Compared:
    """Leaks beside a baseline."""

    def __init__(
        self, baseline: Baseline, groups: Sequence[LeakGroup]
    ) -> None:
        self.path = baseline.path
        self.known = baseline.known
        self.found = counts(groups)
        self.new = sum(
            max(n - self.known.get(key, 0), 0)
            for key, n in self.found.items()
        )
        self.old = sum(self.found.values()) - self.new

    def known_of(self, group: LeakGroup) -> int:
        """How many the baseline has in the place of a group."""
        return self.known.get(key_of(group), 0)

    def found_of(self, group: LeakGroup) -> int:
        """How many there are in that place, which several lines may have."""
        return self.found[key_of(group)]

    def has_grown(self, group: LeakGroup) -> bool:
        return self.found_of(group) > self.known_of(group)

    def shrunk(self) -> list[tuple[Key, int, int]]:
        """Places that have fewer than the baseline says: both numbers."""
        return [
            (key, n, self.found.get(key, 0))
            for key, n in sorted(self.known.items())
            if n > self.found.get(key, 0)
        ]


# --------------------------------------------------------------------- files


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(char, char) for char in text)


def _unescaped(text: str) -> str:
    back = {escape: char for char, escape in _ESCAPES.items()}
    return re.sub(r"\\.", lambda m: back.get(m[0], m[0]), text)


def _text(path: str) -> str:
    """The text of a regular file of a sensible size: a pipe may never end."""
    try:
        # Opening a pipe must not wait for its other end.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError(f"cannot read {path}: it is no regular file")
            data = file.read(_MAX_FILE + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"cannot read {path}: {reason}") from None
    if len(data) > _MAX_FILE:
        raise FileError(f"cannot read {path}: it has more than 16 MiB")
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def _first_line(path: str) -> str:
    return _text(path).split("\n", 1)[0].rstrip()


def _lines(path: str) -> list[tuple[int, str]]:
    """Numbered from 1, without comments and empty ones."""
    lines = enumerate(_text(path).split("\n"), 1)
    return [
        (number, line)
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]

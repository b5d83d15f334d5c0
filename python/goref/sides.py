# SPDX-License-Identifier: Apache-2.0
"""The two things that diff compares, as they stand on the command line. Pure:
never imports gdb."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from . import args, elf


class Side(NamedTuple):
    """How one of them is opened.

    source: the words that name it behind `goref'.
    pid: of a process.
    is_open: gdb looks at it; nothing is opened.
    files: none of them may be written over; the core is the last one."""

    source: tuple[str, ...]
    pid: int | None = None
    files: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def name(self) -> str:
        """For a line to a person."""
        if self.pid is not None:
            return f"process {self.pid}"
        return elf.shown(self.files[-1])


def _take(words: Sequence[str], what: str) -> tuple[Side, int]:
    """The side that begins with the first word, and how many words it has."""
    first = words[0]
    if first.isascii() and first.isdigit():
        pid = args.process_number(first)
        if pid is None:
            raise args.UsageError(f"{what}: {first} is not a process number")
        return Side(("attach", first), pid=pid), 1
    if elf.is_core(first) or elf.how_packed(first) or elf.how_cut(first):
        return Side(("core", first), files=(first,)), 1
    if os.path.isfile(first) and not elf.is_elf(first):
        return Side(("open", first), files=(first,)), 1
    if not elf.is_elf(first):
        raise args.UsageError(_why_not(first, what))
    return Side(("core", *words[:2]), files=_pair(words, what)), 2


def _pair(words: Sequence[str], what: str) -> tuple[str, str]:
    """An executable and its core."""
    exe, *rest = words
    name = elf.shown(exe)
    if not rest:
        raise args.UsageError(
            f"{what}: {name} is an executable: add its core behind it"
        )
    core = rest[0]
    if elf.is_core(core) or elf.how_packed(core) or elf.how_cut(core):
        return exe, core
    is_pid = core.isascii() and core.isdigit()
    if not is_pid and not os.path.isfile(core):
        raise args.UsageError(_why_not(core, what))
    raise args.UsageError(
        f"{what}: {name} is an executable, and {elf.shown(core)} is not a "
        f"core: add the core behind {name}, or leave {name} out"
    )


def _why_not(word: str, what: str) -> str:
    name = elf.shown(word)
    try:
        os.stat(word)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no name of a file"
        return f"{what}: {name}: {reason}"
    return f"{what}: {name} is neither a file nor a PID"


def parse(
    words: Sequence[str], loaded: Side | None = None
) -> tuple[Side, Side]:
    """The two sides that the words name: each is a core, with or without its
    executable before it, a saved file, or the number of a process. UsageError:
    they do not. loaded: NEW, if the words name only one."""
    if not words:
        raise args.UsageError("no OLD given")
    old, count = _take(words, "OLD")
    rest = words[count:]
    if not rest and loaded:
        return old, loaded
    if not rest:
        both = " and ".join(map(elf.shown, old.files))
        is_pair = len(old.files) > 1
        raise args.UsageError(
            f"no NEW given: {both} are OLD" if is_pair else "no NEW given"
        )
    new, count = _take(rest, "NEW")
    if len(rest) > count:
        raise args.UsageError(
            f"OLD and NEW are given, {elf.shown(rest[count])} is one too many"
        )
    return old, new

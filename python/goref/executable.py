# SPDX-License-Identifier: Apache-2.0
"""Finds the executable that a core comes from. Never imports gdb.

A core is untrusted input. goref reads a bounded part of it. It may name
files: goref opens only regular ones, to compare their build ids, and runs
none of them."""

import os
from contextlib import suppress
from typing import NamedTuple

from . import elf, shell
from .elf import shown


class NotFoundError(Exception):
    """There is no such executable, or only a wrong one; str() is one line."""


class Found(NamedTuple):
    path: str
    warning: str = ""


class Origin(NamedTuple):
    """path: the executable as the kernel knew it; identity: its build ids from
    memory, empty if the core lacks that page."""

    path: str
    identity: frozenset[elf.Note]


def _origin(core: str) -> Origin | None:
    """None: the core does not name its executable, or is no core."""
    from . import native  # only needed here

    goref = native.load()
    try:
        facts = goref.core_facts(core)
    except goref.FormatError:
        return None
    except (goref.FileError, goref.ArchitectureError) as problem:
        raise NotFoundError(str(problem)) from None
    if facts.exe_path is None:
        return None
    return Origin(facts.exe_path, elf.ids_of(facts))


def _agree(
    one: frozenset[elf.Note], other: frozenset[elf.Note]
) -> bool | None:
    """Are two sets of build ids of one program? None: they have no kind in
    common."""
    mine = {note[:2]: note[2] for note in one}
    pairs = [(mine[n[:2]], n[2]) for n in other if n[:2] in mine]
    return all(a == b for a, b in pairs) if pairs else None


def _ids(one: frozenset[elf.Note], other: frozenset[elf.Note]) -> str:
    """The ids that differ between two sets that do not agree."""
    mine = {note[:2]: note[2] for note in one}
    for note in sorted(other):
        theirs, ours = note[2], mine.get(note[:2])
        if ours is not None and ours != theirs:
            is_hex = note[0] == b"GNU"
            return ", ".join(
                i.hex()[:40] if is_hex else shown(i.decode("latin-1"))[:24]
                for i in (ours, theirs)
            )
    return "?, ?"


def _beside(core: str, name: str) -> list[str]:
    """The places to which the file may have been copied with the core."""
    base = os.path.basename(name)
    places = []
    for folder in (os.path.dirname(core), "."):
        with suppress(OSError):  # the current folder was removed
            places.append(os.path.abspath(os.path.join(folder, base)))
    return list(dict.fromkeys(places))


def find(core: str) -> Found:
    """The executable of a core. Elsewhere than where the core names it, only
    a file with the same build id is one."""
    origin = _origin(core)
    give = f"give it: `{shell.command('core', 'EXE', shown(core))}'"
    if origin is None:
        raise NotFoundError(
            f"{shown(core)} does not name its executable: {give}"
        )
    name = shown(origin.path)
    wrong = None
    for path in [origin.path, *_beside(core, origin.path)]:
        if not path.isprintable() or not os.path.isabs(path):
            continue
        if not elf.is_elf(path):
            continue
        known = elf.identity(path)
        agree = _agree(known, origin.identity)
        if agree:
            return Found(path)
        if agree is None and path == origin.path:
            return Found(
                path,
                f"no build id shows that {path} is the program of "
                f"{shown(core)}",
            )
        if agree is False and wrong is None:
            wrong = (
                f"{path} is not the program of {shown(core)} (build ids "
                f"{_ids(known, origin.identity)})"
            )
    if wrong:
        raise NotFoundError(f"{wrong}: find the right one and {give}")
    raise NotFoundError(
        f"{shown(core)} needs the executable that it came from, {name}, which "
        f"is not there: {give}"
    )

# SPDX-License-Identifier: Apache-2.0
"""The files that gdb opens because a core or a process names them: libraries,
the loader, mapped files.

Anything may have such a name. At a pipe gdb would wait for ever, deaf to
Ctrl-C, and opening a device may have effects. So gdb finds none of these files
at first, and the libraries only if all of them are regular files."""

import os
import re
import stat
from collections.abc import Iterator

import gdb

from . import elf, target

_NOWHERE = "/dev/null"  # below which there is no file
_HEADER = re.compile(r"^From .*(?=Shared Object Library$)", re.M)


def hide() -> str:
    """From here on gdb finds no file that the target names. Returns the
    sysroot with which it would."""
    sysroot = gdb.parameter("sysroot")
    gdb.execute(f"set sysroot {_NOWHERE}", to_string=True)
    return str(sysroot or "")


def _listed() -> Iterator[str]:
    """The libraries that the target names."""
    text = target.said_by("info sharedlibrary")
    header = _HEADER.search(text)
    if header:
        for line in text[header.end() :].splitlines():
            yield line[len(header[0]) :]


def _is_special(path: str) -> bool:
    """Is something there that is no regular file?"""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def why_hidden(exe: str) -> str | None:
    """Why no library may be opened; None if all may be. Empty if there are
    none to open.

    exe: the executable, which names the loader."""
    listed = list(_listed())
    loader = elf.loader(exe)
    special = next(filter(_is_special, filter(None, [*listed, loader])), "")
    if special:
        return f"{elf.shown(special)} is not a regular file"
    if loader is not None:
        return None
    # A crafted core may give any name to the loader of a static program.
    return "the executable has no section .interp" if listed else ""

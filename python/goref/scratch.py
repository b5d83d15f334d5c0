# SPDX-License-Identifier: Apache-2.0
"""Temporary files of one answer. They have no name, so the kernel removes them
however this process ends. Pure: never imports gdb."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

from .interrupt import Owned

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _folders() -> list[str]:
    """The folders to try, best first. Python's tempfile.gettempdir() would
    create a file with a name in each of them."""
    given = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return [*filter(None, given), "/tmp", "/var/tmp", "."]


def _path(file: IO[bytes]) -> str:
    return f"/proc/self/fd/{file.fileno()}"


def _create(folder: str) -> tuple[IO[bytes], str]:
    """A file, and a path that leads to it. The file has a name only if there
    is no /proc."""
    file: IO[bytes] = tempfile.TemporaryFile(prefix="goref-", dir=folder)
    if os.path.exists(_path(file)):
        return file, _path(file)
    file.close()
    named = tempfile.NamedTemporaryFile(prefix="goref-", dir=folder)
    return named, named.name


def _create_somewhere() -> tuple[IO[bytes], str]:
    problem: OSError | None = None
    for folder in _folders():
        try:
            return _create(folder)
        except OSError as why:
            problem = problem or why
    assert problem
    raise problem


@contextmanager
def files(count: int) -> Iterator[list[str]]:
    """A context with new files that only this user can open; gives their
    paths, which are valid in this process only. The files are gone at the end,
    even if a signal ends the process."""
    with ExitStack() as opened:
        paths = []
        for _ in range(count):
            # Without /proc, a file has a name, which a signal could leave.
            with Owned(_ENDING):
                file, path = _create_somewhere()
                opened.callback(file.close)
                paths.append(path)
        yield paths

# SPDX-License-Identifier: Apache-2.0
"""A folder for the files of one answer. Pure: never imports gdb."""

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from .interrupt import Owned

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _parent() -> str:
    """The folder for temporary files. Python tries it with a file of its own,
    which a signal would leave there."""
    with Owned(_ENDING):
        return tempfile.gettempdir()


@contextmanager
def folder(what: str) -> Iterator[str]:
    """A context with a new folder that only this user can read. The folder is
    gone at the end, even if a signal is the reason.

    what: the folder is called goref-WHAT-..."""
    # It has its name before it exists: a signal between leaves nothing.
    name = f"goref-{what}-{secrets.token_hex(8)}"
    path = os.path.join(_parent(), name)
    try:
        os.mkdir(path, 0o700)
        yield path
    finally:
        try:
            shutil.rmtree(path, ignore_errors=True)
        except BaseException:  # a signal has cut it short
            shutil.rmtree(path, ignore_errors=True)
            raise

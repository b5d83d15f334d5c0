# SPDX-License-Identifier: Apache-2.0
"""Names of files."""

import os

from .errors import Error


def check(path: str) -> None:
    """Raise an Error if a name is not UTF-8: profiles have no other text."""
    shown = path.encode("utf-8", "surrogateescape")
    try:
        shown.decode()
    except UnicodeDecodeError:
        name = shown.decode("utf-8", "backslashreplace")
        raise Error(
            f"goref: {name}: the name is not UTF-8: rename it or link to it"
        ) from None


def absolute(path: str) -> str:
    """The absolute name. Error: the current folder is gone."""
    try:
        return os.path.abspath(path)
    except OSError as problem:
        raise Error(f"goref: {path}: {problem.strerror}") from None


def check_readable(path: str) -> None:
    """Raise an Error if the file cannot be read."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as problem:
        raise Error(f"goref: {path}: {problem.strerror}") from None


def real_name(path: str) -> str:
    """The name of a file without links. A link of /proc may have a name that
    leads to no file or to another one: the file was deleted, or the process
    sees other mounts. Such a link stays."""
    real = os.path.realpath(path)
    try:
        return real if os.path.samefile(real, path) else path
    except OSError:
        return path

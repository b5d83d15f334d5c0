# SPDX-License-Identifier: Apache-2.0
"""Loads the native half, once."""

from __future__ import annotations

import os
import sys

from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_lib_dir: str | None = None
_libexec_dir: str | None = None
_module: ModuleType | None = None

FILE = "_goref.abi3.so"


def set_dirs(lib_dir: str, libexec_dir: str) -> None:
    global _lib_dir, _libexec_dir
    _lib_dir, _libexec_dir = lib_dir, libexec_dir


def has_dirs() -> bool:
    return _lib_dir is not None


def _find(folder: str | None, name: str) -> str | None:
    """The file of that name: in a folder that was set, or else in the package,
    or beside it on Python's path."""
    package = os.path.dirname(os.path.abspath(__file__))
    for folder in [folder] if folder else [package, *sys.path]:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def program(name: str) -> str | None:
    """The path of a program that runs beside goref, or None."""
    return _find(_libexec_dir, name)


def _import(path: str) -> ModuleType:
    import importlib.machinery
    import importlib.util

    loader = importlib.machinery.ExtensionFileLoader("_goref", path)
    spec = importlib.util.spec_from_file_location(
        "_goref", path, loader=loader
    )
    assert spec
    flags = sys.getdlopenflags()
    if "gdb" in sys.modules:
        # gdb's process holds libdw, which has 34 functions of libdwarf's
        # names: bound to those, a walk of the DIEs would see next to nothing.
        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    finally:
        sys.setdlopenflags(flags)
    return module


def load() -> Any:
    """The module _goref; Error in one line if it cannot be had."""
    global _module
    if _module:
        return _module
    path = _find(_lib_dir, FILE)
    if not path:
        where = _lib_dir or "Python's path"
        raise Error(f"goref: no {FILE} in {where}: not built?")
    try:
        _module = _import(path)
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise Error(f"goref: cannot load {path}: {reason}") from None
    return _module

# SPDX-License-Identifier: Apache-2.0
"""Loads the native module _goref, once."""

from __future__ import annotations

import os
import sys

from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_module: ModuleType | None = None
_PACKAGE = os.path.dirname(os.path.abspath(__file__))

FILE = "_goref.abi3.so"


def python_path() -> str:
    """The folder that Python's path needs for `import goref'."""
    return os.path.dirname(_PACKAGE)


def _find(name: str) -> str | None:
    """The path of a built file. An installation has it in the package, a build
    folder beside the package."""
    for folder in (_PACKAGE, python_path()):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def program(name: str) -> str | None:
    """The path of a program that goref runs, or None."""
    return _find(name)


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
    """The module _goref. Error: it is missing or cannot be loaded."""
    global _module
    if _module:
        return _module
    path = _find(FILE)
    if not path:
        raise Error(
            f"goref: no {FILE} in {_PACKAGE}: set PYTHONPATH to what `goref "
            "--python-path' prints, or install goref again"
        )
    try:
        _module = _import(path)
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise Error(f"goref: cannot load {path}: {reason}") from None
    return _module

# SPDX-License-Identifier: Apache-2.0
"""Loads the native half, once, the way it must be loaded inside gdb."""

import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

import gdb

_lib_dir: str | None = None
_module: ModuleType | None = None

FILE = "_goref.abi3.so"


def set_lib_dir(path: str) -> None:
    global _lib_dir
    _lib_dir = path


def lib_file(name: str) -> str | None:
    """The path of a file installed beside the module, or None."""
    dirs = [_lib_dir] if _lib_dir else sys.path
    for folder in dirs:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def _import(path: str) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader("_goref", path)
    spec = importlib.util.spec_from_file_location(
        "_goref", path, loader=loader
    )
    assert spec
    # gdb's process holds libdw, which has 34 functions of libdwarf's names:
    # bound to those, a walk of the DIEs would see next to nothing.
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    finally:
        sys.setdlopenflags(flags)
    return module


def load() -> Any:
    """The module _goref; gdb.GdbError in one line if it cannot be had."""
    global _module
    if _module:
        return _module
    path = lib_file(FILE)
    if not path:
        where = _lib_dir or "Python's path"
        raise gdb.GdbError(f"goref: no {FILE} in {where}: not built?")
    try:
        _module = _import(path)
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise gdb.GdbError(f"goref: cannot load {path}: {reason}") from None
    return _module

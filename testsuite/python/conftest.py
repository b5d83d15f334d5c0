# SPDX-License-Identifier: Apache-2.0
"""Tests of goref's Python that need no gdb.

They run under plain /usr/bin/python3, with the native half from the build
folder that GOREF_BUILD_DIR names (./build by default).
"""

import importlib.machinery
import importlib.util
import os
import sys
import types
from pathlib import Path

import pytest

from rows import Maker

TOP = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "python"))


@pytest.fixture(scope="session")
def goref():
    """The module _goref."""
    build = Path(os.environ.get("GOREF_BUILD_DIR", TOP / "build"))
    file = build / "_goref.abi3.so"
    assert file.exists(), f"{file} is not there: build first"
    loader = importlib.machinery.ExtensionFileLoader("_goref", str(file))
    spec = importlib.util.spec_from_loader("_goref", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def native_half(goref):
    """The module _goref is what the Python code gets from native.load()."""
    sys.modules.setdefault("gdb", types.ModuleType("gdb"))
    from goref import native

    native._module = goref
    return goref


@pytest.fixture(scope="session")
def make(goref):
    """Makes rows (rows.py)."""
    return Maker(goref)

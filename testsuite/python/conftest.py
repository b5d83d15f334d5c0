# SPDX-License-Identifier: Apache-2.0
"""Tests of goref's Python that need no gdb.

They run under plain /usr/bin/python3, with the native half from the build
folder that GOREF_BUILD_DIR names (./build by default).
"""

import os
import sys
from pathlib import Path

import pytest

from rows import Maker

TOP = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
BUILD = os.environ.get("GOREF_BUILD_DIR", str(TOP / "build"))
sys.path.insert(0, f"{BUILD}/python")

from goref import native
from goref.render.report import Report


@pytest.fixture(scope="session")
def goref():
    """The module _goref."""
    return native.load()


@pytest.fixture(scope="session")
def make(goref):
    """Makes rows (rows.py)."""
    return Maker(goref)


@pytest.fixture(scope="session", autouse=True)
def documents():
    """Each report of the tests so far, with the keys of its document."""
    found = []
    keys = Report._keys

    def noting_keys(report):
        found.append((report, keys(report)))
        return found[-1][1]

    Report._keys = noting_keys
    yield found
    Report._keys = keys


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """The documents of all other tests come before those that look at them."""
    items.sort(key=lambda item: "documents" in item.function.__code__.co_varnames)

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



@pytest.fixture(scope="session")
def goref():
    """The module _goref."""
    return native.load()


@pytest.fixture(scope="session")
def make(goref):
    """Makes rows (rows.py)."""
    return Maker(goref)

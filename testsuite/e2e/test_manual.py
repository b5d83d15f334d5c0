# SPDX-License-Identifier: Apache-2.0
"""The manual pages, as the build has made them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from session import TOP, environment

sys.path.insert(0, str(TOP / "python"))

from goref.verbs import SOURCES, STANDALONE, VERBS

MANUAL = Path(environment()["GOREF_BUILD_DIR"]) / "manual"
ITEMS = {**SOURCES, **VERBS, **STANDALONE}


def need(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")


def pages():
    return ["goref.1", *(f"goref-{name}.1" for name in ITEMS)]


def test_all_pages_are_there():
    assert sorted(p.name for p in MANUAL.glob("*.1")) == sorted(pages())
    listed = re.findall(r"manual/(\S+\.1)", (TOP / "Makefile.am").read_text())
    assert sorted(listed) == sorted(pages())


@pytest.mark.parametrize("name", pages())
def test_page_is_sound(name):
    need("man")
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", MANUAL / name],
        capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80",
                                             "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    text = " ".join(done.stdout.split()).replace("\u2010 ", "")
    assert name.removesuffix(".1").upper() + "(1)" in text
    assert "EXIT STATUS" in text
    item = ITEMS.get(name.removesuffix(".1").removeprefix("goref-"))
    if item:
        for option in item.options:
            assert f"--{option.name}" in text
        assert item.text.split()[0] in text
    # Nothing of roff's own is left, and nothing was taken for it.
    assert not re.search(r"\\f|\\-|\.PP|\.TP", text)
    if item and item.details:
        assert item.details.split()[-1] in text


@pytest.mark.parametrize("name", pages())
def test_page_passes_mandoc(name):
    need("mandoc")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", MANUAL / name],
        capture_output=True, text=True,
    )  # fmt: skip
    said = [x for x in done.stdout.splitlines() if "missing date" not in x]
    assert not said

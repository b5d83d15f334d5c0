# SPDX-License-Identifier: Apache-2.0
"""Newer releases of Python warn of sources that older ones only deprecate."""

import warnings
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
FOLDERS = ["bench", "build-aux", "debian", "python", "testsuite"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_sources_compile_without_a_warning(folder):
    if not (TOP / folder).exists():
        pytest.skip("not in this tree")
    files = sorted((TOP / folder).rglob("*.py"))
    assert files
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file in files:
            compile(file.read_bytes(), file, "exec")

# SPDX-License-Identifier: Apache-2.0
"""Each pattern of quick.py is of tests that there are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import quick

HERE = Path(__file__).parent


def collected():
    """The names of tests, by file."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "--quick",
         *(HERE / name for name in quick.TESTS)],
        capture_output=True,
        text=True,
        env={**os.environ, "GOREF_RELEASES": quick.RELEASE},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        path, _, name = line.partition("::")
        found.setdefault(Path(path).name, []).append(name)
    return found


def test_each_pattern_is_of_a_test():
    found = collected()
    lost = [
        (file, name)
        for file, names in quick.TESTS.items()
        for name in names.split()
        if not any(re.search(name, test) for test in found.get(file, ()))
    ]
    assert not lost

# SPDX-License-Identifier: Apache-2.0
"""The newest Delve of Debian's suites, and its answers on a core."""

import functools
import os
import subprocess

import pytest

from toolchains import TESTSUITE


@functools.lru_cache(maxsize=None)
def delve():
    """(version, path) of Delve, or the reason why there is none."""
    done = subprocess.run(
        [TESTSUITE / "fetch-go", "delve"], capture_output=True, text=True
    )
    words = done.stdout.split()
    if len(words) == 3 and words[0] == "delve":
        return words[1], words[2]
    return done.stdout.strip() or done.stderr[-200:]


def run_delve(target, folder, commands):
    """The output of Delve on a core; skips without Delve."""
    found = delve()
    if isinstance(found, str):
        pytest.skip(found)
    init = folder / "init"
    init.write_text("".join(f"{line}\n" for line in [*commands, "exit"]))
    return subprocess.run(
        [found[1], "core", target.exe, target.core, "--init", init,
         "--allow-non-terminal-interactive=true", "--check-go-version=false"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env={**os.environ, "HOME": str(folder), "TERM": "dumb"},
        timeout=180,
    )  # fmt: skip

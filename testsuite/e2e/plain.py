# SPDX-License-Identifier: Apache-2.0
"""Scripts in plain Python, with goref of a build that is not installed."""

import json
import os
import subprocess
import textwrap

from session import TIMEOUT, environment, run_cli

PYTHON = "/usr/bin/python3"


def python_path():
    """The folders that PYTHONPATH needs."""
    done = run_cli(["--python-path"])
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


def run_plain(text, *words, python=PYTHON, path=None, env=None):
    """Run a script; path: what PYTHONPATH is to be; empty: not set."""
    settings = {**environment(), **(env or {})}
    settings.pop("PYTHONPATH", None)
    path = python_path() if path is None else str(path)
    if path:
        settings["PYTHONPATH"] = path
    return subprocess.run(
        [python, "-c", textwrap.dedent(text), *map(str, words)],
        capture_output=True, text=True, env=settings, timeout=TIMEOUT,
        stdin=subprocess.DEVNULL, cwd=os.path.dirname(settings["XDG_CACHE_HOME"]),
    )  # fmt: skip


def told(text, *words, **options):
    """The output of a script, parsed as JSON."""
    done = run_plain(text, *words, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)

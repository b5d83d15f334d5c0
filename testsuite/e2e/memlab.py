# SPDX-License-Identifier: Apache-2.0
"""What memlab reads in a snapshot of V8. It is installed once, from the
versions in readers/memlab, without the browser that it could drive."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from toolchains import cache_dir

FILES = Path(__file__).parent / "readers" / "memlab"


def _folder():
    lock = (FILES / "package-lock.json").read_bytes()
    return cache_dir() / f"memlab-{hashlib.sha256(lock).hexdigest()[:16]}"


def _install(folder):
    """@return why it cannot be installed, or None."""
    made = folder / "node_modules" / "@memlab"
    if made.exists():
        return None
    folder.mkdir(exist_ok=True)
    for file in FILES.iterdir():
        shutil.copy(file, folder)
    done = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"},
    )
    return None if done.returncode == 0 else f"no memlab: {done.stderr[-300:]}"


def reason():
    """Why nothing can be read here, or None."""
    if not shutil.which("npm"):
        return "no npm: apt-get install npm"
    folder = _folder()
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _install(folder)


def read(path):
    """The nodes, in their order."""
    folder = _folder()
    shutil.copy(FILES / "read.js", folder)
    done = subprocess.run(
        ["node", "--max-old-space-size=4096", "read.js", path],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]

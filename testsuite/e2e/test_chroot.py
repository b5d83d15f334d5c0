# SPDX-License-Identifier: Apache-2.0
"""A service in a folder of its own, as by chroot(8): it has no /proc, from
which the C library would learn where the first thread's stack begins. The
runtime then has a lower bound that makes no sense."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from session import run_cli
from targets import attach_reason, skip_if, start
from toolchains import build, variants


# A mount and a pid namespace, too.
UNSHARED = ["unshare", "-mp", "--kill-child"]


def chroot_reason():
    if os.geteuid():
        return "only root may chroot"
    if not shutil.which("chroot") or not shutil.which("ldd"):
        return "no chroot or ldd"
    return attach_reason()


def furnish(folder, exe, is_stripped):
    """Copy an executable and its libraries into a folder."""
    shutil.copy(exe, folder / "service")
    if is_stripped:
        subprocess.run(["strip", folder / "service"], check=True)
    said = subprocess.run(["ldd", exe], capture_output=True, text=True)
    for name in re.findall(r"(/\S+)", said.stdout):
        if Path(name) != exe and Path(name).is_file():
            place = folder / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, place)


@pytest.mark.parametrize("is_stripped", [False, True])
@pytest.mark.parametrize("unshared", [[], UNSHARED])
@variants(newest=("default", "cgo"))
def test_service_without_proc(variant, is_stripped, unshared, tmp_path):
    skip_if(chroot_reason())
    program = "cgo" if variant.flavour == "cgo" else "rest"
    exe = build(program, variant.release, variant.flavour)
    furnish(tmp_path, exe, is_stripped)
    command = [*unshared, "chroot", str(tmp_path), "/service"]
    process = start(shutil.which(command[0]), command[1:])
    try:
        pid = service_of(process.pid, tmp_path)
        assert pid, "no process has that folder as its root"
        done = run_cli(
            ["attach", pid, "verify", "--json"],
            env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
        )
        assert done.returncode == 0, done.stderr
        verdict = json.loads(done.stdout)
        assert verdict["unexplained"] == verdict["missed_pointers"] == 0
        done = run_cli(["attach", pid, "goroutines"])
        assert done.returncode == 0, done.stderr
        assert "Goroutine 1 - " in done.stdout
    finally:
        process.stop()


def service_of(pid, root):
    """The process below PID whose root is the folder."""
    for number in [pid, *children(pid)]:
        if os.path.realpath(f"/proc/{number}/root") == str(root.resolve()):
            return number
    return None


def children(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()]

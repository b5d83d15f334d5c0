# SPDX-License-Identifier: Apache-2.0
"""Runs of goref-snapshot, and what is to be seen of a process from outside."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from session import environment
from waiting import LONGEST_S, again, looks

NOBODY = 65534
MASK_LOOKS = 200
HELPER = Path(environment()["GOREF_BUILD_DIR"]) / "goref-snapshot"

PAUSE = """
#include <unistd.h>
int main(void)
{
	write(1, "r", 1);
	for (;;)
		pause();
}
"""

_FUTEX = "202"  # the number of the call on x86-64


@functools.cache
def _folder_for_others():
    folder = tempfile.mkdtemp(prefix="goref-e2e-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    return Path(folder)


@functools.cache
def for_others(program):
    """A copy of a program that every user can run: build and cache may lie in
    a folder that only we can enter."""
    copy = Path(shutil.copy(program, _folder_for_others()))
    copy.chmod(0o755)
    return copy


class Helper:
    """A run of goref-snapshot, up to its answer."""

    def __init__(self, pid, *more, user=None):
        program = HELPER if user is None else for_others(HELPER)
        self.popen = subprocess.Popen(
            [str(program), str(pid), *map(str, more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            user=user,
        )
        self.said = {}
        self.threads = []
        self.is_ready = False
        for line in self.popen.stdout:
            key, _, rest = line.rstrip("\n").partition(" ")
            self.said[key] = rest
            if key == "thread":
                self.threads.append(rest.split())
            if key in ("ready", "refused"):
                break
        self.is_ready = "ready" in self.said

    @property
    def copy(self):
        return int(self.said["copy"])

    def end(self):
        """Status; what it leaves is seen afterwards."""
        self.popen.stdin.close()
        rest = self.popen.stdout.read()
        self.popen.stdout.close()
        self.popen.stderr.close()
        self.said.update(
            line.split(" ", 1) for line in rest.splitlines() if " " in line
        )
        return self.popen.wait(timeout=LONGEST_S)


def tried(pid, user=None):
    """A run of the helper, which is begun again if a thread is late."""
    return again(
        lambda: Helper(pid, user=user),
        lambda helper: helper.said.get("refused", ""),
    )


def copied(pid, user=None):
    """A run that has copied a process."""
    helper = tried(pid, user)
    assert helper.is_ready, helper.said
    return helper


def refusal(pid, *more, user=None):
    """The one line with which it is refused."""
    helper = Helper(pid, *more, user=user)
    assert helper.end() == 1, helper.said
    assert list(helper.said) == ["refused"]
    return helper.said["refused"]


def status_of(pid, key):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return line.split(":", 1)[1].strip()
    return None


def signal_masks(pid, wanted=lambda _: True):
    """{thread: the signals that it blocks at all times}: the handlers of Go's
    runtime block all signals while they run, which may take long on a busy
    machine. It looks until the masks are the wanted ones, or for too long."""
    masks = {}
    for i, _ in enumerate(looks(), 1):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                mask = int(status_of(f"{pid}/task/{tid}", "SigBlk"), 16)
                masks[tid] = masks.get(tid, mask) & mask
        if i >= MASK_LOOKS and wanted(masks):
            break
    return masks


def block_no_more(masks, before):
    """Does each thread of before block only what it blocked?"""
    return masks.keys() >= before.keys() and not any(
        masks[tid] & ~mask for tid, mask in before.items()
    )


def waits_in_futex(pid):
    """Do all its threads wait in a futex?"""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return all((t / "syscall").read_text().split()[0] == _FUTEX for t in tasks)


def children(pid):
    """All processes whose parent it is, dead ones too."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append((int(entry.name), stat))
    return found


class Steady:
    """A process that checks its own work."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid

    def ask(self, text="status"):
        self.process.popen.stdin.write(text.encode() + b"\n")
        self.process.popen.stdin.flush()
        return json.loads(self.process.read_line())

    def goes_on(self):
        before, end = self.ask()["rounds"], time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            if self.ask()["rounds"] > before + 100:
                return True
            time.sleep(0.02)
        return False

# SPDX-License-Identifier: Apache-2.0
"""Cores that are kept: each is made once, and goes with its lock."""

import os
import threading

import pytest

import kept_cores
from waiting import comes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cores"
    path.mkdir()
    monkeypatch.setattr(kept_cores, "folder", lambda: path)
    monkeypatch.setattr(kept_cores, "is_whole", lambda core: True)
    return path


@pytest.fixture
def find(tmp_path):
    """find(): the core, as a user has it who makes it if there is none."""
    users, made = [], []

    def make():
        made.append(tmp_path / f"made{len(made)}")
        made[-1].mkdir()
        (made[-1] / "core").write_text("a core")
        return made[-1] / "core", {"held": 1}, made[-1]

    def find():
        users.append(kept_cores.Kept())
        core, truth = users[-1].find("rest", make)
        assert core.read_text() == "a core" and truth == {"held": 1}
        return users[-1], len(made)

    yield find
    for user in users:
        user.close()


def grow_old(folder):
    for path in folder.iterdir():
        os.utime(path, (0, 0))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_core_goes_with_its_lock(folder, find):
    user, made = find()
    assert made == 1 and find()[1] == 1
    grow_old(folder)
    kept_cores.sweep()  # two use it
    assert names(folder) == ["rest", "rest.lock"]
    user.close()
    kept_cores.sweep()
    assert names(folder) == ["rest", "rest.lock"]


def test_unused_core_goes(folder, find):
    find()[0].close()
    kept_cores.sweep()  # it is new
    assert names(folder) == ["rest", "rest.lock"]
    grow_old(folder)
    (folder / "gone.lock").touch()
    kept_cores.sweep()
    assert not names(folder)
    assert find()[1] == 2


def test_another_run_sweeps(folder, monkeypatch):
    """A core goes while its size is looked at."""
    (folder / "rest").mkdir()
    (folder / "rest" / "core").touch()
    whole = kept_cores.disk_bytes

    def disk_bytes(path):
        (path / "core").unlink(missing_ok=True)
        path.rmdir()
        return whole(path)

    monkeypatch.setattr(kept_cores, "disk_bytes", disk_bytes)
    kept_cores.sweep()
    assert not names(folder)


def test_who_waits_for_a_lock_that_goes(folder, find):
    """It takes the lock of that name which is there then."""
    find()[0].close()
    lock = folder / "rest.lock"
    with open(lock) as holder:
        kept_cores.fcntl.flock(holder, kept_cores.fcntl.LOCK_EX)
        found = []
        waiter = threading.Thread(target=lambda: found.append(find()))
        waiter.start()
        assert comes(lambda: is_waited_for(lock))
        lock.unlink()
    waiter.join()
    assert found and lock.exists()
    grow_old(folder)
    kept_cores.sweep()
    assert names(folder) == ["rest", "rest.lock"]


def is_waited_for(path):
    """Does someone wait for a lock of the file, as the kernel sees it?"""
    inode = f":{path.stat().st_ino} "
    with open("/proc/locks") as file:
        return any("->" in line and inode in line for line in file)


def test_program_that_is_built_again(tmp_path):
    """Another C compiler gives it another build id."""

    def key(text):
        kept_cores.contents.cache_clear()
        exe = tmp_path / "rest-go1.24-cgo-0" / "rest"
        exe.parent.mkdir(exist_ok=True)
        exe.write_text(text)
        return kept_cores.key(exe, (), None, "kernel")

    assert key("one") == key("one") != key("two")

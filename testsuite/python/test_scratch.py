# SPDX-License-Identifier: Apache-2.0
"""The files of one answer have no name and are gone at the end, whenever a
signal comes."""

import os
import signal
import tempfile

import pytest

from goref import scratch


class Ended(BaseException):
    """The error that a handler raises, as that of ended.py does."""


def raise_ended(_number, _frame):
    raise Ended


@pytest.fixture(autouse=True)
def handlers():
    before = [
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, raise_ended),
    ]
    before = [(n, signal.signal(n, handler)) for n, handler in before]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def parent(monkeypatch, tmp_path):
    """The folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["nameless", "without O_TMPFILE", "without /proc"])
def way(request, monkeypatch):
    """Both the kernel's way, and what is done where it is missing."""
    if request.param != "nameless":
        monkeypatch.setattr(tempfile, "_O_TMPFILE_WORKS", False)
    if request.param == "without /proc":
        monkeypatch.setattr(scratch, "_path", lambda _file: "/none")
    return request.param


def fds():
    return sorted(os.listdir("/proc/self/fd"))


def test_is_there_and_then_gone(parent, way):
    before = fds()
    with scratch.files(2) as paths:
        names = list(parent.iterdir())
        assert len(names) == (2 if way == "without /proc" else 0)
        for path in paths:
            assert os.stat(path).st_mode & 0o777 == 0o600
            with open(path, "w") as file:
                file.write(f"some text for {path}")
        for path in paths:
            with open(path) as file:
                assert file.read() == f"some text for {path}"
    assert not list(parent.iterdir())
    assert fds() == before


def test_module_writes_in_place(goref, parent, way):
    """It replaces files that have names."""
    with scratch.files(1) as (path,):
        for text in (b"a longer text", b"short"):
            goref.check_writable(path)
            goref.write_file(path, text)
            with open(path, "rb") as file:
                assert file.read() == text
    assert not list(parent.iterdir())


def after(call, number):
    """The call, and then a signal, once."""
    left = [number]

    def wrapped(*args, **options):
        result = call(*args, **options)
        if left:
            os.kill(os.getpid(), left.pop())
        return result

    return wrapped


SIGNALS = pytest.mark.parametrize(
    "number, error",
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Ended)],
    ids=["SIGINT", "SIGTERM"],
)


@SIGNALS
@pytest.mark.parametrize("name", ["open", "close", "unlink", "stat"])
def test_signal_after(name, number, error, monkeypatch, parent, way):
    before = fds()
    with monkeypatch.context() as patch, pytest.raises(error):
        patch.setattr(os, name, after(getattr(os, name), number))
        with scratch.files(1) as (path,):
            os.close(os.open(path, os.O_RDONLY))
            os.stat(path)
            other = parent / "other"
            other.touch()
            os.unlink(other)
    assert not list(parent.iterdir())
    assert fds() == before


@SIGNALS
def test_signal_in_the_context(number, error, parent, way):
    with pytest.raises(error), scratch.files(1):
        os.kill(os.getpid(), number)
    assert not list(parent.iterdir())


def test_killed(goref, parent):
    """Nobody is left to remove it."""
    if not (pid := os.fork()):
        with scratch.files(2) as paths:
            goref.write_file(paths[0], b"some text")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert not list(parent.iterdir())


def test_next_folder(monkeypatch, parent):
    monkeypatch.setenv("TMPDIR", str(parent / "none"))
    monkeypatch.setenv("TEMP", str(parent))
    with scratch.files(1) as (path,):
        assert os.readlink(path).startswith(f"{parent}/")


def test_cannot_be_made(monkeypatch, parent):
    monkeypatch.setattr(scratch, "_folders", lambda: [str(parent / "none")])
    with pytest.raises(FileNotFoundError), scratch.files(1):
        pytest.fail("there is no such folder")

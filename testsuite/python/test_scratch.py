# SPDX-License-Identifier: Apache-2.0
"""A folder for the files of one answer is gone at the end, whenever a signal
comes."""

import os
import shutil
import signal
import tempfile

import pytest

from goref import scratch


class Ended(BaseException):
    """What a handler raises, as that of ended.py does."""


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
    """The folder for temporary files, which Python has not tried yet."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_is_there_and_then_gone(parent):
    with scratch.folder("diff") as folder:
        assert os.path.dirname(folder) == str(parent)
        assert os.path.basename(folder).startswith("goref-diff-")
        assert os.stat(folder).st_mode & 0o777 == 0o700
        with open(os.path.join(folder, "a file"), "w") as file:
            file.write("some text")
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
@pytest.mark.parametrize(
    "module, name",
    [
        (os, "open"),
        (os, "close"),
        (os, "mkdir"),
        (os, "listdir"),
        (os, "rmdir"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_signal_after(module, name, number, error, monkeypatch, parent):
    with monkeypatch.context() as patch, pytest.raises(error):
        patch.setattr(module, name, after(getattr(module, name), number))
        with scratch.folder("diff") as folder:
            os.listdir(folder)
    assert not list(parent.iterdir())


@SIGNALS
def test_signal_in_the_context(number, error, parent):
    with pytest.raises(error), scratch.folder("diff"):
        os.kill(os.getpid(), number)
    assert not list(parent.iterdir())


@SIGNALS
def test_signal_before_it_is_removed(number, error, monkeypatch, parent):
    remove, calls = shutil.rmtree, []

    def cut_short(*args, **options):
        calls.append(args)
        if len(calls) == 1:
            os.kill(os.getpid(), number)
        remove(*args, **options)

    with monkeypatch.context() as patch, pytest.raises(error):
        patch.setattr(shutil, "rmtree", cut_short)
        with scratch.folder("diff"):
            pass
    assert not list(parent.iterdir())


def test_cannot_be_made(monkeypatch, parent):
    monkeypatch.setattr(tempfile, "tempdir", str(parent / "none"))
    with pytest.raises(FileNotFoundError), scratch.folder("diff"):
        pytest.fail("there is no such folder")

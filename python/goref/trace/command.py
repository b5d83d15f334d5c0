# SPDX-License-Identifier: Apache-2.0
"""A command that goref starts to trace it from its first moment."""

from __future__ import annotations

import os
import select
import shutil
import signal
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ..errors import Error

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOT_STARTED = 127
_NUMBER = struct.Struct("=i")  # of an error


class CommandError(Error):
    """The command cannot be run, or has ended."""


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A context in which no signal ends us."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _find(word: str) -> str:
    """The path of a command."""
    if not word:
        raise CommandError("goref: the name of the command is empty")
    if "/" not in word:
        path = shutil.which(word)
        if path is None:
            raise CommandError(f"goref: {word}: there is no such command")
        return path
    try:
        mode = os.stat(word).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise CommandError(
            f"goref: {word}: there is no such command"
        ) from None
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise CommandError(f"goref: {word}: {why}") from None
    if stat.S_ISDIR(mode):
        raise CommandError(f"goref: {word}: it is a folder, not a command")
    if not os.access(word, os.X_OK):
        raise CommandError(f"goref: {word}: it is not executable")
    return word


class Command:
    """A child of ours that waits until it may begin its program. If nobody lets
    it, it ends."""

    def __init__(self, words: Sequence[str]) -> None:
        """Raises a CommandError if there is no such program."""
        self.words = list(words)
        self.is_waiting = True
        self._status: int | None = None
        self._has_begun = False
        self._path = _find(words[0])
        wait, self._go = os.pipe()
        # The child's end closes when its own program begins. If that fails,
        # the child writes the number of the error.
        self._begun, begins = os.pipe()
        # A signal in the child must not run our handlers.
        with _undisturbed():
            self.pid = os.fork()
            if not self.pid:
                self._become(wait, begins)
        os.close(wait)
        os.close(begins)

    def _become(self, wait: int, begins: int) -> None:
        """In the child: wait, then run the program."""
        status = _NOT_STARTED
        try:
            os.close(self._go)
            for number in _ENDING:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if os.read(wait, 1):
                os.execv(self._path, self.words)
        except OSError as problem:
            with suppress(OSError):
                os.write(begins, _NUMBER.pack(problem.errno or 0))
        finally:
            os._exit(status)

    def begin(self) -> None:
        """Let it begin its program."""
        with _undisturbed():
            self.is_waiting = False
            with suppress(OSError):
                os.write(self._go, b"g")
            os.close(self._go)

    def has_begun(self) -> bool:
        """Does it run its own program, or has it ended? Raises a CommandError
        if its program could not be run."""
        if not self._has_begun and select.select([self._begun], [], [], 0)[0]:
            self._has_begun = True
            said = os.read(self._begun, _NUMBER.size)
            if len(said) == _NUMBER.size:
                problem = os.strerror(*_NUMBER.unpack(said))
                raise CommandError(f"goref: {self._path}: {problem}")
        return self._has_begun

    def status(self) -> int | None:
        """Its exit status, -N for a signal; None: it runs."""
        if self._status is None:
            with suppress(ChildProcessError):
                found, status = os.waitpid(self.pid, os.WNOHANG)
                if found:
                    self._status = os.waitstatus_to_exitcode(status)
        return self._status

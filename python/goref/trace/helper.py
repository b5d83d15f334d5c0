# SPDX-License-Identifier: Apache-2.0
"""The process goref-trace, which sees the events of another process: starts it,
and reads what it says. doc/internals.md has the protocol."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from .. import native
from ..errors import Error

_HELPER = "goref-trace"
_READ_BYTES = 1 << 18
# Lines that raw records follow, and the bytes of each record.
RECORD_BYTES = {
    "events": 24,
    "samples": 56,
    "kernel": 32,
    "labels": 16,
    "blocks": 72,
    "each": 72,
}
_MOST_RECORDS = 1 << 22  # in one message
_MOST_LINE = 1 << 16  # characters
_ENDING_S = 10.0
_ENDING_SOON_S = 1.0  # if nobody waits for its answer


class Message(NamedTuple):
    """A line of the helper: its first word, the rest, and the raw records that
    follow it."""

    name: str
    rest: str
    records: bytes = b""


class Started(NamedTuple):
    """probes: what is probed, in lines for a person. event_ns: the processor
    time that a page fault costs beyond its own; None: not known. calls_per_s:
    how often the functions of allocators are called; None: not counted.
    call_ns: the processor time that a call in a window costs beyond its own;
    None: not known."""

    probes: list[str]
    event_ns: int | None = None
    calls_per_s: float | None = None
    call_ns: int | None = None

    def with_counted(self, rest: str) -> Started:
        """The words behind `counted'."""
        calls, ns, cost_ns = map(int, rest.split())
        rate = calls * 1e9 / ns if ns else None
        return self._replace(calls_per_s=rate, call_ns=cost_ns or None)


class Damaged(Exception):
    """The helper says what it never says."""


class Silent(Error):
    """The helper does not answer."""


class Decoder:
    """Cuts the helper's output into messages."""

    def __init__(self) -> None:
        self._left = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now. Raises Damaged."""
        self._left += data
        at = 0
        while True:
            end = self._left.find(b"\n", at)
            if end < 0:
                if len(self._left) - at > _MOST_LINE:
                    raise Damaged("a line without an end")
                break
            line = self._left[at:end].decode("utf-8", "backslashreplace")
            name, _, rest = line.partition(" ")
            size = self._record_bytes(name, rest)
            if len(self._left) < end + 1 + size:
                break
            at = end + 1 + size
            yield Message(name, rest, bytes(self._left[end + 1 : at]))
        del self._left[:at]

    @staticmethod
    def _record_bytes(name: str, rest: str) -> int:
        each = RECORD_BYTES.get(name)
        if each is None:
            return 0
        count = int(rest) if rest.isascii() and rest.isdigit() else -1
        if not 0 <= count <= _MOST_RECORDS:
            raise Damaged(f"{name} {rest}")
        return each * count


class Helper:
    """A context in which a helper sees the events of a process. It ends with
    us, however we end: its input ends then."""

    _behind: Sequence[Message] = ()  # what came with an answer, after it

    def __init__(self, pid: int, setup: Sequence[str]) -> None:
        """setup: lines before `start`, which say what to see."""
        path = native.program(_HELPER)
        if not path:
            raise Error(
                f"goref: no {_HELPER}: goref was built without it (configure "
                "--disable-trace); `goref attach PID save FILE' twice and "
                "`goref diff' show growth, too"
            )
        self.pid = pid
        self._words = [path, str(pid)]
        self._setup = setup
        self._decoder = Decoder()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending_s = _ENDING_S

    def __enter__(self) -> Helper:
        self._process = subprocess.Popen(
            self._words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        process = self._process
        if process is None:
            return
        with suppress(OSError):
            assert process.stdin
            process.stdin.close()
        try:
            process.wait(_ENDING_SOON_S if kind else self._ending_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout
        process.stdout.close()

    def start(self, poll: Callable[[], None]) -> Started:
        """Set the probes. poll: called often meanwhile. Raises an Error: it may
        not, or cannot."""
        self._say([*self._setup, "start"])
        started = Started([])
        while True:
            poll()
            messages = self.read(0.1)
            for at, message in enumerate(messages, 1):
                if message.name == "probe":
                    started.probes.append(message.rest)
                elif message.name == "cost_of_event":
                    started = started._replace(event_ns=int(message.rest))
                elif message.name == "counted":
                    started = started.with_counted(message.rest)
                elif message.name == "refused":
                    raise Error(
                        f"goref: cannot trace process {self.pid}: "
                        f"{message.rest}"
                    )
                elif message.name == "ready":
                    self._behind = messages[at:]
                    return started

    def _say(self, lines: Sequence[str]) -> None:
        assert self._process and self._process.stdin
        text = "".join(f"{line}\n" for line in lines)
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except OSError:
            raise self._killed() from None

    def _killed(self) -> Error:
        return Error(
            f"goref: {_HELPER} ended unexpectedly: the trace has no result"
        )

    def tell(self, line: str) -> None:
        """Tell the helper a line. Its answer comes with read()."""
        self._say([line])

    def read(self, seconds: float) -> list[Message]:
        """The messages of the helper within a time, or as soon as there are
        any. Raises an Error if it has ended."""
        if self._behind:
            behind, self._behind = [*self._behind], ()
            return behind
        assert self._process and self._process.stdout
        fd = self._process.stdout.fileno()
        ready, _, _ = select.select([fd], [], [], max(seconds, 0.0))
        if not ready:
            return []
        data = os.read(fd, _READ_BYTES)
        if not data:
            raise self._killed()
        try:
            return list(self._decoder.feed(data))
        except Damaged as problem:
            raise Error(
                f"goref: the output of {_HELPER} is damaged ({problem}): the "
                "trace has no result"
            ) from None

    def flush(
        self,
        word: str,
        take: Callable[[Message], None],
        poll: Callable[[float], bool],
        limit_s: float = 60.0,
    ) -> None:
        """Tell the helper a line, and take all that it says up to its answer,
        the same line. What came with the answer is for the next read(). poll:
        called often with the seconds since then; if it is true, nobody waits
        any more. Raises Silent: there was no answer."""
        self.tell(word)
        begin = time.monotonic()
        while True:
            waited = time.monotonic() - begin
            if waited >= limit_s or poll(waited):
                break
            messages = self.read(0.1)
            for at, message in enumerate(messages, 1):
                said = f"{message.name} {message.rest}".strip()
                if said == word:
                    self._behind = messages[at:]
                    return
                take(message)
        self._ending_s = _ENDING_SOON_S
        raise Silent(
            f"goref: {_HELPER} does not answer: the trace has no result"
        )

# SPDX-License-Identifier: Apache-2.0
"""Asks another `goref' a question, in a process of its own: one gdb looks at
one program."""

import os
import select
import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

import gdb

_SCRIPT = "GOREF_SCRIPT"  # which the script sets for us
_OF_SESSION = ("GOREF_READAHEAD",)  # which is about this gdb
_POLL_S = 0.05
_END_S = 5.0


class Answer(NamedTuple):
    """errors: the lines of stderr, without warnings."""

    status: int
    errors: list[str]


def _script() -> str:
    """The command goref: this one, that of these sources, or the installed
    one."""
    own = os.environ.get(_SCRIPT)
    beside = os.path.join(os.path.dirname(__file__), "..", "..", "goref")
    for path in (own, beside, shutil.which("goref")):
        if path and os.path.isfile(path):
            return os.path.abspath(path)
    raise gdb.GdbError(
        "goref: this needs the command goref, which was not found: add its "
        "folder to the PATH"
    )


def _notes(process: "subprocess.Popen[bytes]") -> list[str]:
    """What it writes to stderr until it ends. Signals are noticed between
    reads."""
    assert process.stderr
    fd = process.stderr.fileno()
    said = b""
    while True:
        if not select.select([fd], [], [], _POLL_S)[0]:
            continue
        piece = os.read(fd, 1 << 16)
        if not piece:
            return said.decode("utf-8", "replace").splitlines()
        said += piece


def ask(words: Sequence[str], out: str) -> Answer:
    """Run `goref WORD...' with its answer in a file."""
    with open(out, "wb") as file:
        process = subprocess.Popen(
            [_script(), *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            env={k: v for k, v in os.environ.items() if k not in _OF_SESSION},
        )
        try:
            lines = _notes(process)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            assert process.stderr
            process.stderr.close()
    errors = [line for line in lines if line.startswith("goref")]
    for line in lines:
        if line not in errors:
            gdb.write(f"{line}\n", gdb.STDERR)
    return Answer(status, errors)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End it; it first lets go the process that it has stopped."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

# SPDX-License-Identifier: Apache-2.0
"""A process that begins another program while its trace is prepared."""

import subprocess

import pytest

from goref.errors import Error
from goref.trace import session
from goref.trace.program import Program
from test_trace import planned


@pytest.fixture
def shell():
    """A process that becomes another program when it is told."""
    with subprocess.Popen(
        ["sh", "-c", "read x; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as popen:
        yield popen
        popen.kill()


def become_another(popen):
    popen.stdin.write(b"\nagain\n")
    popen.stdin.flush()
    assert popen.stdout.readline() == b"again\n"


def test_the_program_of_a_process(shell):
    program = Program(shell.pid)
    assert not program.has_gone()
    become_another(shell)
    assert program.has_gone() and not Program(shell.pid).has_gone()
    program.close()
    assert not program.has_gone()  # not known


def test_a_process_that_has_ended():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as popen:
        program = Program(popen.pid)
    assert program.has_gone()
    program.close()
    assert not Program(popen.pid).has_gone()


def test_errors_are_due_to_another_program(shell):
    """All, as what was read is that of the old one."""
    it = session.Session(planned(str(shell.pid)), (None, None), None, None)
    it.was_there, it.program = True, Program(shell.pid)
    assert str(it._failed(Error("goref: lost"))) == "goref: lost"
    become_another(shell)
    assert str(it._failed(Error("goref: lost"))) == (
        f"goref: process {shell.pid} began another program before its trace: "
        "trace it again"
    )
    it.is_watched = True
    assert str(it._failed(Error("goref: lost"))) == "goref: lost"
    it.program.close()


def test_it_is_seen_as_soon_as_the_helper_sees_it(shell):
    """The probes are there; what comes next, they tell."""

    class Begun:
        def start(self, poll):
            become_another(shell)

    it = session.Session(planned(str(shell.pid)), (None, None), None, None)
    it.program = Program(shell.pid)
    owned = type("Owned", (), {"check": None})
    with pytest.raises(Error, match="began another program before its trace"):
        it._watched(Begun(), owned)
    it.program.close()

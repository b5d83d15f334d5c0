# SPDX-License-Identifier: Apache-2.0
"""goref trace: the look at the end stops the process, and says for how long."""

import types

import pytest

from goref.errors import Error
from goref.trace import look


class Source:
    """In place of a process that is stopped."""

    def __init__(self, problem=None):
        self.look = types.SimpleNamespace(stood_s=0.0, slowed_s=None)
        self.problem = problem

    def open(self, *_):
        self.look.stood_s, self.look.slowed_s = 0.0039, 1.5
        if self.problem:
            raise self.problem
        return types.SimpleNamespace(set_progress=lambda _: None)

    def close(self):
        pass


@pytest.mark.parametrize(
    "problem, said", [(None, ""), (Error("goref: given up"), "given up")]
)
def test_pause_of_the_look(monkeypatch, problem, said):
    """The process was stopped, too, if there is no answer."""
    monkeypatch.setattr(
        look.process, "Process", lambda *_, **__: Source(problem)
    )
    seen = look.ask(7, "snapshot", lambda _: 42, None, (None, None))
    assert (seen.found, seen.problem) == (None if said else 42, said)
    assert (seen.pause_s, seen.slowed_s) == (0.0039, 1.5)


def test_no_pause_without_a_look(monkeypatch):
    def refuse(*_, **__):
        raise Error("goref: no right")

    monkeypatch.setattr(look.process, "Process", refuse)
    seen = look.ask(7, "attach", lambda _: 42, None, (None, None))
    assert seen == look.Seen(None, "no right")

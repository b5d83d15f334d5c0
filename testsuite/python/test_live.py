# SPDX-License-Identifier: Apache-2.0
"""The words of `goref attach' about a pause, before it stops the process."""

import os

import pytest

from goref import live
from goref.errors import Error


@pytest.fixture
def look(monkeypatch):
    """look(pause_s, fork_s): a look at this process, which would stand still
    for so long by a copy, and by a fork."""

    def make(pause_s, fork_s, max_pause_ms=None):
        monkeypatch.setattr(live, "fork_pause_s", lambda pid, pace: fork_s)
        made = live.Look.__new__(live.Look)
        made.pid, made.pause_s, made.pace = os.getpid(), pause_s, None
        made.max_pause_ms = max_pause_ms
        return made

    return make


def test_long_pause_suggests_a_snapshot(look):
    assert look(0.871, 0.027).plan("about", "1.1 GiB") == (
        "about 1.1 GiB to copy, which stops it for about 871 ms (--snapshot "
        "would stop it for about 27 ms)"
    )


@pytest.mark.parametrize(
    "pause_s, fork_s",
    [
        pytest.param(0.45, 0.01, id="the pause is short"),
        pytest.param(2.0, 1.5, id="a fork takes nearly as long"),
    ],
)
def test_no_snapshot_is_suggested(look, pause_s, fork_s):
    assert "--snapshot" not in look(pause_s, fork_s).plan("about", "1 GiB")


def test_refusal_suggests_what_is_within_the_limit(look):
    look(0.2, 0.1, max_pause_ms=300).check_pause()
    with pytest.raises(Error, match="--max-pause 50 .--snapshot would"):
        look(0.2, 0.04, max_pause_ms=50).check_pause()
    with pytest.raises(Error, match="--max-pause 50$"):
        look(0.2, 0.06, max_pause_ms=50).check_pause()

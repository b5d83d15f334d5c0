# SPDX-License-Identifier: Apache-2.0
"""Text as a person reads it at a terminal: the verdict comes first, and the text
is the same on any terminal, in colors and without one."""

import os
import pty
import re
import struct
import subprocess
import termios
from fcntl import ioctl

import pytest

from session import GOREF, environment
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")
SGR = re.compile(r"\x1b\[[\d;]*m")
# The line of progress, and lines that it takes back, which take their time.
DRAWN = re.compile(r"(?s)\r.*\x1b\[J")
TOOK = re.compile(r"(?m)^(took|the graph took) .*$")


@pytest.fixture(scope="module")
def leaky(farm):
    return farm.target("leaky", CENTRAL)


@pytest.fixture(scope="module")
def hung(farm):
    return farm.target("leaky", CENTRAL, args=("1000", "refunds"))


def shown(words, columns=80, **variables):
    """The text that a terminal of a width gets, and the exit status."""
    env = {**environment(), "TERM": "xterm", **variables}
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [GOREF, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    ) as child:
        os.close(theirs)
        pieces = []
        while True:
            try:
                pieces.append(os.read(ours, 1 << 16))
            except OSError:
                break
            if not pieces[-1]:
                break
        os.close(ours)
    text = b"".join(pieces).decode().replace("\r\n", "\n")
    return DRAWN.sub("", text), child.returncode


def piped(words, **variables):
    """The text of a pipe."""
    env = {**environment(), "TERM": "xterm", **variables}
    done = subprocess.run(
        [GOREF, *words], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def untimed(text):
    return TOOK.sub("", text)


def words_of(verb, leaky, hung):
    if verb == "diff":
        return ["diff", hung.core, leaky.core]
    target = hung if verb == "hung" else leaky
    verb = f"why {leaky.truth['suspect']}" if verb == "why" else verb
    return ["core", target.exe, target.core, *verb.split()]


@pytest.mark.parametrize(
    "verb",
    ["overview", "suspects", "hung", "histogram", "rss", "why", "diff"],
)
def test_the_same_on_any_terminal(leaky, hung, verb):
    """80 and 200 columns, in colors, without, and no terminal."""
    words = words_of(verb, leaky, hung)
    plain = untimed(piped(words))
    assert "\x1b" not in plain
    for columns in 80, 200:
        text, status = shown(words, columns)
        assert status == 0
        assert untimed(SGR.sub("", text)) == plain
    text, _ = shown(words, NO_COLOR="1")
    assert untimed(text) == plain


def test_colors_where_they_are_wanted(hung):
    words = ["core", hung.exe, hung.core, "hung"]
    text, _ = shown(words)
    assert text.startswith("\x1b[1;31m1 deadlock ")
    for setting in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
        assert not SGR.search(shown(words, **setting)[0])
    assert not SGR.search(shown([*words, "--color", "never"])[0])
    assert SGR.search(shown([*words, "--color", "always"], NO_COLOR="1")[0])
    assert SGR.search(piped([*words, "--color", "always"]))
    assert not SGR.search(piped([*words, "--color", "always", "--json"]))


@pytest.mark.parametrize(
    "verb, said",
    [
        ("overview", "suspect: main.pageCache holds "),
        ("suspects", "2 suspects hold "),
        ("hung", "1 deadlock of 2 goroutines"),
        ("histogram", "largest: []uint8, "),
        ("rss", " of anonymous memory was resident"),
        ("why", "held only through main.sessionsByToken"),
        ("diff", "main.sessionsByToken ("),
    ],
)
def test_the_verdict_is_in_the_first_three_lines(leaky, hung, verb, said):
    """As the program does it: a map of sessions that grows, a cache, a
    deadlock."""
    lines = piped(words_of(verb, leaky, hung)).splitlines()[:3]
    assert any(said in line for line in lines), lines


def test_the_verdict_of_a_hang(hung):
    lines = piped(["core", hung.exe, hung.core]).splitlines()
    assert lines[0].startswith("1 deadlock of 2 goroutines; ")
    first = lines[lines.index("Next") + 1]
    assert " hung" in first


def test_suggested_commands_are_short(leaky):
    """The core leads to its executable: one path is enough. Where it does not,
    both are printed."""
    lines = piped(["core", leaky.exe, leaky.core]).splitlines()
    commands = [line for line in lines if line.startswith("  goref core ")]
    assert commands
    assert all(leaky.core.name in line for line in commands)
    assert not any(f" {leaky.exe} " in line for line in commands)


def test_both_paths_where_one_is_not_enough(leaky, tmp_path):
    """A copy of the executable elsewhere."""
    copy = tmp_path / "other name"
    copy.write_bytes(leaky.exe.read_bytes())
    copy.chmod(0o755)
    lines = piped(["core", copy, leaky.core]).splitlines()
    commands = [line for line in lines if line.startswith("  goref core ")]
    assert commands and all(str(copy) in line for line in commands)


def test_a_pile_up_is_the_verdict(farm):
    """Goroutines that wait for one lock, without a deadlock and a leak: the
    overview says what `hung' says."""
    target = farm.target("hung", CENTRAL, args=["mutex", "100"])
    words = ["core", target.exe, target.core]
    first = piped([*words, "hung"]).splitlines()[0]
    assert "100 goroutines wait for main.mutex (mutex, locked)" in first
    lines = piped(words).splitlines()
    assert lines[0] == first and "nothing stands out" not in lines[1]
    assert " hung" in lines[lines.index("Next") + 1]


def test_a_truncated_core_gives_no_all_clear(hung, tmp_path):
    """It is in a deadlock, which lies in the missing part."""
    cut = tmp_path / "core"
    cut.write_bytes(hung.core.read_bytes()[: hung.core.stat().st_size // 3])
    env = {**environment(), "TERM": "dumb"}
    for verb in "overview", "hung", "waits", "leaks":
        done = subprocess.run(
            [GOREF, "core", hung.exe, cut, verb],
            env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        first = done.stdout.splitlines()[0]
        assert done.returncode == 3, done.stderr
        assert "could not be read" in first or "in what could be read" in first
        assert "nothing stands out" not in first


def test_options_of_all_verbs_ask_for_no_other(leaky):
    words = ["core", leaky.exe, leaky.core]
    whole = untimed(piped(words))
    for options in ["--color", "never"], ["--timeout", "900"]:
        assert untimed(piped([*words, *options])) == whole

# SPDX-License-Identifier: Apache-2.0
"""The manual pages and the shells' completion, as the build has made them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from session import TOP, environment

sys.path.insert(0, str(TOP / "python"))

from goref.verbs import SOURCES, STANDALONE, VERBS

MANUAL = Path(environment()["GOREF_BUILD_DIR"]) / "manual"
ITEMS = {**SOURCES, **VERBS, **STANDALONE}


def need(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")


def pages():
    return ["goref.1", *(f"goref-{name}.1" for name in ITEMS)]


def test_all_pages_are_there():
    assert sorted(p.name for p in MANUAL.glob("*.1")) == sorted(pages())
    listed = re.findall(r"manual/(\S+\.1)", (TOP / "Makefile.am").read_text())
    assert sorted(listed) == sorted(pages())


@pytest.mark.parametrize("name", pages())
def test_page_is_sound(name):
    need("man")
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", MANUAL / name],
        capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80",
                                             "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    text = " ".join(done.stdout.split()).replace("\u2010 ", "")
    assert name.removesuffix(".1").upper() + "(1)" in text
    assert "EXIT STATUS" in text
    item = ITEMS.get(name.removesuffix(".1").removeprefix("goref-"))
    if item:
        for option in item.options:
            assert f"--{option.name}" in text
        assert item.text.split()[0] in text
    # Nothing of roff's own is left, and nothing was taken for it.
    assert not re.search(r"\\f|\\-|\.PP|\.TP", text)
    if item and item.details:
        assert item.details.split()[-1] in text


@pytest.mark.parametrize("name", pages())
def test_page_passes_mandoc(name):
    need("mandoc")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", MANUAL / name],
        capture_output=True, text=True,
    )  # fmt: skip
    said = [x for x in done.stdout.splitlines() if "missing date" not in x]
    assert not said


# ---------------------------------------------------------------- completion

_BASH = """
. "$1"; shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p goref | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""


def by_bash(folder, line):
    """bash's completion of the words; `=` is a word of its own."""
    need("bash")
    words = re.sub("=", " = ", line).split(" ")
    words = [w for i, w in enumerate(words) if w or i == len(words) - 1]
    if line.endswith("="):
        words = words[:-1]
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH, "bash", MANUAL / "bash/goref", *words],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return set(done.stdout.split())


def by_zsh(folder, line, key="\x04"):
    """The list of zsh on Ctrl-D, or its line after another key."""
    need("zsh")
    pexpect = pytest.importorskip("pexpect")
    child = pexpect.spawn(
        "zsh", ["-f", "-i"], cwd=str(folder), encoding="utf-8", timeout=30,
        dimensions=(100, 300), env={**os.environ, "TERM": "dumb", "PS1": "% "},
    )  # fmt: skip
    try:
        child.sendline(
            f"fpath=({MANUAL}/zsh $fpath); autoload -Uz compinit; "
            "compinit -u -D; zstyle ':completion:*' list-colors ''; "
            "setopt list_ambiguous no_beep; bindkey -e; "
            "LISTMAX=1000; print rea''dy"
        )
        child.expect("ready\r?\n")
        child.send(line + key)
        child.send("\x01print '\x05' don''e\r")
        child.expect("done\r?\n")
        text = child.before
    finally:
        child.close(force=True)
    return set(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\r]", " ", text).split())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "core.1").touch()
    (tmp_path / "app").touch()
    return tmp_path


EVERY = {f"--{o.name}" for o in VERBS["scan"].options}

CASES = [
    ("goref ", {"core", "attach", "diff", "help"}, {"scan"}),
    ("goref diff ", {"core.1", "app", str(os.getpid())}, {"scan"}),
    ("goref diff core.1 --sn", {"--snapshot"}, {"app"}),
    ("goref he", {"help"}, {"core"}),
    ("goref help ", {*ITEMS}, set()),
    ("goref core ", {"core.1", "app"}, {"scan"}),
    ("goref core app ", {"core.1", "app", *VERBS}, set()),
    ("goref core app core.1 ", {*VERBS}, {"app"}),
    ("goref core core.1 wh", {"why"}, {"verify"}),
    ("goref core core.1 --", EVERY | {"--why", "--verify"}, {"--snapshot"}),
    ("goref core --top 3 core.1 scan --", EVERY, {"--why", "--addresses"}),
    ("goref core core.1 objects --a", {"--addresses"}, {"--attribution"}),
    ("goref core -o scan core.1 v", {"verify"}, {"app"}),
    ("goref core core.1 scan --out co", {"core.1"}, {"app"}),
    ("goref core core.1 -o a", {"app"}, {"core.1"}),
    ("goref core core.1 why --attribution ", {"nearest", "first"}, {"app"}),
    ("goref core core.1 why --attribution=f", {"first"}, {"nearest"}),
    ("goref core core.1 scan --top ", set(), {"app", "first", "scan"}),
    ("goref attach ", {str(os.getpid())}, {"app"}),
    ("goref attach 1 ", {*VERBS}, {"app"}),
    ("goref attach 1 why --", {f"--{o.name}" for o in VERBS["why"].options}
     | {"--max-pause"}, {"--out"}),
]  # fmt: skip


@pytest.mark.parametrize(
    "line, there, absent", CASES, ids=[c[0] for c in CASES]
)
def test_bash(folder, line, there, absent):
    found = by_bash(folder, line)
    assert there <= found and not absent & found, found


@pytest.mark.parametrize(
    "line, there, absent", CASES, ids=[c[0] for c in CASES]
)
def test_zsh(folder, line, there, absent):
    found = by_zsh(folder, line)
    assert there <= found, (there - found, found)
    assert not absent & found - {*line.split()}, found


@pytest.mark.parametrize(
    "line, whole",
    [
        ("goref core core.1 wh", "why"),
        ("goref core core.1 scan --per", "--per-goroutine"),
        ("goref core core.1 why --attribution=f", "--attribution=first"),
    ],
)
def test_zsh_finishes_a_word(folder, line, whole):
    assert whole in by_zsh(folder, line, "\t")

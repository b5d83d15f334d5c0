# SPDX-License-Identifier: Apache-2.0
"""Completion in bash and zsh: the files of make install, as shells on a terminal
find and use them. debian/tests/completion asks the same of the packages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from session import TOP, environment

pytest.importorskip("pexpect")
sys.path.insert(0, str(TOP / "python"))

import completions

BUILD = Path(environment()["GOREF_BUILD_DIR"])
INSTALL = ("install-nodist_bashcompletionDATA",
           "install-nodist_zshcompletionDATA")  # fmt: skip


def install(*words):
    """Only what the shells read: other tests install all of it."""
    if not (BUILD / "Makefile").exists():
        pytest.skip("not a build folder of make")
    done = subprocess.run(
        ["make", "-s", "-C", BUILD, *INSTALL, *map(str, words)],
        capture_output=True, text=True, timeout=600,
        env={**environment(), "MAKEFLAGS": "", "MAKELEVEL": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    install(f"prefix={prefix}")
    return prefix


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request, prefix, tmp_path_factory):
    """A shell in a folder with two files."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}")
    folder = tmp_path_factory.mktemp("files")
    for name in ("core.1", "app"):
        (folder / name).touch()
    if request.param == "zsh":
        functions = prefix / "share/zsh/site-functions"
        made = completions.Zsh(folder, functions)
    else:
        if not completions.BASH_COMPLETION.exists():
            pytest.skip("no bash-completion")
        made = completions.Bash(folder, prefix / "share")
    yield made
    made.close()


@pytest.mark.parametrize(
    "line, there, absent",
    completions.CASES,
    ids=[line.replace(completions.MINE, "PID") for line, *_ in completions.CASES],
)
def test_words(shell, line, there, absent):
    assert not completions.mistake(shell, line, there, absent)


@pytest.mark.parametrize(
    "line, word",
    completions.FINISHED,
    ids=[line.replace(completions.MINE, "PID") for line, _ in completions.FINISHED],
)
def test_tab(shell, line, word):
    assert shell.finished(line).split()[-1] == word


def test_processes_have_names(shell):
    """A number alone says little; the line gets only the number."""
    name = Path("/proc/self/comm").read_text().strip()
    listed = shell.listed("goref attach ")
    (mine,) = [x for x in listed.splitlines() if name in x
               and completions.MINE in x.split()] or [""]
    assert name in mine, listed
    begin = completions.MINE[:-1]
    assert name not in shell.finished(f"goref attach {begin}")


def test_folders(tmp_path):
    """The usual ones, and those of a package."""
    install("prefix=/usr/local", f"DESTDIR={tmp_path}")
    local = tmp_path / "usr/local/share"
    assert (local / "zsh/site-functions/_goref").is_file()
    assert (local / "bash-completion/completions/goref").is_file()
    rules = (TOP / "debian/rules").read_text()
    assert "zshcompletiondir=/usr/share/zsh/vendor-completions" in rules
    if shutil.which("zsh") and os.path.exists("/etc/debian_version"):
        searched = completions.folders_of_zsh()
        assert Path("/usr/local/share/zsh/site-functions") in searched
        assert Path("/usr/share/zsh/vendor-completions") in searched

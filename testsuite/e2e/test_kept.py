# SPDX-License-Identifier: Apache-2.0
"""The search for the runtime of a stripped program keeps what it has found, by
build id: the next search is shorter, and trusts nothing that is kept."""

import re
import shutil
import subprocess

import pytest

from asking import server
from session import environment
from toolchains import FLAGS, RELEASES, Variant, variants
from waiting import LONGEST_S

FLAGS.setdefault("nameless", ["-ldflags=-s -w -buildid="])

NEWEST = Variant(RELEASES[-1], "default")
LINES = ["goref-gdb", "file", "layout", "moduledata", "mheap", "write_barrier"]


def look(exe, core, folder, *options):
    """The objects that a scan prints, and how often it polled: the steps of
    the search are the same each time."""
    words = map(str, ("--objects", "--polls", *options, exe, core))
    env = {**environment(), "XDG_CACHE_HOME": str(folder)}
    done = server(clocked=True).ask("scanner", [*words], None, env, LONGEST_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return done.stdout, int(re.search(r"^polls: (\d+)", done.stderr, re.M)[1])


def kept(folder):
    return sorted((folder / "goref-gdb" / "symbols").glob("*.runtime"))


@pytest.fixture(scope="module")
def stripped(farm, tmp_path_factory):
    """stripped(variant): an executable without symbols, and a core of it."""

    def make(variant):
        if not shutil.which("objcopy"):
            pytest.skip("no objcopy")
        target = farm.target("rest", variant)
        copy = tmp_path_factory.mktemp("stripped") / target.exe.name
        subprocess.run(
            ["objcopy", "--strip-all", target.exe, copy], check=True
        )
        return copy, target.core

    return make


@variants("default", "pie")
def test_second_search_is_shorter(stripped, variant, tmp_path):
    exe, core = stripped(variant)
    without = look(exe, core, tmp_path)
    assert not kept(tmp_path)
    cold = look(exe, core, tmp_path, "--cache")
    [file] = kept(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [line.split()[0] for line in file.read_text().splitlines()] == LINES
    inode = file.stat().st_ino
    warm = look(exe, core, tmp_path, "--cache")
    assert without[0] == cold[0] == warm[0]
    assert warm[1] < cold[1]
    # Nothing new was found: the file was not written again.
    assert file.stat().st_ino == inode


def test_whatever_is_in_the_file(stripped, tmp_path):
    """Whatever byte of the file changes, the answer stays. What is wrong is
    searched, and kept as it was."""
    exe, core = stripped(NEWEST)
    answer, cold = look(exe, core, tmp_path, "--cache")
    [file] = kept(tmp_path)
    good = file.read_text()
    _, warm = look(exe, core, tmp_path, "--cache")
    wrong = [
        good[:i] + ("0" if c != "0" else "8") + good[i + 1 :]
        for i, c in enumerate(good)
    ]
    wrong += ["", "\0", good[:-1], good + good, "x" * 100_000]
    lines = good.splitlines(keepends=True)
    for at in range(len(lines)):
        wrong.append("".join(lines[:at] + lines[at + 1 :]))
    for layout in re.findall(r"go1\.\d+", "go1.18 go1.19 go1.24 go1.27"):
        wrong.append(re.sub("(?<=layout ).*", layout, good))
    for name in LINES[3:]:
        for value in ("0", "8", "7fffffffffffffff", "ffffffffffffffff"):
            wrong.append(re.sub(f"(?<={name} ).*", value, good))
    for text in wrong:
        file.write_text(text)
        file.chmod(0o600)
        found, polls = look(exe, core, tmp_path, "--cache")
        assert found == answer, text
        assert polls >= warm, text
        assert text == good or file.read_text() == good, text


def test_neighbours(stripped, tmp_path):
    """An address that is nearly right."""
    exe, core = stripped(NEWEST)
    answer, _ = look(exe, core, tmp_path, "--cache")
    [file] = kept(tmp_path)
    good = file.read_text()
    for name in LINES[3:]:
        value = int(re.search(rf"^{name} (\w+)$", good, re.M)[1], 16)
        for step in (-24, -8, 1, 8, 4096):
            file.write_text(
                re.sub(f"(?<={name} ).*", f"{value + step:x}", good)
            )
            assert look(exe, core, tmp_path, "--cache")[0] == answer
            assert file.read_text() == good


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_others_could_have_written_it(stripped, tmp_path, what):
    exe, core = stripped(NEWEST)
    answer, cold = look(exe, core, tmp_path, "--cache")
    _, warm = look(exe, core, tmp_path, "--cache")
    assert warm < cold
    [file] = kept(tmp_path)
    if what == "link":
        shutil.move(file, tmp_path / "other")
        file.symlink_to(tmp_path / "other")
    else:
        (file.parent if what == "folder" else file).chmod(0o777)
    assert look(exe, core, tmp_path, "--cache") == (answer, cold)


def test_another_file_of_that_build(stripped, tmp_path):
    """A copy with the same build id may have another runtime in it."""
    exe, core = stripped(NEWEST)
    answer, cold = look(exe, core, tmp_path, "--cache")
    copy = tmp_path / "copy"
    shutil.copy(exe, copy)
    assert look(copy, core, tmp_path, "--cache") == (answer, cold)


def test_without_a_build_id(farm, tmp_path):
    """Nothing tells such a file from others: nothing is kept."""
    target = farm.target("rest", Variant(RELEASES[-1], "nameless"))
    first = look(target.exe, target.core, tmp_path, "--cache")
    assert not kept(tmp_path)
    assert look(target.exe, target.core, tmp_path, "--cache") == first

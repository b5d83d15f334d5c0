# SPDX-License-Identifier: Apache-2.0
"""The name of a file is never a command, whatever is in it."""

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pprof import Profile
from session import GDB_GOREF, TOP, environment
from session import start_cli as run_cli  # each is a start
from targets import GDB, attach_reason, skip_if, start
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")

HURT_TYPE = "x', file type elf64-x86-64.\n"

# Each would create the file `hurt` if it were parsed by gdb or by a shell.
HURT = [
    "\nshell touch hurt\n",
    "x\npython open('hurt', 'w')",
    "x\rshell touch hurt",
    "$(touch hurt)",
    "`touch hurt`",
    "x;touch hurt;",
    "x | touch hurt",
    "-core",
    "--args",
    "-ex=shell touch hurt",
    "--",
    "~",
    "~root",
    "'",
    '"',
    "\\",
    "a\\\nshell touch hurt",
    "a'b\"c\\d $HOME ${x} %s * ? [a] #!",
    HURT_TYPE,
    "?shell touch hurt?",
    "\x1b[31m\x07\x7f",
    "\u00fc \u2028 \u00a0",
]
# gdb reads these in its own ways; for the others it is as in a shell.
FOR_GDB = [HURT[0], HURT[1], HURT[2], "\\", HURT_TYPE]


def ids(name):
    return repr(name)


@pytest.fixture(scope="module")
def core(farm):
    return farm.target("rest", CENTRAL)


@pytest.fixture(scope="module")
def folder(core, tmp_path_factory):
    """A folder with all of these names for the executable and the core."""
    folder = tmp_path_factory.mktemp("names")
    for name in HURT:
        (folder / f"d{name.replace('/', '_')}").mkdir()
        os.link(core.core, folder / f"d{name}" / f"{name}")
        shutil.copy(core.exe, folder / f"d{name}" / f"{name}.exe")
    return folder


@pytest.mark.parametrize("name", HURT, ids=ids)
@pytest.mark.parametrize("options", [[], ["--why", "&main.kept"]])
def test_core(folder, name, options):
    here = folder / f"d{name}"
    done = run_cli(
        ["core", "--json", *options, "--", f"{name}.exe", name], cwd=here
    )
    assert not (here / "hurt").exists()
    if not options:
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)["target"]
        assert told["exe"] == str(here / f"{name}.exe")
    assert "syntax" not in done.stderr and "Undefined" not in done.stderr


def gdb_opens(exe, core):
    """Does gdb without the extension? gdb 16 drops backslashes of the name of
    a core on its command line, and cuts it off at a carriage return."""
    done = subprocess.run(
        [GDB, "-nx", "-batch", exe, core, "-ex", "info threads"],
        capture_output=True, text=True,
    )  # fmt: skip
    return "No threads." not in done.stdout + done.stderr


@pytest.mark.parametrize("name", FOR_GDB, ids=ids)
def test_gdb_itself(folder, name):
    """In a session of gdb, which was given the names by the shell."""
    here = folder / f"d{name}"
    done = subprocess.run(
        [GDB_GOREF, "-nx", "-batch", here / f"{name}.exe", here / name,
         "-ex", "goref scan --json"],
        cwd=here, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert not (here / "hurt").exists()
    is_odd = set(name) & set("\\\r")
    if is_odd and not gdb_opens(here / f"{name}.exe", here / name):
        assert "goref: no program to look at" in done.stderr
        return
    told = json.loads(done.stdout[done.stdout.index("{") :])["target"]
    assert told["exe"] == str(here / f"{name}.exe"), done.stderr
    assert told["core"] == str(here / name)


@pytest.mark.parametrize("name", HURT, ids=ids)
def test_wrong_files(core, folder, name):
    """An error says the name, in one line."""
    here = folder / f"d{name}"
    for words in (
        [f"{name}.exe", f"{name}.none"],
        [f"{name}.none", name],
        [f"{name}.exe", f"{name}.exe"],
        [core.exe, here],
    ):
        done = run_cli(["core", "--", *words], cwd=here)
        assert done.returncode == 1
        assert not (here / "hurt").exists()
        lines = done.stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("goref: "), lines
        assert "/proc/self/fd" not in lines[0], lines
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", [n for n in HURT if n != "--"], ids=ids)
def test_out(core, tmp_path, name):
    done = run_cli(
        ["core", core.exe, core.core, f"--out={name}"], cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    home = os.path.expanduser("~")
    if not name.startswith("~"):
        assert os.listdir(tmp_path) == [name], home
        assert Profile.load(tmp_path / name).samples


@pytest.mark.parametrize("name", [*HURT[:2], HURT_TYPE], ids=ids)
def test_attach(farm, tmp_path, name):
    """/proc/PID/exe leads to the name."""
    skip_if(attach_reason())
    exe = tmp_path / name.replace("/", "_")
    shutil.copy(farm.target("rest", CENTRAL).exe, exe)
    process = subprocess.Popen(
        [exe], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline()
        done = run_cli(["attach", process.pid, "--json"], cwd=tmp_path)
        assert not (tmp_path / "hurt").exists()
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["target"]["exe"] == str(exe)
    finally:
        process.kill()
        process.communicate()


def names_in_files(source, exe, folder):
    """A profile and a saved file name the executable, and not the alias that
    gdb was given."""
    profile, file = folder / "refs.pb.gz", folder / "heap.goref"
    for words in (["-o", profile], ["save", file]):
        done = run_cli([*source, *words])
        assert done.returncode == 0, done.stderr
    text = gzip.decompress(profile.read_bytes())
    assert os.fsencode(exe) in text and b"/proc/" not in text
    done = run_cli(["open", file, "--json"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"]["exe"] == str(exe)


@pytest.fixture
def odd(core, tmp_path):
    """The executable by a name that gdb cannot be given as it is."""
    exe = tmp_path / "an \u00e4pp"
    shutil.copy(core.exe, exe)
    return exe


def test_files_of_a_core(core, odd, tmp_path):
    names_in_files(["core", odd, core.core], odd, tmp_path)
    link = tmp_path / "link"
    link.symlink_to(odd)
    names_in_files(["core", link, core.core], odd, tmp_path)


def test_files_of_a_process(odd, tmp_path):
    skip_if(attach_reason())
    process = start(odd)
    try:
        names_in_files(["attach", process.pid], odd, tmp_path)
    finally:
        process.stop()


def test_no_text(core, tmp_path):
    """A name that is no text, and has a command of gdb in a line."""
    name = os.fsencode(tmp_path) + b"/x\nshell touch hurt\n\xff"
    os.link(core.core, name)
    done = run_cli(["core", core.exe, os.fsdecode(name)], cwd=tmp_path)
    assert done.returncode == 1 and not (tmp_path / "hurt").exists()
    assert "\\xff" in done.stderr and "not UTF-8" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("script", ["goref", "gdb-goref"])
def test_build_folder(core, tmp_path, script):
    """Where the extension lies is a name, too."""
    build = tmp_path / "b\nshell touch hurt\n"
    source = environment()["GOREF_BUILD_DIR"]
    shutil.copytree(f"{source}/loader", build / "loader")
    for file in Path(source).glob("[!l]*"):
        os.symlink(file, build / file.name)
    words = ["core", core.exe, core.core] if script == "goref" else [
        "-nx", "-batch", core.exe, core.core, "-ex", "goref scan"
    ]  # fmt: skip
    done = run_cli(
        words,
        command=TOP / script,
        cwd=tmp_path,
        env={"GOREF_BUILD_DIR": str(build)},
    )
    assert not (tmp_path / "hurt").exists()
    assert done.returncode == 0, done.stderr
    assert "reached" in done.stdout


def test_folder_for_temporary_files(core, tmp_path):
    """Text that gdb cannot hand to Python must not go through a file whose
    name is a part of a command."""
    away = tmp_path / "t\nshell touch hurt\n"
    away.mkdir()
    bad = os.fsencode(tmp_path) + b"/core\xff"
    os.link(core.core, bad)
    done = subprocess.run(
        [GDB_GOREF, "-nx", "-batch", core.exe, bad, "-ex", "goref scan"],
        cwd=tmp_path,
        env={**environment(), "TMPDIR": str(away)},
        capture_output=True,
    )
    assert not (tmp_path / "hurt").exists()
    said = done.stderr.decode().splitlines()
    assert "core\\xff: the name is not UTF-8" in said[-1], said

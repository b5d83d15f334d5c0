# SPDX-License-Identifier: Apache-2.0
"""The tree as somebody gets it: make install with folders of one's own, make
uninstall, builds of other trees, and a tree that cannot be written."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from session import TOP, environment, run_cli
from targets import GDB

BUILD = Path(environment()["GOREF_BUILD_DIR"])
NOBODY = 65534


def make(*words):
    done = subprocess.run(
        ["make", "-s", "-C", BUILD, *map(str, words)],
        capture_output=True, text=True, timeout=600,
        env={**environment(), "MAKEFLAGS": "", "MAKELEVEL": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def names_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.fixture(scope="module")
def built():
    if not (BUILD / "Makefile").exists():
        pytest.skip("not a build folder of make")
    yield BUILD
    make("loader/goref", "loader/goref.py")  # with their own paths again


def runs(goref):
    done = run_cli(["--version"], command=goref, env={"GOREF_BUILD_DIR": ""})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("goref-gdb ")


def test_prefix_of_make_install(built, tmp_path):
    """What is installed finds its files, though the build had another prefix,
    and make uninstall removes all of it."""
    prefix = tmp_path / "a" / "usr"
    told = make("install", f"prefix={prefix}")
    assert f"source {prefix}/share/goref/goref.py" in told
    runs(prefix / "bin/goref")
    loader = prefix / "share/goref/goref.py"
    gdb = [GDB, "-nx", "-batch", "-x", loader, "-ex", "info goref"]
    done = subprocess.run(gdb, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "goref-gdb" in done.stdout
    for folder in ("bin", "share/man/man1"):
        assert os.listdir(prefix / folder)
    # What gdb's Python compiles on first use.
    (prefix / "share/goref/python/goref/__pycache__").mkdir(exist_ok=True)
    make("uninstall", f"prefix={prefix}")
    assert names_in(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        ("inst", '"inst" is no absolute path: give prefix=/a/folder'),
        ("../inst", '"../inst" is no absolute path: give prefix=/a/folder'),
        ("~/inst", '"~/inst" is no absolute path: give prefix=/a/folder'),
        ("/tmp/a&b", "/tmp/a&b has a character that no installed script"),
        ("/tmp/a|b", "/tmp/a|b has a character that no installed script"),
        ("/tmp/a\\b", "/tmp/a\\b has a character that no installed script"),
    ],
)
def test_prefix_is_refused(built, prefix, told):
    """Nothing is installed that would not find its files."""
    done = subprocess.run(
        ["make", "-s", "-C", BUILD, "install", f"prefix={prefix}"],
        capture_output=True, text=True, timeout=600,
        env={**environment(), "MAKEFLAGS": "", "MAKELEVEL": ""},
    )  # fmt: skip
    assert done.returncode == 2
    assert f"make: {told}" in done.stderr
    assert not list(BUILD.glob("inst")) and not list(BUILD.glob("~"))


def test_two_prefixes(built, tmp_path):
    """Each has its own paths."""
    for name in ("a", "b"):
        make("install", f"prefix={tmp_path / name}")
    for name in ("a", "b"):
        goref = tmp_path / name / "bin/goref"
        assert f"{tmp_path / name}/share/goref" in goref.read_text()
        runs(goref)


def test_destdir(built, tmp_path):
    """DESTDIR is no part of the paths, and what was there before stays."""
    prefix, stage = tmp_path / "usr", tmp_path / "stage"
    (stage / "etc").mkdir(parents=True)
    make("install", f"prefix={prefix}", f"DESTDIR={stage}")
    staged = stage / prefix.relative_to("/")
    text = (staged / "bin/goref").read_text()
    assert f"loader='{prefix}/share/goref/goref.py'" in text
    assert str(stage) not in text
    shutil.move(staged, prefix)
    runs(prefix / "bin/goref")
    shutil.move(prefix, staged)
    make("uninstall", f"prefix={prefix}", f"DESTDIR={stage}")
    assert names_in(stage) == ["etc"]


def test_uninstall_leaves_others_alone(built, tmp_path):
    other = tmp_path / "share/zsh/site-functions/_other"
    other.parent.mkdir(parents=True)
    other.write_text("")
    page = tmp_path / "share/man/man1/other.1"
    page.parent.mkdir(parents=True)
    page.write_text("")
    before = names_in(tmp_path)
    make("install", f"prefix={tmp_path}")
    make("uninstall", f"prefix={tmp_path}")
    assert names_in(tmp_path) == before


@pytest.mark.parametrize("written", ["/usr", "/usr/local", "//usr/local/"])
def test_folders_of_the_system_stay(written):
    """Folders of the system stay, even if they are empty."""
    prefix = written.replace("//", "/").rstrip("/")
    script = (TOP / "build-aux/remove-folders").read_text()
    # Names what would be removed, in place of the command.
    script = script.replace("rmdir", "echo").replace("2>/dev/null", "")
    script = script.replace("[ ! -d", "[ -z")
    folders = ["bin", "lib/goref", "libexec/goref", "share/man/man1",
               "share/goref/python"]  # fmt: skip
    done = subprocess.run(
        ["sh", "-c", script, "sh", "", written]
        + [f"{written}/{folder}" for folder in folders],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [
        f"{prefix}/{folder}"
        for folder in ("lib/goref", "libexec/goref")
        + (("libexec",) if prefix == "/usr/local" else ())
        + ("share/man/man1", "share/goref/python", "share/goref")
    ]


def test_readme(tmp_path):
    """README's command works where ./quickstart has made a build before."""
    begin = "    ./autogen.sh && "
    text = (TOP / "README.md").read_text()
    (line,) = [x for x in text.splitlines() if x.startswith(begin)]
    assert line.endswith(" && make install")
    (tmp_path / "build").mkdir()
    for name in ("autogen.sh", "configure", "make"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [line.rstrip() for line in done.stdout.splitlines()]
    assert told == ["autogen.sh", "configure", "make", "make install"]


@pytest.mark.parametrize("script", ["goref", "gdb-goref"])
def test_build_of_another_tree(tmp_path, script):
    """It is refused: its Python would run, not the one beside the script."""
    other = tmp_path / "other"
    (other / "python").mkdir(parents=True)
    for name in ("goref", "gdb-goref"):
        shutil.copy(TOP / name, other)
    done = run_cli(["--version"], command=other / script)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (
        f"{script}: {BUILD} was built from {TOP}, not from {other}: use the "
        f"{script} there, or run ./quickstart here\n"
    )


@pytest.mark.parametrize("script", ["goref", "gdb-goref"])
def test_build_that_does_not_say_of_which_tree(tmp_path, script):
    build = tmp_path / "build"
    shutil.copytree(BUILD / "loader", build / "loader")
    (build / "loader/tree").unlink()
    (build / "_goref.abi3.so").symlink_to(BUILD / "_goref.abi3.so")
    done = run_cli(
        ["--version"], command=TOP / script,
        env={"GOREF_BUILD_DIR": str(build)},
    )  # fmt: skip
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (
        f"{script}: the build in {build} is too old: run make there\n"
    )


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_moved_tree(tmp_path, place):
    """A tree that was moved with its build is configured again, and only
    then."""
    (tmp_path / "build/loader").mkdir(parents=True)
    for name in ("Makefile", "config.status"):
        (tmp_path / "build" / name).write_text("all:\n")
    tree = tmp_path if place == "here" else tmp_path / "before"
    (tmp_path / "build/loader/tree").write_text(f"{tree}\n")
    deps = tmp_path / "build/scanner/.deps"
    deps.mkdir(parents=True)
    configure = tmp_path / "configure"
    configure.write_text("#!/bin/sh\ntouch configured\n")
    configure.chmod(0o755)
    os.utime(configure, (0, 0))
    done = subprocess.run(
        ["sh", "-c", f". {TOP}/build-aux/setup.sh && build_in build"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "src": str(tmp_path), "name": "test"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    is_configured = (tmp_path / "build/configured").exists()
    assert is_configured == (place == "elsewhere")
    # These name the sources where they were before.
    assert deps.exists() == (place == "here")


@pytest.mark.parametrize("script", ["quickstart", "run-tests"])
@pytest.mark.parametrize("name", list(" \t\n\"#$&'`\\"))
def test_tree_that_configure_refuses(tmp_path, script, name):
    """It is refused before a package is installed or a file is written."""
    tree = tmp_path / f"a{name}b"
    (tree / "build-aux").mkdir(parents=True)
    shutil.copy(TOP / script, tree)
    for file in (TOP / "build-aux").glob("*.sh"):
        shutil.copy(file, tree / "build-aux")
    before = names_in(tree)
    done = subprocess.run(
        [tree / script], env={"PATH": "/usr/bin:/bin"}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (
        f"{script}: {tree} has a character that configure refuses in a path "
        "(a space, \", #, $, &, ', ` or \\): put the tree elsewhere\n"
    )
    assert names_in(tree) == before


@pytest.fixture
def tree_of_others():
    """A folder that everybody may read and only root, or nobody, may write."""
    with tempfile.TemporaryDirectory(prefix="goref-tree-") as name:
        folder = Path(name)
        for file in ("run-tests", "quickstart", "autogen.sh", "configure.ac"):
            shutil.copy(TOP / file, folder)
        (folder / "build-aux").mkdir()
        for file in (TOP / "build-aux").glob("*.sh"):
            shutil.copy(file, folder / "build-aux")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555)
        yield folder
        for path in (folder, folder / "build-aux"):
            path.chmod(0o755)


@pytest.mark.parametrize("script", ["run-tests", "quickstart", "autogen.sh"])
def test_tree_that_cannot_be_written(tree_of_others, script):
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run(
        [f"./{script}"], cwd=tree_of_others, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=60,
        **(as_nobody if os.getuid() == 0 else {}),
    )  # fmt: skip
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (
        f"{script}: cannot write to {tree_of_others}: copy the tree to a "
        f"folder that is yours, and run {script} there\n"
    )

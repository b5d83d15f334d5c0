# SPDX-License-Identifier: Apache-2.0
"""The tree as somebody gets it: make install with folders of one's own, make
uninstall, builds of other trees, and a tree that cannot be written."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from plain import run_plain, told
from session import TOP, environment
from session import start_cli as run_cli  # each is a start
from targets import GDB

BUILD = Path(environment()["GOREF_BUILD_DIR"])
NOBODY = 65534
IMPORTS = "import goref; print(goref.__file__); goref.core('/proc/self/exe')"


def make(*words):
    done = subprocess.run(
        ["make", "-s", "-C", BUILD, *map(str, words)],
        capture_output=True, text=True, timeout=600,
        env={**environment(), "MAKEFLAGS": "", "MAKELEVEL": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_of_build():
    """The Python that the script starts: the first line of that file."""
    return (BUILD / "loader/python").read_text().splitlines()[0]


def names_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.fixture(scope="module")
def built():
    if not (BUILD / "Makefile").exists():
        pytest.skip("not a build folder of make")
    yield BUILD
    make("loader/goref", "loader/goref.py")  # with their own paths again


def runs(goref):
    """The folder of its package, where Python finds the module, too."""
    env = {"GOREF_BUILD_DIR": ""}
    done = run_cli(["--version"], command=goref, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("goref-gdb ")
    done = run_cli(["--python-path"], command=goref, env=env)
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.removesuffix("\n"))
    imports(path)
    return path


def imports(path, **options):
    """The package of that folder is found, and its native half is loaded: it
    refuses what is no core."""
    done = run_plain(IMPORTS, path=options.pop("path_set", path), **options)
    assert done.stdout == f"{path}/goref/__init__.py\n", done.stderr
    assert done.stderr.splitlines()[-1].startswith("goref.errors.Error: ")


def is_searched(path, python):
    """Does Python look for modules there by itself?"""
    text = "import json, sys; print(json.dumps(sys.path))"
    return str(path) in told(text, path="", python=python)


def test_prefix_of_make_install(built, tmp_path):
    """An installation finds its files, though the build had another prefix,
    and make uninstall removes all of it."""
    prefix = tmp_path / "a" / "usr"
    told = make("install", f"prefix={prefix}")
    assert f"source {prefix}/share/goref/goref.py" in told
    path = runs(prefix / "bin/goref")
    assert f"set PYTHONPATH={path}\n" in told
    assert path.is_relative_to(prefix)
    loader = prefix / "share/goref/goref.py"
    gdb = [GDB, "-nx", "-batch", "-x", loader, "-ex", "info goref"]
    done = subprocess.run(gdb, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "goref-gdb" in done.stdout
    for folder in ("bin", "share/man/man1"):
        assert os.listdir(prefix / folder)
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
        assert runs(goref).is_relative_to(tmp_path / name)


def test_destdir(built, tmp_path):
    """DESTDIR is no part of the paths, and what was there before stays."""
    prefix, stage = tmp_path / "usr", tmp_path / "stage"
    (stage / "etc").mkdir(parents=True)
    make("install", f"prefix={prefix}", f"DESTDIR={stage}")
    staged = stage / prefix.relative_to("/")
    for file in ("bin/goref", "share/goref/goref.py"):
        text = (staged / file).read_text()
        assert f"{prefix}/lib/" in text and str(stage) not in text
    shutil.move(staged, prefix)
    path = runs(prefix / "bin/goref")
    # Nor of what was compiled.
    for compiled in path.rglob("*.pyc"):
        assert str(stage).encode() not in compiled.read_bytes()
    shutil.move(prefix, staged)
    make("uninstall", f"prefix={prefix}", f"DESTDIR={stage}")
    assert names_in(stage) == ["etc"]


@pytest.mark.parametrize("prefix", ["/usr", "/usr/local"])
def test_folder_of_python(built, tmp_path, prefix):
    """The package is where the Python of the build looks for modules of this
    prefix, and only there."""
    python = python_of_build()
    make("install", f"prefix={prefix}", f"DESTDIR={tmp_path}")
    (found,) = tmp_path.rglob("_goref.abi3.so")
    folder = Path("/") / found.parent.parent.relative_to(tmp_path)
    assert folder.is_relative_to(prefix)
    assert is_searched(folder, python)
    local = Path("/usr/local") in folder.parents
    assert local == (prefix == "/usr/local")
    make("uninstall", f"prefix={prefix}", f"DESTDIR={tmp_path}")
    assert names_in(tmp_path) == []


def test_folder_of_a_venv(built, tmp_path):
    """A virtual environment that is the prefix finds the package by itself."""
    venv = tmp_path / "venv"
    python = python_of_build()
    done = subprocess.run(
        [python, "-m", "venv", "--without-pip", venv], capture_output=True
    )
    if done.returncode:
        pytest.skip("no venv")
    told = make("install", f"prefix={venv}")
    path = runs(venv / "bin/goref")
    imports(path, path_set="", python=venv / "bin/python")
    assert "gdbinit" in told


def test_folder_that_is_given(built, tmp_path):
    """pythondir, as other packages have it."""
    prefix, folder = tmp_path / "usr", tmp_path / "modules"
    words = [f"prefix={prefix}", f"pythondir={folder}"]
    make("install", *words)
    assert runs(prefix / "bin/goref") == folder
    make("uninstall", *words)
    assert names_in(tmp_path) == ["modules"]


def test_nothing_is_written_later(built, tmp_path):
    """Python is compiled by the installation, and remains as it is."""
    make("install", f"prefix={tmp_path}")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    sources = {p.stem for p in tmp_path.rglob("goref/**/*.py")}
    compiled = {p.name.split(".")[0] for p in tmp_path.rglob("*.pyc")}
    assert sources - {"goref"} <= compiled  # goref.py is the loader for gdb
    goref = tmp_path / "bin/goref"
    for words in (["--help"], ["core", "/proc/self/exe"], ["attach", "1"]):
        run_cli(words, command=goref, env={"GOREF_BUILD_DIR": ""})
    runs(goref)
    assert before == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}


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
    folders = ["bin", "lib/goref", "lib/python3/dist-packages/goref/verbs",
               "lib/python3.11/dist-packages/goref", "share/man/man1",
               "share/goref"]  # fmt: skip
    done = subprocess.run(
        ["sh", "-c", script, "sh", "", written]
        + [f"{written}/{folder}" for folder in folders],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [
        f"{prefix}/{folder}"
        for folder in (
            "lib/goref",
            "lib/python3/dist-packages/goref/verbs",
            "lib/python3/dist-packages/goref",
            "lib/python3.11/dist-packages/goref",
            "share/man/man1",
            "share/goref",
        )
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

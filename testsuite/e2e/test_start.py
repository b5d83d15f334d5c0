# SPDX-License-Identifier: Apache-2.0
"""A start of gdb pays for goref in a gdbinit with the names of commands and
settings. All else is loaded by the first command that needs it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from plain import PYTHON, python_path
from session import TOP, environment, run_goref, start_command
from toolchains import variants

BUILD = Path(environment()["GOREF_BUILD_DIR"])
LOADER = BUILD / "loader/goref-build.py"
# Modules that commands need, and that would be new in a gdb without goref.
LATER = {
    "_goref",
    "argparse",
    "json",
    "goref.api",
    "goref.args",
    "goref.commands.base",
    "goref.ingdb.complete",
    "goref.ingdb.target",
    "goref.native",
    "goref.params",
    "goref.render",
    "goref.session",
}
REPORT = (
    "python import json, sys; "
    "print(json.dumps([sorted(sys.modules), sys.path, sorted(globals())]))"
)


def gdb(*args, env=None):
    return subprocess.run(
        ["gdb", "-nh", "-batch", *map(str, args)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={**environment(), **(env or {})}, timeout=60,
    )  # fmt: skip


def report(*args):
    done = gdb(*args, "-ex", REPORT)
    assert done.returncode == 0 and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout
    return json.loads(lines[0])


def test_start_is_quiet_and_loads_little():
    plain_modules, plain_path, plain_names = report()
    modules, path, names = report("-x", LOADER)
    added = set(modules) - set(plain_modules)
    assert "goref" in added
    assert not added & LATER
    # Other code in this gdb finds what it would find without goref.
    assert path == plain_path
    assert set(names) <= set(plain_names) | {"__file__", "sys", "json"}


NEEDLESS = {
    "difflib",
    "hashlib",
    "json",
    "shutil",
    "subprocess",
    "goref.lifetime",
    "goref.live",
    "goref.render.why",
    "goref.sources.process",
}


@variants("default")
def test_a_question_loads_only_what_it_needs(farm, variant):
    """A small question pays mostly for modules of Python."""
    target = farm.target("values", variant, "core", (), None)
    modules = "python import sys; print(*sys.modules, sep=chr(10))"
    run = run_goref(target, [modules, "goref goroutines", modules])
    before, after = (set(run.parts[i].split()) for i in (0, 2))
    assert "goref.render.goroutine_list" in after - before
    assert not (after - before) & NEEDLESS


@variants("default")
def test_so_does_the_command_line(farm, variant):
    target = farm.target("values", variant, "core", (), None)
    text = "import sys; from goref.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [PYTHON, "-I", "-S", "-X", "importtime", "-c",
         f"import sys; sys.path.append({python_path()!r}); {text}",
         "core", target.exe, target.core, "goroutines"],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded = set(re.findall(r"\| +([\w.]+)$", done.stderr, re.M))
    assert "goref.render.goroutine_list" in loaded
    assert not loaded & (NEEDLESS | {"gdb", "goref.sources.gdb"})


def test_all_commands_are_there():
    """Help, settings and functions need nothing that comes later."""
    done = gdb(
        "-x", LOADER, "-ex", "help goref suspects", "-ex", "show goref",
        "-ex", "set goref max-depth 5", "-ex", "show goref max-depth",
        "-ex", "help function", "-ex", REPORT,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    assert "Usage: goref suspects" in done.stdout
    assert "The memory limit of a scan is auto." in done.stdout
    assert "levels of a tree is 5." in done.stdout
    assert "_goref_retained" in done.stdout
    modules = json.loads(done.stdout.splitlines()[-1])[0]
    assert not {"_goref", "goref.session"} & set(modules)


@pytest.mark.parametrize("setting", ["memory-limit lots", "threads 17"])
def test_a_wrong_setting_is_one_line(setting):
    name = setting.split()[0]
    done = gdb("-x", LOADER, "-ex", f"set goref {setting}", "-ex",
               f"show goref {name}")  # fmt: skip
    assert len(done.stderr.splitlines()) == 1 and "goref: " in done.stderr
    assert "is auto." in done.stdout


def copy_of(folder):
    """Another installation: Python of its own."""
    shutil.copytree(TOP / "python/goref", folder / "python/goref")
    text, count = re.subn(
        r'_load_goref\("(.*)"\)',
        f'_load_goref("{folder}/python")',
        LOADER.read_text(),
    )
    assert count == 1
    (folder / "goref.py").write_text(text)
    return folder / "goref.py"


def test_of_two_loaders_the_first_wins(tmp_path):
    """Python and module are of one installation."""
    other = copy_of(tmp_path)
    where = "python from goref import native; print(goref.__file__, "
    done = gdb(
        "-x", LOADER, "-x", other, "-ex", "python import goref",
        "-ex", where + "native.load().__file__)",
    )  # fmt: skip
    file, module = map(Path, done.stdout.split())
    assert file.samefile(TOP / "python/goref/__init__.py")
    assert module.samefile(BUILD / "_goref.abi3.so")


def test_build_tree_says_that_it_has_its_own_loader():
    """The file of the package in gdb's system directory leaves the commands to
    the goref of a build tree."""
    script = TOP / "debian/gdbinit.d/goref.py"
    if not script.exists():
        pytest.skip("no debian/ in this tree")
    seen = "python import os; print(os.environ.get('GOREF_OWN_LOADER'))"
    done = subprocess.run(
        [*start_command(["-batch"]), "-ex", seen],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert done.stdout == "yes\n"
    loud = tmp_loader(script)
    assert "sourced" in gdb("-ex", loud).stdout
    assert not gdb("-ex", loud, env={"GOREF_OWN_LOADER": "yes"}).stdout


def tmp_loader(script):
    """The file of the package, whose loader only says that it runs."""
    text = script.read_text()
    assert "/usr/share/goref/goref.py" in text
    text = text.replace("gdb.execute", "print").replace(
        "/usr/share/goref/goref.py", "/dev/null"
    ).replace('"source "', '"sourced "')  # fmt: skip
    return f"python exec({text!r})"

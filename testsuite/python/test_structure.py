# SPDX-License-Identifier: Apache-2.0
"""Who may import whom: testsuite/check-includes has the same of C."""

import ast
import functools
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import goref

PACKAGE = Path(goref.__file__).resolve().parent
IN_GDB = ("goref.ingdb", "goref.sources.gdb")

# Modules of a folder may import these other folders while they load or
# run; under TYPE_CHECKING, only types are imported. "" is python/goref itself.
ALLOWED = {
    "verbs": {""},
    "render": {""},
    "report": {"", "render"},
    "sources": {""},
    "trace": {"", "render", "sources"},
    "commands": {"", "render", "report", "sources", "trace", "verbs"},
    "ingdb": {"", "commands", "render", "sources", "verbs"},
}


class Import(NamedTuple):
    name: str
    """The absolute name of a module, or of something in it."""
    is_typing: bool
    line: int


def modules():
    """Names and files of all modules of the package."""
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(p for p in parts if p != "__init__"), file


def is_typing(test):
    """`if TYPE_CHECKING:`"""
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def base_of(node, name, file):
    """The module that an `import from` names."""
    if not node.level:
        return node.module
    parts = name.split(".")
    drop = node.level - (file.name == "__init__.py")
    kept = parts[: len(parts) - drop]
    return ".".join([*kept, *([node.module] if node.module else [])])


def imports(name, file):
    """All that a module imports, wherever the statement stands."""

    def visit(node, typing):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, typing, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = base_of(node, name, file)
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", typing, node.lineno)
        elif isinstance(node, ast.If) and is_typing(node.test):
            for child in node.body:
                yield from visit(child, True)
            for child in node.orelse:
                yield from visit(child, typing)
        else:
            for child in ast.iter_child_nodes(node):
                yield from visit(child, typing)

    yield from visit(ast.parse(file.read_text()), False)


def folder_of(name):
    """The folder below goref of a module, or of what is in it."""
    parts = name.split(".")
    is_folder = len(parts) > 1 and (PACKAGE / parts[1]).is_dir()
    return parts[1] if is_folder else ""


def is_below(name, place):
    return name == place or name.startswith(place + ".")


@functools.cache
def all_imports():
    return [
        (name, one) for name, file in modules() for one in imports(name, file)
    ]


def test_the_checker_sees_imports():
    """Imports of every kind that the package has are found."""
    found = {(name, one.name, one.is_typing) for name, one in all_imports()}
    assert ("goref.ingdb.front", "gdb", False) in found
    assert ("goref.ingdb.front", "goref.sources.gdb.Gdb", False) in found
    assert ("goref.sources.core", "goref.front.warn", False) in found
    assert ("goref.sources.core", "goref._goref.Scan", True) in found
    assert ("goref.commands.diff", "goref.sources.core", False) in found


def test_who_imports_gdb():
    """The modules of gdb's front end and of its source. Nobody else needs
    them."""
    for name, one in all_imports():
        if any(is_below(name, place) for place in IN_GDB):
            continue
        where = f"{name}:{one.line} imports {one.name}"
        assert not is_below(one.name, "gdb"), where
        # start() registers the commands of gdb.
        if name != "goref":
            assert not any(is_below(one.name, p) for p in IN_GDB), where


@pytest.mark.parametrize("folder", ALLOWED)
def test_arrows_between_folders(folder):
    for name, one in all_imports():
        if folder_of(name) != folder or one.is_typing:
            continue
        if not is_below(one.name, "goref"):
            continue
        to = folder_of(one.name)
        # The modules of gdb's front end ask for what gdb has.
        if name == "goref.sources.gdb" and to == "ingdb":
            continue
        assert to == folder or to in ALLOWED[folder], (
            f"{name}:{one.line} may not import {one.name}"
        )


def test_all_folders_have_arrows():
    assert {folder_of(name) for name, _ in modules()} - {""} == {*ALLOWED}


def test_outside_gdb_an_import_loads_no_native_half():
    """Each module can be imported, and starts nothing."""
    names = [
        name
        for name, _ in modules()
        if not any(is_below(name, place) for place in IN_GDB)
    ]
    assert {"goref", "goref.api", "goref.sources.core"} < {*names}
    script = f"""
import importlib, sys, threading
for name in {names!r}:
    importlib.import_module(name)
    assert "gdb" not in sys.modules, name
with open("/proc/self/maps") as file:
    assert "_goref" not in file.read()
assert threading.active_count() == 1
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c",
         f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{script}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

# SPDX-License-Identifier: Apache-2.0
"""_goref.pyi says of the native module what is true."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PYI = TOP / "python/goref/_goref.pyi"
DECLARED = ast.parse(PYI.read_text())
CLASSES = {n.name: n for n in DECLARED.body if isinstance(n, ast.ClassDef)}
FUNCTIONS = {n.name: n for n in DECLARED.body if isinstance(n, ast.FunctionDef)}
PLAIN = [name for name, node in CLASSES.items() if not node.bases]


def bases_of(node):
    """The names of `Base' and `module.Base'."""
    return [getattr(base, "attr", "") or base.id for base in node.bases]


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_module_has_what_the_pyi_names(goref):
    types = {
        node.target.id: node.annotation.id
        for node in DECLARED.body
        if isinstance(node, ast.AnnAssign)
    }
    assert public(dir(goref)) == {*types, *CLASSES, *FUNCTIONS}
    for name, type_ in types.items():
        assert type(getattr(goref, name)).__name__ == type_


def test_rows_are_named_tuples(goref):
    assert goref.SuspectHop._fields == ("vertex", "step")
    assert goref.SuspectHop.__bases__ == (tuple,)
    assert goref.SuspectHop.__module__ == "_goref"


@pytest.mark.parametrize(
    "name", [n for n, node in CLASSES.items() if "Error" in n]
)
def test_exception_has_the_base_of_the_stub(goref, name):
    bases = [base.__name__ for base in getattr(goref, name).__bases__]
    assert bases == bases_of(CLASSES[name])


def test_signatures(goref):
    for function, text in (
        (goref.Process, "(pid)"),
        (goref.Scan.set_progress, "($self, progress, /)"),
        (goref.Scan.native, "($self)"),
        (goref.Result.retained, "($self, max_roots=0)"),
        (goref.debug_file, "($module, path, folder='/usr/lib/debug')"),
    ):
        assert function.__text_signature__ == text
    for owner in PLAIN:
        for method in public(vars(getattr(goref, owner))):
            assert inspect.signature(getattr(getattr(goref, owner), method))


UNDECLARED = {
    "struct": (
        "  # gr_suspect_info",
        "",
        "Suspect: no struct is named behind it",
    ),
    "type": (
        "is_chain: bool",
        "is_chain: Bool",
        "Suspect.is_chain: no conversion makes Bool",
    ),
    "condition": (
        "Total | None  # if has_stats",
        "Total | None",
        "Verdict.stats: it may be None, and no comment says when",
    ),
    "comment": (
        "Total | None  # if has_stats",
        "Total | None  # unless lost",
        'Verdict.stats: "unless lost" is no member and no function',
    ),
    "rows": (
        "Rows[Goroutine]",
        "Rows[Label | None]",
        "GoroutineList.rows: no conversion makes Rows",
    ),
    "method": (
        "self, max_roots",
        "self, *, max_roots",
        "retained: * is not understood",
    ),
}


@pytest.mark.parametrize("case", UNDECLARED)
def test_stub_that_does_not_declare(tmp_path, case):
    """The compiler sees wrong names and types; make-rows.py refuses the rest
    with the name of the field."""
    before, after, error = UNDECLARED[case]
    text = PYI.read_text()
    assert text.count(before) == 1
    line = text[: text.index(before)].count("\n") + 1
    (tmp_path / "x.pyi").write_text(text.replace(before, after))
    maker = [sys.executable, TOP / "build-aux/make-rows.py", "x.pyi", ".", "."]
    done = subprocess.run(maker, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"x.pyi:{line}: {error}")
    assert [file.name for file in tmp_path.iterdir()] == ["x.pyi"]


def test_classes_that_are_final_have_no_subclass(goref):
    for name in PLAIN:
        decorators = [d.id for d in CLASSES[name].decorator_list]
        assert decorators == ["final"]
        with pytest.raises(TypeError):
            type("Sub", (getattr(goref, name),), {})


def test_repr_shows_addresses_in_hexadecimal(goref):
    hop = goref.Hop(name="[0]. (*main.Node)", type=None, addr=0xC000012340)
    assert (
        repr(hop) == "Hop(name='[0]. (*main.Node)', type=None, "
        "addr=0xc000012340)"
    )
    root = goref.FreeSlot(addr=0x10, held_by=None)
    assert repr(root) == "FreeSlot(addr=0x10, held_by=None)"
    # Rows in rows, and a row of somebody's own class.
    total = goref.TypeTotal(type="int", total=goref.Total(2, 1 << 64))
    assert (
        repr(total) == "TypeTotal(type='int', "
        "total=Total(objects=2, bytes=18446744073709551616))"
    )
    sub = type("Sub", (goref.Total,), {})
    assert repr(sub(1, 2)) == "Total(objects=1, bytes=2)"


def test_wrong_arguments_are_refused(goref):
    with pytest.raises(TypeError):
        goref.check_writable()
    with pytest.raises(TypeError):
        goref.check_writable(path="x", mode="w")
    with pytest.raises(goref.ArgumentError, match="no kind of target: x"):
        goref.Scan("x", lambda address, length: b"", [("x", None, None)], [])
    with pytest.raises(goref.ArgumentError, match="no executable"):
        goref.Scan("core", lambda address, length: b"", [], [])
    with pytest.raises(TypeError):
        goref.Result()

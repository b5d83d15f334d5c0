# SPDX-License-Identifier: Apache-2.0
"""_goref.pyi says of the native module what is true."""

import ast
import inspect
from pathlib import Path

import pytest

PYI = Path(__file__).resolve().parents[2] / "python/goref/_goref.pyi"
STUB = ast.parse(PYI.read_text())
CLASSES = {n.name: n for n in STUB.body if isinstance(n, ast.ClassDef)}
FUNCTIONS = {n.name: n for n in STUB.body if isinstance(n, ast.FunctionDef)}
METHODS = {
    (name, method.name): method
    for name, node in CLASSES.items()
    for method in node.body
    if isinstance(method, ast.FunctionDef)
}


def name_of(base):
    """Of `Base', `Base[...]' or `module.Base'."""
    if isinstance(base, ast.Attribute):
        return base.attr
    return getattr(base, "value", base).id


def bases_of(node):
    return [name_of(base) for base in node.bases]


ROWS = [n for n, node in CLASSES.items() if bases_of(node) == ["NamedTuple"]]
PLAIN = [name for name, node in CLASSES.items() if not node.bases]


def fields_of(node):
    return [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]


def declared(function):
    """Name, kind and default of each parameter, as the declared has them."""
    args = function.args
    assert not args.vararg and not args.kwarg and not args.kwonlyargs
    positional = [*args.posonlyargs, *args.args]
    none = [inspect.Parameter.empty] * (len(positional) - len(args.defaults))
    defaults = none + [ast.literal_eval(d) for d in args.defaults]
    kinds = [inspect.Parameter.POSITIONAL_ONLY] * len(args.posonlyargs)
    kinds += [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(args.args)
    rows = zip([a.arg for a in positional], kinds, defaults)
    return [row for row in rows if row[0] not in ("self", "cls")]


def defined(function):
    """The same, as the module has them (__text_signature__)."""
    assert function.__text_signature__, function
    return [
        (p.name, p.kind, p.default)
        for p in inspect.signature(function).parameters.values()
        if p.name != "self"
    ]


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_stub_is_understood():
    """No test below is about nothing."""
    assert len(ROWS) > 10
    assert PLAIN == ["Process", "Scan", "Vertices", "MapEntries", "Result"]
    assert len(METHODS) > 10
    assert set(FUNCTIONS) == {
        "check_writable",
        "core_facts",
        "core_modules",
        "debug_file",
        "elf_facts",
        "process_reader",
        "read_registers",
        "why_not_traced",
        "write_tree_profile",
        "write_file",
    }


def test_module_has_what_the_stub_names(goref):
    constants = set(fields_of(STUB))
    wanted = constants | set(CLASSES) | set(FUNCTIONS)
    assert public(dir(goref)) == wanted
    types = {n.target.id: n.annotation.id for n in STUB.body
             if isinstance(n, ast.AnnAssign)}  # fmt: skip
    for name, type_ in types.items():
        assert type(getattr(goref, name)).__name__ == type_


@pytest.mark.parametrize("name", ROWS)
def test_row_has_the_fields_of_the_stub(goref, name):
    row = getattr(goref, name)
    assert list(row._fields) == fields_of(CLASSES[name])
    assert row.__bases__ == (tuple,)
    assert row.__module__ == "_goref"


@pytest.mark.parametrize(
    "name", [n for n, node in CLASSES.items() if "Error" in n]
)
def test_exception_has_the_base_of_the_stub(goref, name):
    bases = [base.__name__ for base in getattr(goref, name).__bases__]
    assert bases == bases_of(CLASSES[name])


@pytest.mark.parametrize("name", PLAIN)
def test_class_has_the_methods_of_the_stub(goref, name):
    declared = {method for owner, method in METHODS if owner == name}
    assert public(vars(getattr(goref, name))) == public(declared)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_takes_what_the_stub_says(goref, name):
    assert defined(getattr(goref, name)) == declared(FUNCTIONS[name])


@pytest.mark.parametrize("row", METHODS, ids=".".join)
def test_method_takes_what_the_stub_says(goref, row):
    owner, name = row
    function = getattr(goref, owner)
    if name != "__new__":
        function = getattr(function, name)
    assert defined(function) == declared(METHODS[row])


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

# SPDX-License-Identifier: Apache-2.0
"""The page of goref report for programs with C memory: figures against what the
program counted and what the verbs say."""

import pytest

import natives
from natives import CENTRAL
from reports import embedded, write
from toolchains import variants


@pytest.fixture(scope="module")
def structs(farm):
    """structs(variant): the program with two engines."""
    return lambda variant=CENTRAL: farm.target("native_struct", variant)


@pytest.fixture(scope="module")
def lost(farm):
    """The program that has lost blocks of C."""
    return farm.target(
        "native_leaks", CENTRAL, args=[str(natives.library())]
    )


@pytest.fixture(scope="module")
def pages(structs, lost, tmp_path_factory):
    """The pages of both, by the name of the program."""
    folder = tmp_path_factory.mktemp("native")
    found = {}
    for target in structs(), lost:
        path = folder / f"{target.exe.name}.html"
        write(target, path)
        found[target.exe.name] = path
    return found


def held_c_bytes(truth):
    """The bytes of C that the engines and their table have."""
    return truth["table"] + sum(
        engine["by_index"]["bytes"] + engine["by_buffer"]["bytes"]
        for engine in truth["engines"].values()
    )


# ------------------------------------------------- what the verbs say, too


@variants("cgo")
def test_holders_of_c(structs, variant, tmp_path):
    """The variables of the program hold its blocks, with all their bytes."""
    target = structs(variant)
    path = tmp_path / "page.html"
    write(target, path)
    found = embedded(path)
    assert not found["missing"]
    of_c = [row["key"] for row in found["types"]["rows"] if row["c_bytes"]]
    held = sum(
        row["bytes"]
        for key in of_c
        for row in found["type_holders"][key]["rows"]
        if row["name"] in ("main.big", "main.small")
    )
    assert held == held_c_bytes(target.truth)
    for key in of_c:
        whole = found["type_holders"][key]
        parts = sum(row["objects"] for row in whole["rows"])
        assert parts + whole["left_out_objects"] == whole["objects"] > 0


@variants("cgo")
def test_roots_retain_go(structs, variant):
    """A walk counts memory of Go, and so do the retained sizes of its
    roots."""
    target = structs(variant)
    document = natives.asked(target, "scan", "--retained", "--top", "0")
    retained = {r["name"]: r["retained_bytes"] for r in document["roots"]}
    for name, engine in target.truth["engines"].items():
        assert retained[f"main.{name}"] == engine["go_bytes"]


def test_many_roots_of_c(lost):
    """Data of files, stacks and threads are roots of the graph, and none of a
    walk."""
    document = natives.asked(lost, "scan", "--retained", "--top", "0")
    names = {root["name"] for root in document["roots"]}
    assert "main.goBig" in names and "global_blocks" not in names

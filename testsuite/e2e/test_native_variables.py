# SPDX-License-Identifier: Apache-2.0
"""Variables of C as they are asked for, and as holders on paths, against the
blocks that the program says they hold."""

import os
import re
import subprocess

import pytest

import natives
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if

MAX_HELD = 20  # pointers that `why' lists
FIND = """
scan = heap._scan()
place = scan.resolve("global_blocks")
wrong = (*place[:2], 0xFFFFFFF0, *place[3:])
print(json.dumps([scan.find(place), scan.find(wrong)]))
"""


@pytest.fixture(scope="module")
def leaks(farm):
    args = [str(natives.library())]
    return farm.target("native_leaks", CENTRAL, args=args)


@pytest.fixture(scope="module")
def types(farm):
    return farm.target("native_types", CENTRAL)


def text_of(target, *words):
    done = run_cli([*natives.where(target), *words])
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def kept(target, kind):
    """{address: bytes} of the held blocks of a kind."""
    return dict(target.truth["kept"][kind])


def named(target, name):
    """The addresses of the blocks that the program has noted so."""
    rows = target.truth["blocks"]
    return [row["address"] for row in rows if row["name"] == name]


def test_array(leaks):
    """The blocks that an array leads to, and what they add up to."""
    blocks = kept(leaks, "globals")
    document = natives.asked(leaks, "why", "global_blocks")
    variable = document["variable"]
    assert variable["type"] == f"[{len(blocks)}]*void"
    assert variable["section"] == "bss"
    assert variable["retained_c_bytes"] == sum(blocks.values())
    assert variable["retained_bytes"] == 0
    held = variable["holds"]
    assert len(held) == MAX_HELD
    assert variable["others"] == len(blocks) - MAX_HELD
    for i, row in enumerate(held):
        assert row["name"] == f"global_blocks[{i}]"
        assert row["kind"] == "c"
        assert blocks[int(row["base"], 16)] == row["bytes"]
    text = text_of(leaks, "why", "global_blocks")
    assert "points to no object" not in text
    assert text.splitlines()[0].endswith(" (bss)")


def test_type_of_elements(leaks):
    """Debug information has the elements behind the array."""
    variable = natives.asked(leaks, "why", "kept_words")["variable"]
    assert variable["type"] == "[8]*uintptr_t"


def test_pointers_to_free_memory(leaks):
    """A variable that leads to freed blocks alone holds nothing."""
    variable = natives.asked(leaks, "why", "stale")["variable"]
    assert variable["holds"] == [] and variable["retained_c_bytes"] == 0
    assert "points to no object" in text_of(leaks, "why", "stale")
    document = natives.asked(leaks, "dominators", "stale")
    [row] = document["asked"]
    assert row["retained_c_bytes"] == 0 and row["type"] == "[110]*void"


def test_dominators_of_array(leaks):
    blocks = kept(leaks, "globals")
    document = natives.asked(
        leaks, "dominators", "global_blocks", "--top", "1000"
    )
    [row] = document["asked"]
    assert row["retained_c_bytes"] == sum(blocks.values())
    assert (row["kind"], row["type"]) == ("C data", "[150]*void")
    below = sum(child["retained_c_bytes"] for child in document["children"])
    assert below == sum(blocks.values())


def test_element(leaks):
    """A path has the variable with its type, and the element behind it."""
    document = natives.asked(leaks, "why", "global_blocks[3]")
    assert int(document["object"]["base"], 16) in kept(leaks, "globals")
    [path] = document["paths"]
    assert path[0]["type"] == "[150]*void"
    assert path[0]["name"] == "global_blocks"
    assert path[1]["name"] == "[3]"
    word = int(path[0]["address"], 16) + 3 * 8
    assert int(path[1]["word"], 16) == word


@pytest.mark.parametrize("kind", ["frame", "register", "mapping", "shared"])
def test_root_without_type(leaks, kind):
    """A stack, registers and other memory are no variables and no blocks."""
    [address] = kept(leaks, kind)
    document = natives.asked(leaks, "why", f"{address:#x}")
    assert not document["paths"][0][0]["type"]
    lines = text_of(leaks, "why", f"{address:#x}").splitlines()
    [root] = [line for line in lines if line.startswith("     ")]
    assert "C block" not in root


def root_of(target, kind):
    """The name and the kind of the root that holds the block of a kind."""
    [address] = kept(target, kind)
    hop = natives.asked(target, "why", f"{address:#x}")["paths"][0][0]
    return hop["name"], hop["kind"]


def test_shared_memory(leaks):
    """It is no data of a file, whatever the kernel calls it."""
    name = "shared memory /dev/zero", "C memory"
    assert root_of(leaks, "shared") == name


def test_variables_of_a_thread(leaks):
    """They have the number of the thread: the first one has the least."""
    name, kind = root_of(leaks, "main tls")
    assert kind == "C thread"
    number = int(re.fullmatch(r"memory of thread (\d+)", name)[1])
    histogram = natives.asked(
        leaks, "histogram", "--by", "root", "--top", "0"
    )
    names = " ".join(row["key"] for row in histogram["rows"])
    others = re.findall(r"C stack of thread (\d+)", names)
    assert others and number < min(map(int, others))


def test_address_of_data(leaks):
    """An address in data of C is in a variable, like one in data of Go."""
    variable = natives.asked(leaks, "why", "global_blocks")["variable"]
    address = int(variable["address"], 16) + 16
    document = natives.asked(leaks, "why", f"{address:#x}")
    assert document["description"] == "bss: variable global_blocks"


def test_struct(types):
    """Pointers of a struct of C, and fields on the path behind it."""
    variable = natives.asked(types, "why", "holder")["variable"]
    assert variable["type"] == "struct holder"
    held = {row["name"]: row["base"] for row in variable["holds"]}
    assert held["holder.first"] == named(types, "node of holder")[0]
    assert held["holder.any"] == named(types, "any")[0]
    document = natives.asked(types, "why", named(types, "any")[1])
    [path] = document["paths"]
    assert path[0]["type"] == "[2]struct holder"
    assert path[1]["name"] == "[1].any"


def test_part(types):
    """A part of a variable has pointers, but no size of its own."""
    document = natives.asked(types, "why", "holders[1].variant")
    variable = document["variable"]
    [row] = variable["holds"]
    assert row["base"] == named(types, "variant")[1]
    assert variable["retained_c_bytes"] is None
    words = ["dominators", "holders[1]"]
    done = run_cli([*natives.where(types), *words])
    assert done.returncode == 1
    assert "has several fields or elements" in done.stderr


def test_saved(leaks, tmp_path):
    """A saved file says the same."""
    file = tmp_path / "saved.goref"
    text_of(leaks, "save", file)
    for expression in "global_blocks", "global_blocks[3]", "kept_words":
        saved = natives.opened(file, "why", expression)
        of_core = natives.asked(leaks, "why", expression)
        for key in "object", "variable", "paths", "description":
            assert saved[key] == of_core[key]


@pytest.mark.parametrize(
    "block, variable",
    [("derived", "base"), ("circle", "shapes"),
     ("last", "geometry::Shape::last")],
)  # fmt: skip
def test_name_of_cpp(types, block, variable):
    """Symbols of C++ are read as c++filt does."""
    address = named(types, block)[-1]
    [path] = natives.asked(types, "why", address)["paths"]
    assert path[0]["name"] == variable


@pytest.mark.parametrize("kind", ["frame", "shared", "main tls", "mapping"])
def test_memory_by_name(leaks, kind):
    """A root that is no variable can be asked for by the name on a path."""
    name, _ = root_of(leaks, kind)
    document = natives.asked(leaks, "why", name)
    least = sum(kept(leaks, kind).values())
    assert document["object"] is None
    assert document["retained_c_bytes"] >= least
    [row] = natives.asked(leaks, "dominators", name)["asked"]
    assert row["name"] == name
    assert row["retained_c_bytes"] == document["retained_c_bytes"]
    assert text_of(leaks, "why", name).startswith(f"{name}: ")


@pytest.mark.parametrize("kind", ["library", "register"])
def test_word_by_name(leaks, kind):
    """A variable without a type, and registers, stand for their block."""
    [address] = kept(leaks, kind)
    name, _ = root_of(leaks, kind)
    document = natives.asked(leaks, "why", name)
    assert int(document["object"]["base"], 16) == address
    [path] = document["paths"]
    assert path[1]["conservative"] is True


def test_name_of_no_root(leaks):
    done = run_cli([*natives.where(leaks), "why", "C stack of thread 1"])
    assert done.returncode == 1
    assert 'is called "C stack of thread 1"' in done.stderr
    assert "did you mean" not in done.stderr


def test_cpp_by_name(types):
    """The name of a variable of C++ on a path is an expression, too."""
    document = natives.asked(types, "why", "geometry::Shape::last")
    assert document["object"]["base"] == named(types, "last")[-1]


def test_type_that_is_none(leaks):
    """A script may give any number for a type: no variable has it."""
    found, wrong = natives.scripted(leaks, FIND)
    assert found is not None and wrong is None


HEAD = 8  # bytes of malloc, of which a block has as many more as it must


def test_arrays_of_one_length(farm):
    """Debug information of version 5 may say the length once for all."""
    target = farm.target("native_twins", CENTRAL)
    truth = target.truth
    for name, size in ("one_twin", "one_bytes"), ("other_twin", "other_bytes"):
        variable = natives.asked(target, "why", name)["variable"]
        assert variable["type"] == f"[{truth['length']}]*char"
        assert len(variable["holds"]) == truth["length"]
        block = -(-(truth[size] + HEAD) // 16) * 16
        assert variable["retained_c_bytes"] == truth["length"] * block
    held = natives.asked(target, "why", "pairs")["variable"]["holds"]
    first = natives.asked(target, "object", held[0]["address"])
    assert first["type"] == "struct pair"
    [reference] = first["references"]
    assert reference["name"] == ".first"


def test_program_without_a_file(farm):
    """A program may run from memory, as containers begin: its data is no
    shared memory."""
    skip_if(attach_reason())
    exe = farm.target("native_twins", CENTRAL).exe
    memory = os.memfd_create("cloned")
    os.write(memory, exe.read_bytes())
    words = [f"/proc/self/fd/{memory}"]
    process = subprocess.Popen(
        words, pass_fds=[memory], stdin=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout.readline().startswith("{")
        done = run_cli(["attach", str(process.pid), "histogram", "--by",
                        "holder"])  # fmt: skip
    finally:
        process.communicate()
        os.close(memory)
    assert done.returncode == 0, done.stderr
    for name in "one_twin", "other_twin":
        assert re.search(rf" {name}\b", done.stdout), done.stdout
    assert "shared memory" not in done.stdout

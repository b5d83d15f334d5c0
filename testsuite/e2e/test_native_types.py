# SPDX-License-Identifier: Apache-2.0
"""Types of blocks that only C and C++ tell: by variables with debug information,
and by vtables. The program says which type each of its blocks should have, and
for which of them nothing tells one."""

import hashlib
import json
import shutil
import subprocess

import pytest

import natives
from natives import CENTRAL
from plain import told
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import Variant, cache_dir, variants

# A library, which nothing but its own data tells about.
LIBRARY = """
#include <stdlib.h>

struct buffer {
	char bytes[64];
};

struct session {
	struct session *next;
	struct buffer *buffer;
	long id;
};

struct handle;
struct handle *open_handle(void *(*note)(const char *, void *, const char *));

static struct session *sessions[3];
struct session *current;
static __attribute__((used)) struct handle *handle;

void fill(void *(*note)(const char *, void *, const char *))
{
	for (int i = 0; i < 3; i++) {
		sessions[i] = note("session", calloc(1, sizeof(**sessions)),
				   "struct session");
		sessions[i]->buffer = note("buffer", calloc(1, 64),
					   "struct buffer");
	}
	current = note("current", calloc(1, sizeof(*current)),
		       "struct session");
	handle = open_handle(note);
}
"""
# The first file only declares these.
OTHER = """
#include <stdlib.h>

struct page {
	long number;
};

struct handle {
	long size;
	struct page *page;
};

struct handle *open_handle(void *(*note)(const char *, void *, const char *))
{
	struct handle *handle =
		note("handle", calloc(1, sizeof(*handle)), "struct handle");

	handle->page =
		note("page", calloc(1, sizeof(*handle->page)), "struct page");
	return handle;
}
"""
OF_LIBRARY = {"session", "buffer", "current", "handle", "page"}

TYPES = """
print(json.dumps({
    str(block.address): str(block.type or "")
    for block in heap.objects() if is_c(block)
}))
"""
SAVED = """
import json, sys, goref

heap = goref.open(sys.argv[1])
is_c = lambda thing: getattr(thing, "kind", None) == "c"
"""


def run(*line):
    subprocess.run([str(word) for word in line], check=True)


def library(debug):
    """The library; debug: where its debug information is (inside, apart, or
    nowhere)."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    text = LIBRARY + OTHER
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = cache_dir() / f"types-{debug}-{key}"
    path = folder / "libsessions.so"
    if path.exists():
        return path
    folder.mkdir(exist_ok=True)
    made = folder / "made.so"
    sources = folder / "sessions.c", folder / "handle.c"
    for source, text in zip(sources, [LIBRARY, OTHER]):
        source.write_text(text)
    run(compiler, "-g", "-shared", "-fPIC", "-o", made, *sources)
    if debug == "apart":
        apart = folder / "libsessions.debug"
        run("objcopy", "--only-keep-debug", made, apart)
        run("strip", made)
        run("objcopy", f"--add-gnu-debuglink={apart}", made)
    elif debug == "nowhere":
        run("strip", made)
    made.replace(path)
    return path


@pytest.fixture(scope="module")
def programs(farm):
    """programs(variant, kind, debug): the program with the library."""

    def target(variant=CENTRAL, kind="core", debug="inside"):
        if kind == "live":
            skip_if(attach_reason())
        args = [str(library(debug))]
        return farm.target("native_types", variant, kind, args=args)

    return target


def rows(target):
    found = target.truth["blocks"]
    assert len(found) > 70
    return found


def wrong(target, found, expected=lambda row: row["type"]):
    """The rows of the truth whose type is another one."""
    return [
        (row["name"], expected(row), found.get(str(int(row["address"], 16))))
        for row in rows(target)
        if found.get(str(int(row["address"], 16))) != expected(row)
    ]


KINDS = pytest.mark.parametrize("kind", ["core", "gcore", "live"])


@KINDS
@variants("cgo")
def test_types(programs, variant, kind):
    target = programs(variant, kind)
    assert wrong(target, natives.scripted(target, TYPES)) == []


def test_apart(programs):
    """The debug information of a library may be in another file."""
    target = programs(debug="apart")
    assert wrong(target, natives.scripted(target, TYPES)) == []


def test_library_without_debug_information(programs):
    target = programs(debug="nowhere")

    def expected(row):
        return "" if row["name"] in OF_LIBRARY else row["type"]

    assert wrong(target, natives.scripted(target, TYPES), expected) == []


@pytest.mark.parametrize("release", ["go1.19", "go1.24", "go1.27"])
def test_without_debug_information(programs, release):
    """Symbols tell classes with a vtable, and nothing else."""
    target = programs(Variant(release, "cgo-nodwarf"))

    def expected(row):
        # A struct of C++ without a vtable; and what the others lead to.
        has_vtable = "::" in row["type"] and row["name"] != "plain"
        of_library = row["name"] in OF_LIBRARY
        return row["type"] if has_vtable or of_library else ""

    assert wrong(target, natives.scripted(target, TYPES), expected) == []


def test_stripped(programs):
    """No type is made up."""
    target = programs(Variant("go1.24", "cgo-stripped"), debug="nowhere")
    found = natives.scripted(target, TYPES)
    assert wrong(target, found, lambda row: "") == []


@pytest.mark.parametrize("values", [[], ["--values"]])
@pytest.mark.parametrize("kind", ["core", "live"])
def test_saved(programs, tmp_path, kind, values):
    """A saved file tells the same without the files of the program."""
    target = programs(kind=kind)
    file = tmp_path / "saved.goref"
    where = natives.where(target)
    done = run_cli([*where, "save", *values, file])
    assert done.returncode == 0, done.stderr
    moved = library("inside").with_suffix(".moved")
    library("inside").rename(moved)
    try:
        found = told(SAVED + TYPES, file)
    finally:
        moved.rename(library("inside"))
    assert wrong(target, found) == []


def addresses(target, type_):
    return {row["address"] for row in rows(target) if row["type"] == type_}


def address(target, name):
    return next(r["address"] for r in rows(target) if r["name"] == name)


def test_verbs(programs):
    """The types are those of all answers, like those of Go's own fields."""
    target = programs()
    nodes = addresses(target, "struct node")
    histogram = natives.asked(target, "histogram", "--top", "0")
    row = next(r for r in histogram["rows"] if r["key"] == "struct node")
    assert row["objects"] == len(nodes)
    types = natives.native(target)["types"]
    row = next(r for r in types if r["type"] == "struct node")
    assert row["blocks"] == len(nodes)
    document = natives.asked(target, "objects", "--type", "^struct node$")
    found = {row["address"] for row in document["objects"]}
    assert found == nodes
    document = natives.asked(target, "object", address(target, "table"))
    assert document["type"] == "struct table"
    why = natives.asked(target, "why", address(target, "buffer"))
    assert "struct session" in json.dumps(why)
    assert "sessions in libsessions.so" in json.dumps(why)


def test_leaks(programs):
    """A leaked object of C++ has the name of its class."""
    target = programs()
    lost = target.truth["lost"]
    document = natives.leaks(target)
    type_ = "geometry::Box<long, 20>"
    groups = [g for g in document["groups"] if g["type"] == type_]
    (group,) = groups
    assert lost - 2 <= group["blocks"] <= lost  # an old word may hold one
    assert group["symbol"].startswith("_ZTVN8geometry3BoxIlLi20EEE")
    text = run_cli([*natives.where(target), "native", "leaks"]).stdout
    assert f"  {type_}\n" in text


def test_fields(programs):
    """A field of C has its name also where objects are counted by field."""
    target = programs()
    nodes = addresses(target, "struct node")
    histogram = natives.asked(
        target, "histogram", "--by", "field", "--top", "0"
    )
    found = {row["key"]: row["objects"] for row in histogram["rows"]}
    # Each node has an entry, and only the two before the last have a next one.
    assert found["struct node.entry"] == len(nodes)
    assert found["struct node.next"] == 2
    assert not [key for key in found if key.startswith("struct node+")]


def test_blocks_without_a_type(programs):
    """Tables of types have them as `C block': it can be asked for."""
    target = programs()
    histogram = natives.asked(target, "histogram", "--top", "0")
    [row] = [r for r in histogram["rows"] if r["key"] == "C block"]
    document = natives.asked(target, "objects", "--type", "^C block$")
    found = {row["address"] for row in document["objects"]}
    assert addresses(target, "") <= found
    assert len(found) == row["objects"]
    merged = natives.asked(target, "why", "--type", "C block")
    assert merged["objects"] == row["objects"]
    assert merged["bytes"] == row["c_bytes"]

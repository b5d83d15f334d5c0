# SPDX-License-Identifier: Apache-2.0
"""Sizes as Go, C and their sum, in every answer of the graph: against what the
program counted."""

import json
import re

import pytest

import natives
from browser import Page
from natives import CENTRAL
from reports import embedded
from session import run_cli, run_goref
from targets import attach_reason, skip_if
from test_native_graph import c_bytes_of
from toolchains import variants

NODES = 60000  # of the larger tree: enough for a suspect
MIB = 1 << 20


def sizes(row, name="retained"):
    """The part in Go, and that in C."""
    return row[f"{name}_bytes"], row[f"{name}_c_bytes"]


def text_of(target, *words):
    done = run_cli([*natives.where(target), *words])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def large(farm):
    """The program with a large tree in C."""

    def target(variant=CENTRAL):
        return farm.target("native_struct", variant, args=[str(NODES)])

    return target


def truth_of(target):
    """The bytes that the larger engine holds, in Go and in C."""
    engine = target.truth["engines"]["big"]
    return engine["go_bytes"], c_bytes_of(engine)


@variants("cgo")
def test_suspect(large, variant):
    """Its parts and the rest add up, in Go and in C."""
    target = large(variant)
    document = natives.asked(target, "suspects")
    [row] = document["suspects"]
    assert row["name"] == "main.big"
    assert sizes(row) == sizes(document["largest"]) == truth_of(target)
    assert row["retained_c_bytes"] > 4 * MIB
    parts = row["accumulated"]
    for part, whole, rest in (
        ("bytes", "retained_bytes", "rest_bytes"),
        ("retained_c_bytes", "retained_c_bytes", "rest_c_bytes"),
    ):
        assert sum(one[part] for one in parts) + row[rest] == row[whole]
        assert row[rest] >= 0
    assert sizes(row["path"][0]) == truth_of(target)
    # In a tree of C, all that accumulates is C's.
    assert sum(part["bytes"] for part in parts) == 0
    whole = natives.asked(target, "dominators", "--depth", "0")
    assert sizes(document, "reached") == sizes(whole, "reached")


def test_suspect_as_text(large):
    target = large()
    text = text_of(target, "suspects")
    _, in_c = truth_of(target)
    assert "main.big holds" in text
    assert f"C {in_c / MIB:.1f} MiB)" in text
    assert "(all in C)" in text
    assert f"C {in_c / MIB:.1f} MiB" in text_of(target, "overview")


def test_suspect_in_gdb(large):
    """The command inside gdb says the same."""
    target = large()
    run = run_goref(target, ["goref suspects --json"], in_gdb=True)
    [row] = run.json(0)["suspects"]
    assert sizes(row) == truth_of(target)


def test_suspect_without_c(farm):
    """The text of a program without C memory has no word of it."""
    target = farm.target("suspects", CENTRAL._replace(flavour="default"))
    text = text_of(target, "suspects")
    assert "suspect" in text
    assert "in C" not in text and "(Go " not in text and "; Go " not in text
    document = natives.asked(target, "suspects")
    for row in document["suspects"]:
        assert row["retained_c_bytes"] == row["rest_c_bytes"] == 0


@variants("cgo", releases=("go1.24",))
def test_neighbours_of_an_object(large, variant):
    """Those that refer to an object, and those that it refers to."""
    target = large(variant)
    engine = target.truth["engines"]["big"]
    document = natives.asked(target, "object", engine["address"])
    [holder] = document["referrers"]
    assert sizes(holder) == truth_of(target) == sizes(document["dominator"])
    [index] = [
        row
        for row in document["references"]
        if row["address"] == engine["index"]
    ]
    assert sizes(index) == (0, engine["by_index"]["bytes"])
    [notes] = [
        row
        for row in document["references"]
        if row["retained_c_bytes"] == 0 and row["kind"] == "object"
    ]
    assert notes["retained_bytes"] == 2048


def test_paths(large):
    target = large()
    engine = target.truth["engines"]["big"]
    document = natives.asked(target, "why", engine["first"], "--paths", "2")
    path = document["paths"][0]
    assert sizes(path[0]) == truth_of(target)
    assert sizes(document["holder"], "freed") == truth_of(target)
    assert sizes(document)[0] == sizes(path[-1])[0] == 0
    assert sizes(document)[1] == sizes(path[-1])[1] >= 48 + 64
    document = natives.asked(target, "why", engine["address"])
    assert sizes(document) == truth_of(target)
    assert sizes(document["path"][-1]) == truth_of(target)


def test_variable(large):
    """The text says what nothing would hold without a variable. The collector
    frees only the part in Go."""
    target = large()
    go_bytes, in_c = truth_of(target)
    for place in "main.big", target.truth["engines"]["big"]["index"]:
        text = text_of(target, "why", place)
        assert re.search(
            rf"ithout it, Go would free .* \({go_bytes:,} bytes\), and "
            rf"nothing would hold {in_c / MIB:.1f} MiB \({in_c:,} bytes\) of C",
            text,
        )


def test_histogram(large):
    """By root, the sizes are exact; those of a type are lower bounds."""
    target = large()
    words = ["histogram", "--retained", "--by"]
    for key, name in ("root", "main.big"), ("type", "main.engine"):
        document = natives.asked(target, *words, key)
        [row] = [row for row in document["rows"] if row["key"] == name]
        small = target.truth["engines"]["small"]
        go_bytes, in_c = truth_of(target)
        if key == "type":
            go_bytes, in_c = go_bytes + small["go_bytes"], in_c + c_bytes_of(
                small
            )
        assert sizes(row) == (go_bytes, in_c)
    exact = natives.asked(target, "histogram", "--exact", "main.engine")
    assert sizes(exact["exact"]) == (go_bytes, in_c + target.truth["table"])
    assert f", C {in_c / MIB:.1f} MiB)" in text_of(target, *words, "type")
    text = text_of(target, "histogram", "--exact", "main.engine")
    whole = in_c + target.truth["table"]
    assert f"and nothing would hold {whole / MIB:.1f} MiB of C;" in text


@pytest.mark.parametrize("kind", ["core", "live"])
def test_what_was_not_read(farm, kind):
    """`hung' and `leaks' do not copy the C memory of a process: no number
    stands for it."""
    if kind == "live":
        skip_if(attach_reason())
    target = farm.target("native_struct", CENTRAL, kind)
    found = natives.asked(target, "goroutines", "--bytes", "--group", "state")
    leaks = natives.asked(target, "leaks")
    is_known = kind == "core"
    for row in found, *found["groups"]:
        assert (row["exclusive_c_bytes"] is not None) == is_known
    assert (leaks["retained_c_bytes"] is not None) == is_known
    heap = natives.asked(target, "hung")["finalization"]["heap_c_bytes"]
    assert bool(heap) == is_known and (heap is None) != is_known
    heap = natives.asked(target, "overview")["finalization"]["heap_c_bytes"]
    assert heap > truth_of(target)[1]


def test_left_out(large):
    """The rows that a tree leaves out keep the rest, in Go and in C."""
    target = large()
    document = natives.asked(target, "dominators", "--top", "1")
    [row] = document["children"]
    for i, whole in enumerate(sizes(document, "reached")):
        assert sizes(row)[i] + sizes(document["cut"])[i] == whole


def test_lines_of_objects(large, tmp_path):
    target = large()
    engine = target.truth["engines"]["big"]
    file = tmp_path / "objects.jsonl"
    text_of(target, "export", "--format", "jsonl", str(file))
    [row] = [
        row
        for row in map(json.loads, file.read_text().splitlines())
        if row["address"] == engine["address"]
    ]
    assert sizes(row) == truth_of(target)


def test_graph(large, tmp_path):
    """Shares are those of all that is reached, in Go and in C."""
    target = large()
    file = tmp_path / "graph.dot"
    text_of(target, "export", "--format", "dot", str(file))
    labels = re.findall(r'label="(.*?)"', file.read_text())
    document = natives.asked(target, "dominators", "--depth", "0")
    whole = sum(sizes(document, "reached")) / MIB
    assert labels[0] == rf"reached\n{whole:.1f} MiB (100.0 %)"
    held = sum(truth_of(target)) / MIB
    [label] = [one for one in labels if one.startswith("main.big")]
    assert label.startswith(rf"main.big\n{held:.1f} MiB (")
    shares = [float(one) for one in re.findall(r"\((\S+) %\)", str(labels))]
    assert max(shares) == 100.0


SCRIPT = """
big = heap.evaluate("main.big")
row = [s for s in heap._asked().suspects().suspects][0]
print(json.dumps([
    [big.retained_size, big.retained_c_size],
    [heap.retained(big), heap.retained_c(big)],
    [row.retained_bytes, row.retained_c_bytes],
]))
"""


def test_script(large):
    target = large()
    alone, together, suspect = natives.scripted(target, SCRIPT)
    go_bytes, in_c = truth_of(target)
    assert alone == together == [go_bytes, in_c]
    assert suspect == [go_bytes + in_c, in_c]


# ------------------------------------------------------------- growth

MORE_NODES, MORE_NOTES = 20000, 500


class Grown:
    """Two runs of the program, of which the second one has more of both."""

    def __init__(self, farm, folder):
        def run(*args):
            words = [str(arg) for arg in args]
            return farm.target("native_struct", CENTRAL, args=words)

        self.old = run(NODES)
        self.new = run(NODES + MORE_NODES, MORE_NOTES)
        self.in_c = truth_of(self.new)[1] - truth_of(self.old)[1]
        # The notes, and the slice that has them.
        self.notes = self.new.truth["more"]
        self.cores = [
            str(file) for t in (self.old, self.new) for file in (t.exe, t.core)
        ]
        self.folder = folder

    def saved(self):
        """Files of both."""
        files = [self.folder / name for name in ("old", "new")]
        for target, file in zip((self.old, self.new), files):
            if not file.exists():
                text_of(target, "save", str(file))
        return [str(file) for file in files]

    def ask(self, *words, sides=None):
        done = run_cli(["diff", *(sides or self.cores), *words])
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def grown(farm, tmp_path_factory):
    return Grown(farm, tmp_path_factory.mktemp("grown"))


def check_growth(grown, document):
    assert grown.in_c > MORE_NODES * (48 + 64 - 1)
    rows = {
        by: {row["key"]: row for row in found["rows"]}
        for by, found in document["by"].items()
    }
    # Go and C apart: in all, by type, by root and by holder.
    assert abs(document["growth_c_bytes"] - grown.in_c) < 4096
    # A run may have a thread more than the other one.
    assert abs(document["growth_bytes"] - grown.notes) < 16384
    types = rows["type"]
    key = "main._Ctype_struct_node"
    assert sizes(types[key], "growth") == (0, MORE_NODES * 48)
    assert sizes(types["[2048]uint8"], "growth") == (grown.notes, 0)
    root = rows["root"]["main.big"]
    assert sizes(root, "growth") == (0, grown.in_c)
    before, after = sizes(root["old"]), sizes(root["new"])
    assert before == truth_of(grown.old) and after == truth_of(grown.new)
    more = rows["root"]["main.more"]
    assert sizes(more, "growth")[1] == 0
    assert sizes(more, "growth")[0] >= grown.notes
    holder = rows["holder"]["main.engine.index"]
    assert sizes(holder, "growth") == (0, grown.in_c)
    [suspect] = document["suspects"]
    assert suspect["change"] == "remaining"
    for side, target in ("old", grown.old), ("new", grown.new):
        assert sizes(suspect, side) == truth_of(target)
    # Each table adds up, in Go and in C.
    for by in "type", "package", "goroutine":
        for key in "growth_bytes", "growth_c_bytes":
            total = sum(row[key] for row in document["by"][by]["rows"])
            assert total == document[key], (by, key)


@pytest.mark.parametrize("source", ["cores", "saved"])
def test_growth(grown, source):
    sides = grown.saved() if source == "saved" else grown.cores
    check_growth(grown, json.loads(grown.ask("--json", sides=sides)))


def test_growth_as_text(grown):
    text = grown.ask()
    in_c = f"C +{grown.in_c / MIB:.1f} MiB)"
    first, suspect = text.splitlines()[:2]
    assert in_c in first and re.search(r"; Go \+(9|10)\d\d", first)
    assert "main.big (" in suspect and in_c in suspect
    assert "By holder of C memory: " in text
    assert "main.engine.index" in text
    assert "By path: " in text and "(Go alone)" in text


def test_limit_of_growth(grown):
    """--fail-above counts both."""
    whole = grown.in_c + grown.notes
    for limit, status in ((whole - MIB // 4), 4), ((whole + MIB // 4), 0):
        done = run_cli(["diff", *grown.cores, "--fail-above", str(limit)])
        assert done.returncode == status, done.stderr
    assert grown.in_c + MIB // 4 < whole - MIB // 4


LOST = 100  # blocks of 64 KiB


@pytest.fixture(scope="module")
def leaking(farm):
    """A run that loses memory of C, behind one that holds more in Go."""
    words = [str(NODES), "0", str(LOST)]
    target = farm.target("native_struct", CENTRAL, args=words)
    kept = farm.target("native_struct", CENTRAL, args=[str(NODES), "500"])
    cores = [str(file) for t in (kept, target) for file in (t.exe, t.core)]
    assert target.truth["lost"]["blocks"] == LOST
    return cores, target.truth["lost"]["bytes"]


def test_growth_of_leaked_memory(leaking):
    """Live memory shrank, and the program needs more all the same. An old word
    may look like a pointer to a block."""
    cores, lost = leaking
    document = json.loads(run_cli(["diff", *cores, "--json"]).stdout)
    assert document["growth_bytes"] < -900_000
    growth = document["growth_leaked_c_bytes"]
    assert lost - 2 * (lost // LOST) <= growth <= lost + 4096
    assert LOST - 2 <= document["growth_leaked_c_objects"] <= LOST + 8
    assert document["growth_c_bytes"] <= 2 * (lost // LOST) + 4096
    [row] = [
        row
        for row in document["by"]["holder"]["rows"]
        if row["key"] == "C blocks without a known holder"
    ]
    assert row["growth_c_bytes"] == growth
    lines = run_cli(["diff", *cores]).stdout.splitlines()
    assert lines[0].startswith("reached: ") and "(-" in lines[0]
    assert lines[1].startswith("C blocks that nothing holds: ")
    # Threads have other numbers, and their stacks are one row.
    keys = {row["key"] for row in document["by"]["root"]["rows"]}
    assert not [key for key in keys if " of thread " in key]


def test_limit_of_leaked_growth(leaking):
    """--fail-above counts it, less what Go has given up."""
    cores, lost = leaking
    for limit, status in (lost // 2, 4), (lost, 0):
        done = run_cli(["diff", *cores, "--fail-above", str(limit)])
        assert done.returncode == status, done.stderr
    done = run_cli(["diff", *cores, "--fail-above", str(lost // 2)])
    assert "live and leaked memory has grown by more than" in done.stderr


def test_page_of_growth(grown, tmp_path, driver):
    """C has its color in the chart, in the legend and beside names."""
    out = tmp_path / "growth.html"
    grown.ask("--html", str(out))
    tree = embedded(out)["grown"]
    nodes = [node for node in tree["nodes"] if node.get("is_c")]
    assert nodes[0]["n"] == "C memory"
    [index] = [node for node in nodes if node["n"] == "main.engine.index"]
    assert index["b"] == grown.in_c
    page = Page(driver, out)
    assert page.all("#icicle .box.of-c")
    assert page.all("#chart .colors .mark.of-c")
    assert page.all("#c-memory-table")
    marks = page.all("#types-table .mark.of-c")
    assert marks

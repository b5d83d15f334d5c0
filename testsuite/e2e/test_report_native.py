# SPDX-License-Identifier: Apache-2.0
"""The page of goref report for programs with C memory: figures against those
of the program and of the verbs."""

import pytest

import natives
from browser import NARROW, WIDE, Page
from natives import CENTRAL
from reports import embedded, write
from toolchains import variants

READABLE = 4.5  # contrast of text (WCAG AA)


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


def test_figures_are_those_of_the_verbs(lost, pages):
    found = embedded(pages["native_leaks"])
    memory, leaks = natives.native(lost), natives.leaks(lost)
    [heap], [asked] = found["native"]["allocators"], memory["allocators"]
    asked["arena_list"].sort(key=lambda row: -row["mapped_bytes"])
    assert heap == asked
    for key in "sizes", "types", "holders":
        assert found["native"][key] == memory[key]
    for key in "leaked_blocks", "leaked_bytes", "in_use_bytes", "groups":
        assert found["native_leaks"][key] == leaks[key]
    assert found["types"]["c_bytes"] == (
        leaks["in_use_bytes"] - leaks["leaked_bytes"]
    )


def test_no_c_memory(service_page):
    found = embedded(service_page)
    assert found["native"] is None and found["native_leaks"] is None
    assert 'id="native"' not in service_page.read_text()


# --------------------------------------------------------- in a browser


@pytest.mark.parametrize("program", ["native_leaks", "native_struct"])
def test_looks(driver, pages, program):
    """Light and dark, wide and narrow, without scrolling to the side; nothing
    that axe-core finds."""
    for size in WIDE, NARROW:
        for theme in "light", "dark":
            page = Page(driver, pages[program], size, theme)
            assert page.complaints() == []
            assert page.overflow() == 0
            found = page.contrasts()
            assert [row for row in found if row[0] < READABLE] == []
            assert page.axe() == []


LINES = """
return [...document.querySelectorAll(arguments[0])]
  .filter((one) => one.checkVisibility() && one.textContent.startsWith("0x"))
  .map((one) => one.getClientRects().length);
"""


def test_addresses_are_whole_on_a_phone(driver, pages):
    """Each is on one line; among them are the longest, of thread arenas."""
    page = Page(driver, pages["native_leaks"], NARROW)
    lines = page.run(LINES, "#native-leaks-table td code")
    assert lines and set(lines) == {1}
    texts = page.texts("#native-leaks-table td code")
    assert any(len(text) == len("0x7f383b78b010") for text in texts)
    assert page.overflow() == 0


def test_first_screen(driver, pages):
    page = Page(driver, pages["native_leaks"])
    found = page.document()
    leaked = f"{found['native_leaks']['leaked_blocks']:,} blocks of C"
    [text] = [t for t in page.texts(".findings .finding") if leaked in t]
    assert text.startswith("Leaked C memory")
    assert any("Live memory" in t for t in page.texts(".facts div"))
    page = Page(driver, pages["native_struct"])
    assert "Leaked C memory" not in "".join(page.texts(".findings"))
    assert "No leak found" in page.one("#native").text


def test_blocks_have_a_color(driver, pages):
    """Blocks and roots of C have the color and the letter of C, and nothing
    else has."""
    page = Page(driver, pages["native_struct"])
    nodes = page.document()["dominators"]["nodes"]
    of_c = {node["n"] for node in nodes if node.get("is_c")}
    assert "C block" in of_c and "main.engine" not in of_c
    shown = page.run(
        "return [...document.querySelectorAll('#icicle .box.of-c')]"
        ".map((one) => one.title.split('\\n')[0])"
    )
    assert shown and {t.split(" (")[0] for t in shown} <= of_c
    legend = page.texts("#charts .colors li")
    assert "C: blocks and roots" in legend
    types = page.document()["types"]["rows"]
    count = sum(row["bytes"] == row["c_bytes"] > 0 for row in types)
    assert len(page.all("#types-table .mark.of-c")) == count > 0


def test_search(driver, pages):
    page = Page(driver, pages["native_leaks"])
    [group, *_] = page.document()["native_leaks"]["groups"]
    page.search(group["example"])
    assert "C memory" in page.one("#hits").text

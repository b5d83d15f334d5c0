# SPDX-License-Identifier: Apache-2.0
"""The page of `goref diff --html`: what it says of a program that tells what it
has added and dropped, and how it works in a real browser."""

import re
import shutil

import pytest

from browser import NARROW, WIDE, Page
from reports import LIMIT, embedded
from session import one_line, run_cli, run_goref
from targets import Target
from test_diff import BYTES, CENTRAL, Story, ask, rows_of

READABLE = 4.5  # contrast of text (WCAG AA)
ESCAPE = "\ue00c"


@pytest.fixture(scope="module")
def told(farm, tmp_path_factory):
    return Story(farm, CENTRAL, "plain", tmp_path_factory.mktemp("story"))


@pytest.fixture(scope="module")
def path(told, tmp_path_factory):
    """The page of what the program has done."""
    out = tmp_path_factory.mktemp("page") / "growth.html"
    done = run_cli(["diff", *told.cores, "--survivors", "--html", out])
    assert done.returncode == 0 and not done.stderr, done.stderr
    size = rf"\({out.stat().st_size / 1024:.1f} KiB\)"
    line = rf"diff: {re.escape(str(out))} {size}; open it in a browser\n"
    assert re.fullmatch(line, done.stdout), done.stdout
    return out


@pytest.fixture
def page(driver, path):
    return Page(driver, path)


# ------------------------------------------------------------- what it says


def test_what_was_added_and_dropped(told, path):
    """As the program says it, in tables and in the trees by path."""
    assert path.stat().st_size < LIMIT
    found, growth = embedded(path), told.growth()
    types, roots = rows_of(found, "type"), rows_of(found, "root")
    assert growth["session"] and any(n < 0 for n in growth.values())
    for name, size in BYTES.items():
        row = types[f"main.{name}"]
        assert row["growth_objects"] == growth[name], name
        assert row["growth_bytes"] == growth[name] * size
    for name in ("order", "session", "item", "page"):
        change = growth[name] * BYTES[name]
        assert roots[f"main.{name}s"]["growth_bytes"] == change
        tree = found["grown" if change > 0 else "shrunk"]
        [node] = [n for n in tree["nodes"] if n["n"] == f"main.{name}s"]
        assert node["b"] == abs(change)
    assert found["one_process"] and found["complete"]


def test_it_says_what_diff_says(told, path):
    """Each number of the page is one of the document; --json prints it and
    still writes the page."""
    shown, out = embedded(path), path.with_name("again.html")
    found = ask(*told.cores, "--survivors", "--html", out)
    assert embedded(out)["by"] == shown["by"]
    for key in ("growth_bytes", "growth_objects", "old", "new", "one_program"):
        assert shown[key] == found[key], key
    for by in ("type", "root", "package", "goroutine"):
        assert shown["by"][by] == {
            **found["by"][by], "nrows": len(found["by"][by]["rows"])
        }  # fmt: skip
    for what in ("objects", "old_objects", "new_objects", "exact"):
        assert shown["survivors"][what] == found["survivors"][what]
    own = sum(row["growth_bytes"] for row in found["by"]["path"]["rows"])
    trees = shown["grown"], shown["shrunk"]
    assert trees[0]["reached_bytes"] - trees[1]["reached_bytes"] == own


def test_commands_that_look_closer(told, path, tmp_path):
    """Each of them is one that works."""
    lines = [row["command"] for row in embedded(path)["closer"]]
    assert len(lines) >= 4
    for line in lines:
        words = line.split()
        assert words[0] == "goref"
        done = run_cli(words[1:], cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"new.html", "growth.pb.gz"}


def test_all_tables_whatever_is_printed(told, path, tmp_path):
    """--by and --top are about what is printed."""
    out = tmp_path / "page.html"
    found = ask(*told.cores, "--by", "root", "--top", "1", "--html", out)
    assert [*found["by"]] == ["root"] and len(found["by"]["root"]["rows"]) == 1
    assert embedded(out)["by"] == embedded(path)["by"]
    limit = ["--by", "root", "--fail-above", "1", "--html", out]
    done = run_cli(["diff", *told.cores, *limit])
    assert done.returncode == 4 and done.stdout.startswith("diff: ")


# ------------------------------------------------------------- what fails


def test_refused(told, tmp_path):
    """The files of both sides are never written over."""
    for name in ("old", "new"):
        core = tmp_path / name
        shutil.copy(getattr(told, name), core)
    before = [(tmp_path / name).stat().st_mtime_ns for name in ("old", "new")]
    for out in ("old", "new"):
        words = ["diff", told.exe, "old", told.exe, "new", "--html", out]
        one_line(run_cli(words, cwd=tmp_path), 1, "it is compared")
    after = [(tmp_path / name).stat().st_mtime_ns for name in ("old", "new")]
    assert after == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "old"]


def test_in_gdb(told, tmp_path):
    """Someone's gdb is told what to run."""
    loaded = Target("core", told.exe, {}, core=told.new)
    out = tmp_path / "page.html"
    both = f"{told.exe} {told.old} {told.exe} {told.new}"
    run = run_goref(
        loaded,
        [f"goref diff {told.old} --html {out}",
         f"goref diff {both} --html {out}"],
        in_gdb=True,
    )  # fmt: skip
    one, two = run.error_lines()
    assert "outside of gdb: run `goref save FILE' here, then `goref diff " in one
    assert f"outside of gdb: run `goref diff {both} --html {out}'" in two
    assert not out.exists()


# ------------------------------------------------------------ in a browser


def test_loads_quietly(driver, path):
    page = Page(driver, path)
    assert page.complaints() == []
    assert [u for u in page.requests() if not u.startswith("data:")] == [
        path.resolve().as_uri()
    ]


def test_the_verdict_is_the_largest(page):
    sizes = page.run(
        "return [...document.querySelectorAll('main *')].filter((one) =>"
        " [...one.childNodes].some((n) => n.nodeType === 3"
        " && n.data.trim())).map((one) =>"
        " [parseFloat(getComputedStyle(one).fontSize), one.textContent,"
        "  !!one.closest('li:first-child .verdict')])"
    )
    largest = max(sizes)[0]
    assert {row[2] for row in sizes if row[0] == largest} == {True}
    [first, *_] = page.all(".findings .verdict")
    found = page.document()
    sign = "+" if found["growth_bytes"] > 0 else "-"
    assert first.text.startswith(sign) and "→" in first.text
    assert first.location["y"] < WIDE[1] / 4


@pytest.mark.parametrize("theme", ("light", "dark"))
@pytest.mark.parametrize("size", (WIDE, NARROW), ids=("wide", "narrow"))
def test_can_be_read(driver, path, size, theme):
    page = Page(driver, path, size, theme)
    page.run("document.querySelectorAll('details')"
             ".forEach((one) => { one.open = true; })")  # fmt: skip
    assert page.overflow() == 0
    found = page.contrasts()
    assert len(found) > 100
    assert [row for row in found if row[0] < READABLE] == []
    assert page.axe() == []


def test_the_chart(page):
    """The first tab is the way of the heap, which has shrunk; the other one
    has what grew, and the address keeps it."""
    found = page.document()
    assert found["growth_bytes"] < 0
    for tab, sign in (("shrunk", "-"), ("grown", "+")):
        page.click(f"#tab-{tab}")
        labels = [box.get_attribute("aria-label")
                  for box in page.all("#icicle .box")]  # fmt: skip
        nodes = found[tab]["nodes"]
        assert labels[0].startswith(f"{nodes[0]['n']} {sign}")
        largest = max(nodes[1:], key=lambda node: node["b"])
        assert any(label.startswith(largest["n"]) for label in labels)
    assert "view=grown" in page.run("return location.hash")
    page.driver.refresh()
    page.settle()
    assert page.one("#tab-grown").get_attribute("aria-selected") == "true"
    page.click("#icicle .box:nth-child(2)")
    assert "grew: +" in page.one("#selected").text


def test_sorting_and_the_search(page):
    """By old size, and what is searched for; both are kept in the address."""
    page.click("#types-table th:nth-child(3) button")
    olds = [int(value) for value in page.run(
        "return [...document.querySelectorAll('#types-table tbody tr')]"
        ".map((row) => row.cells[2].dataset.value)")]  # fmt: skip
    assert olds == sorted(olds, reverse=True) and len(olds) > 4
    wanted = next(row["n"] for row in page.document()["grown"]["nodes"]
                  if row["n"].startswith("main.")).rstrip("s")  # fmt: skip
    page.click("#tab-grown")
    page.search(wanted)
    shown = page.texts("#types-table tbody tr:not([hidden]) td:last-child")
    assert shown and all(wanted in name for name in shown)
    links = [link.get_attribute("href").rpartition("#")[2]
             for link in page.all("#hits a")]  # fmt: skip
    assert {"charts", "types", "roots"} <= {*links}
    address = page.run("return location.hash")
    assert "types-table.2d" in address and wanted in address
    page.driver.refresh()
    page.settle()
    again = page.texts("#types-table tbody tr:not([hidden]) td:last-child")
    assert again == shown
    page.press("/")
    page.press(ESCAPE)
    assert page.one("#hits").get_attribute("hidden")


def test_growth_first_sorts_by_sign(page):
    """The largest growth is the first row; rising, the largest loss is."""
    def growths():
        return [int(value) for value in page.run(
            "return [...document.querySelectorAll('#roots-table tbody tr')]"
            ".map((row) => row.cells[0].dataset.value)")]  # fmt: skip

    first = growths()
    assert first == sorted(first, reverse=first[0] > 0)
    assert first[0] > 0 > first[-1] or first[0] < 0 < first[-1]
    page.click("#roots-table th:first-child button")
    assert growths() == first[::-1]


def test_copies(page):
    """Each command can be copied as it stands."""
    commands = page.texts("#about .command code")
    buttons = page.all("#about .command .copy")
    assert len(buttons) == len(commands) > 3
    assert commands[0] == page.document()["closer"][0]["command"]


def test_without_scripts(told, path):
    """Tables and the first levels of the trees stand there."""
    text = re.sub(r"<script.*?</script>", "",
                  path.read_text(encoding="utf-8"), flags=re.S)  # fmt: skip
    loss, growth = re.findall(r'<div class="outline">(.*?)</div>', text, re.S)
    changes = {name: told.growth()[name] * BYTES[name] for name in BYTES}
    assert max(changes, key=changes.get) in growth and "+" in growth
    assert min(changes, key=changes.get) in loss and "-" in loss
    named = re.findall(r'<div class="sortable" id="(\w+)-table"', text)
    assert {"types", "roots", "paths", "sites", "packages", "goroutines",
            "survivors"} <= {*named}  # fmt: skip


def test_print(driver, path):
    page = Page(driver, path, media="print")
    assert not page.one("#chart").is_displayed()
    assert page.one(".outline").is_displayed()

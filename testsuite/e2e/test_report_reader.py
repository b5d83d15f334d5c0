# SPDX-License-Identifier: Apache-2.0
"""A reader's steps on the page of goref report: short names and their
copies, the search, the address, cards of objects, and types from the other
side. The page is that of the service, with long names and with cards that the
test makes."""

import json
import re
import sys

import pytest

from browser import NARROW, WIDE, Page
from reports import SCRIPTS, rewritten
from session import TOP

sys.path.append(str(TOP / "testsuite/python"))

from goref.report import markup, shell, tables  # noqa: E402
from report_names import MODULES, ORIGINS, SHORT  # noqa: E402

LONG = "example.com/wide/web/v2/shop."  # of each name of the main package
SESSION, PAGE = f"{LONG}Session", f"{LONG}page"
READABLE = 4.5  # contrast of text (WCAG AA)
ENTER, ESCAPE, TAB = "\ue007", "\ue00c", "\ue004"
COPY, PASTE = "\ue009c", "\ue009v"


def card(at, type_, size, **fields):
    return {"at": at, "type": type_, "bytes": 48, "retained_bytes": size,
            "resident_bytes": None, "fields": [], "nfields": 0, "path": [],
            "path_left_out": 0, "holders": [], "nholders": 0,
            **fields}  # fmt: skip


def cards():
    """A session that leads to a page, which it holds."""
    session = card(
        "0xc000000010", SESSION, 5000, resident_bytes=4096, nfields=12,
        fields=[{"name": "Page", "type": f"*{PAGE}", "at": "0xc000000020",
                 "bytes": 8, "retained_bytes": 4952},
                {"name": "user", "type": "string", "at": None, "bytes": 16,
                 "retained_bytes": 7}],
        path=[{"name": f"{LONG}sessionsByToken", "kind": "global",
               "type": f"map[string]*{SESSION}", "at": None, "step": None},
              {"name": "[...]", "kind": "object", "type": SESSION,
               "at": "0xc000000010", "step": "[...]"}],
    )  # fmt: skip
    page_ = card(
        "0xc000000020", PAGE, 4952, nholders=3,
        holders=[{"name": SESSION, "type": SESSION, "kind": "object",
                  "step": ".Page", "at": "0xc000000010",
                  "retained_bytes": 5000}],
    )  # fmt: skip
    holder = {"name": f"[]*{SESSION}", "type": f"[]*{SESSION}",
              "kind": "object", "step": "[...]"}  # fmt: skip
    held = [{**holder, "at": f"0xc0000001{i}0", "retained_bytes": 40 - i}
            for i in range(5)]  # fmt: skip
    root = {**holder, "kind": "global", "name": f"{LONG}last", "step": None,
            "at": None, "retained_bytes": 0}  # fmt: skip
    shared = card("0xc000000030", SESSION, 50, nholders=9,
                  holders=[*held, root])  # fmt: skip
    return {"cards": [session, page_, shared],
            "by_type": {SESSION: [0, 2], PAGE: [1]},
            "by_suspect": [[1], [0]]}  # fmt: skip


def change(document):
    """Long names, and cards."""
    text = json.dumps(document)
    document.update(json.loads(re.sub(r"\bmain\.(?!go\b)", LONG, text)))
    document["modules"] = {"main": "example.com/wide/web/v2", "path": None,
                           "dependencies": []}  # fmt: skip
    document["objects"] = cards()
    document["suspects"]["suspects"][0]["address"] = "0xc000000020"
    created_by = document["goroutines"]["groups"][0]["created_by"]
    created_by["function"] = f"{LONG}(*Account).{'AddStream' * 4}"
    held = {"name": f"map[string]*{SESSION}", "kind": "object",
            "objects": 49990, "bytes": 2399520}  # fmt: skip
    document["type_holders"] = {
        SESSION: {"objects": 50000, "bytes": 2400000, "rows": [held],
                  "left_out": 3, "left_out_objects": 10,
                  "left_out_bytes": 480}
    }  # fmt: skip


@pytest.fixture(scope="module")
def path(service_page, tmp_path_factory):
    out = tmp_path_factory.mktemp("cards") / "page.html"
    return rewritten(service_page, out, change)


@pytest.fixture
def page(driver, path):
    return Page(driver, path)


# -------------------------------------------------------------------- names


def test_scripts_have_the_rules_of_python(page):
    names, shown = zip(*SHORT)
    assert page.run(
        "return arguments[0].map((name) => goref.names.column(name))", names
    ) == [*shown]
    names, origins = zip(*ORIGINS)
    assert page.run(
        "return arguments[0].map((name) => goref.origins.originOf("
        "goref.origins.packageOf(name), arguments[1]))",
        names, MODULES,
    ) == [*origins]  # fmt: skip


def test_names_are_short_and_rows_are_lines(page):
    """The whole name is behind the pointer."""
    shown = page.run(
        "return [...document.querySelectorAll('td code, #icicle .name,"
        " .findings, .node text')].map((one) => one.textContent)"
    )
    assert len(shown) > 100 and not [t for t in shown if "example.com" in t]
    titles = page.run(
        "return [...document.querySelectorAll('#types-table code')]"
        ".map((one) => [one.textContent, one.title])"
    )
    assert ["shop.Session", SESSION] in titles
    heights = page.run(
        "return [...document.querySelectorAll('#types-table tbody tr,"
        " #roots-table tbody tr, #suspects-table tbody tr')]"
        ".filter((row) => !row.hidden).map((row) => row.clientHeight)"
    )
    assert len(heights) > 20 and max(heights) < 40  # pixels: one line each


def test_origins_are_marked(page):
    """By a letter and by the edge of a box, which the legend explains."""
    legend = page.texts("#charts .colors li")
    assert legend[:2] == ["main module", "dependencies"] and len(legend) == 6
    mark = f"#types-table td:has(code[title='{SESSION}']) .mark"
    assert page.one(mark).get_attribute("title") == "main module"
    styles = page.run(
        "return [...document.querySelectorAll('#charts .colors .mark')]"
        ".map((one) => [getComputedStyle(one, '::before').content,"
        " getComputedStyle(one).borderBottomStyle])"
    )
    letters, edges = zip(*styles)
    assert len(set(letters)) == len(set(edges)) == 5 and '"M"' in letters


# ------------------------------------------------------------------ copies


def pasted(page):
    """The text that a reader would paste now."""
    page.search("")
    page.press(PASTE)
    text = page.one("#search").get_attribute("value")
    page.press(ESCAPE)
    return text


def test_a_selection_is_copied_whole(page):
    select = """
        const range = document.createRange();
        const one = document.querySelector(arguments[0]);
        range.selectNodeContents(one);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
    """
    name = f"code[title='{SESSION}']"
    for selector, text in (
        (f"#types-table {name}", SESSION),
        (f"#types-table td:has({name})", SESSION),
        ("#types-title", "Types"),
    ):
        page.run(select, selector)
        page.press(COPY)
        assert pasted(page).strip() == text
    # A part of a name is that part.
    page.run(f"{select} range.setStart(one.firstChild, 1);",
             f"#types-table {name}")  # fmt: skip
    page.press(COPY)
    assert len(pasted(page)) < len("shop.Session")


@pytest.mark.parametrize("has_clipboard", (True, False))
def test_copy_buttons(page, has_clipboard):
    if not has_clipboard:
        page.run("Object.defineProperty(navigator, 'clipboard',"
                 " { value: undefined })")  # fmt: skip
    commands = page.texts("#suspects .command code")
    page.click("#suspects .command .copy")
    page.wait("return document.querySelector('#suspects .copy').textContent"
              " === 'Copied'")  # fmt: skip
    assert pasted(page) == commands[0]


def test_the_name_under_the_pointer_can_be_copied(page):
    name = page.one("#roots-table td code[title^='example.com']")
    page.run("arguments[0].scrollIntoView({ block: 'center' })", name)
    page.move_to(name)
    page.click(".hover-copy .copy")
    page.wait("return document.querySelector('.hover-copy').textContent"
              " === 'Copied'")  # fmt: skip
    assert pasted(page) == name.get_attribute("title")


# -------------------------------------------------------------- the search


def shown_types(page):
    return page.run(
        "return [...document.querySelectorAll('#types-table tbody tr')]"
        ".filter((row) => !row.hidden)"
        ".map((row) => row.querySelector('code').textContent)"
    )


def test_the_search_is_one_key_away(page):
    page.run("document.activeElement.blur()")
    page.press("/")
    assert page.focused.get_attribute("id") == "search"
    page.press("Shop.SESSION")
    hits = dict(text.rsplit(" ", 1) for text in page.texts("#hits a"))
    assert {"Chart", "Types", "Holders", "Roots"} <= {*hits}
    assert int(hits["Types"]) == len(shown_types(page)) > 0
    total = sum(int(count) for count in hits.values())
    assert page.one("#hits [role=status]").text == f"{total} hits"
    assert page.all("#drill tr.match")
    page.press(ESCAPE)
    assert page.one("#search").get_attribute("value") == ""
    assert not page.one("#hits").is_displayed() and not page.all(".match")
    assert page.focused.get_attribute("id") == "search"
    page.press(ESCAPE)
    assert page.focused.tag_name == "body"


def test_slashes_around_an_expression(page):
    page.search("string..shop.Session")
    shown = shown_types(page)
    page.search("/string..shop.Session/")
    assert shown_types(page) == shown and shown


def test_expressions(page):
    """One that is no expression is a text, and the page says so."""
    for query, is_bad in (("map\\[.*Session", False), ("map[", True)):
        page.search(query)
        shown = shown_types(page)
        assert "map[string]*shop.Session" in shown
        assert [name for name in shown if "map[" not in name.lower()] == []
        said = page.one("#hits [role=status]").text
        assert said.startswith("Not a regular expression (unterm") == is_bad
        assert page.complaints() == []


# -------------------------------------------------------------- the address


def fragment(page):
    return page.run("return location.hash")


def reload(page):
    page.driver.refresh()
    page.settle()


def test_the_address_keeps_what_is_shown(page):
    page.click("#tab-references")
    page.run("document.querySelector('#icicle [aria-level=\"2\"]').click()")
    zoomed = page.one("#icicle [aria-selected=true]").get_attribute("title")
    page.search("session")
    page.click("#types-table th:nth-child(4) button")
    page.click(".top nav a[href='#types']")
    before = fragment(page)
    assert before.startswith("#types?")
    for word in ("view=references", "zoom=", "q=session", "sort=types-table"):
        assert word in before
    reload(page)
    assert fragment(page) == before
    tab = page.one("#tab-references")
    assert tab.get_attribute("aria-selected") == "true"
    chosen = page.one("#icicle [aria-selected=true]")
    assert chosen.get_attribute("title") == zoomed
    assert page.one("#search").get_attribute("value") == "session"
    head = page.one("#types-table th:nth-child(4)")
    assert head.get_attribute("aria-sort") == "descending"
    top = page.run("return document.getElementById('types')"
                   ".getBoundingClientRect().top")  # fmt: skip
    assert 0 <= top < WIDE[1] / 2


def test_back_and_forward(page):
    def is_at(name):
        return page.one(f"#tab-{name}").get_attribute("tabindex") == "0"

    page.click("#tab-references")
    page.click("#tab-holders")
    page.driver.back()
    assert is_at("references")
    page.driver.back()
    assert is_at("dominators") and "view" not in fragment(page)
    page.driver.forward()
    assert is_at("references")
    page.click(".top nav a[href='#roots']")
    assert fragment(page) == "#roots?view=references"


def test_an_address_that_leads_nowhere(page):
    page.run("location.hash = '#none?zoom=99999&view=x&open=object+0x1"
             "&sort=a.1d,types-table.99a&q=(('")  # fmt: skip
    page.settle()
    reload(page)
    assert page.all("#icicle [role=treeitem]") and page.complaints() == []
    assert not page.all("dialog[open]")


# ---------------------------------------------------------- cards of objects


def test_a_card_opens_by_click(page):
    page.click(f"#types-table button:has(code[title='{SESSION}'])")
    panel = page.one("#panel")
    assert "Who holds it" in panel.text and "The 2 largest" in panel.text
    assert "map[string]*shop.Session" in panel.text
    assert "3 others" in panel.text and "480 B" in panel.text
    page.click("#panel td button")
    for text in ("shop.Session 0xc000000010", "4.9 KiB", "48 B",
                 "shop.sessionsByToken", "Page", "10 more fields"):  # fmt: skip
        assert text in panel.text
    # From the card to the page that it holds, and back.
    page.click("#panel td button")
    assert "shop.page 0xc000000020" in panel.text and "2 more" in panel.text
    page.driver.back()
    assert "shop.Session 0xc000000010" in panel.text
    assert "open=object+0xc000000010" in fragment(page)
    reload(page)
    assert "shop.Session 0xc000000010" in page.one("#panel").text
    page.press(ESCAPE)
    assert not page.all("dialog[open]")
    page.settle()
    assert "open" not in fragment(page) and page.complaints() == []


def test_a_card_opens_by_keyboard(page):
    """The focus stays in the panel, and returns when it is closed."""
    summary = page.one(
        "#suspects .folded:has([data-card='0xc000000020']) > summary"
    )
    page.run("arguments[0].focus()", summary)
    page.press(ENTER, TAB)
    assert page.focused.text == "0xc000000020"
    page.press(ENTER)
    assert page.focused.get_attribute("id") == "panel-title"
    seen = set()
    for _ in range(20):
        page.press(TAB)
        assert page.run(
            "const at = document.activeElement; return at === document.body"
            " || document.getElementById('panel').contains(at)"
        )
        seen.add(page.focused.text)
    assert {"Close", "Copy", "0xc000000010"} <= seen
    page.press(ESCAPE)
    assert not page.all("dialog[open]")
    page.settle()
    assert page.focused.text == "0xc000000020"


def opened(page, at):
    page.run("location.hash = `#types?open=object+${arguments[0]}`", at)
    page.wait(f"return document.getElementById('panel').open"
              f" && document.getElementById('panel-title').textContent"
              f".includes('{at}')")  # fmt: skip
    return page.one("#panel").text


def test_a_card_says_first_what_counts(page):
    opened(page, "0xc000000010")
    assert page.texts("#panel dt")[0] == "Size"
    assert page.texts("#panel h3") == [
        "Path from a root",
        "Fields, and what they hold",
    ]
    opened(page, "0xc000000020")
    assert page.texts("#panel th") == ["Holder", "At", "Holder retains"]


def test_alike_holders_are_one_row(page):
    text = opened(page, "0xc000000030")
    rows = page.texts("#panel .part tbody tr")
    assert len(rows) == 2 and rows[0].startswith("5 × ")
    assert "[]*shop.Session" in rows[0] and "2 more" in rows[0]
    assert rows[0].endswith("at most 40 B") and "3 more holders." in text


def test_what_no_holder_alone_keeps_alive(
    driver, page, service_page, tmp_path
):
    """It is proven if the largest of them retains less, of a whole heap."""
    said = "9 holders hold it; none alone keeps it alive."
    assert said in opened(page, "0xc000000030")
    assert "none alone" not in opened(page, "0xc000000020")

    def cut(document):
        change(document)
        document["partial"] = ["a mapping is missing"]

    page = Page(driver, rewritten(service_page, tmp_path / "p.html", cut))
    assert "none alone" not in opened(page, "0xc000000030")


def test_a_suspect_opens_where_it_accumulates(page):
    row = "#suspects-table tbody tr:first-child"
    assert page.texts(f"{row} button")[1] == "0xc000000020"
    page.click(f"{row} td.name button")
    assert "shop.page 0xc000000020" in page.one("#panel").text
    assert page.complaints() == []


# ------------------------------------------------------------- the first look


def test_the_first_screen_says_since_when(page):
    found = page.document()
    reached = found["heap"]["reached"]["bytes"] / (1 << 20)
    facts = page.texts(".facts > div:first-child > *")
    assert facts[:2] == ["Live heap", f"{reached:.1f} MiB"]
    [dead] = [t for t in page.texts(".finding") if t.startswith("Deadlock")]
    awaited = [p["primitive"] for dead_ in found["waits"]["deadlocks"]
               for p in dead_["primitives"]]  # fmt: skip
    known = [row["waited_ns"] for row in found["waits"]["waits"]
             if row["primitive"] in awaited and row["waited_ns"]]  # fmt: skip
    shown = "waiting for at least " if known else "how long is not known"
    assert shown in dead


def test_waits_fit_and_are_sorted_by_time(page):
    widths = "return [one.scrollWidth, one.clientWidth]"
    whole, seen = page.run(
        f"const one = document.querySelector('#waits-table .scroll'); {widths}"
    )
    assert whole <= seen
    assert page.run(
        "return [...document.querySelectorAll('#waits-table .place')]"
        ".every((one) => one.querySelector('.file').offsetTop"
        " > one.querySelector('code').offsetTop)"
    )
    page.click("#waits-table th:nth-child(4) button")
    times = page.run(
        "return [...document.querySelectorAll('#waits-table tbody"
        " td:nth-child(4)')].map((one) => Number(one.dataset.value))"
    )
    assert times == sorted(times, reverse=True) and len(times) > 2


def test_the_bar_shows_all_sections(driver, path):
    script = (
        "const nav = document.querySelector('.top nav');"
        "return [nav.scrollWidth > nav.clientWidth,"
        " getComputedStyle(nav).maskImage !== 'none']"
    )
    page = Page(driver, path, (1024, 800))
    assert page.run(script) == [False, False]
    page.emulate(NARROW, "light")
    page.settle()
    assert page.run(script) == [True, True]


def test_controls_are_seen_whole(page):
    page.run("document.getElementById('tab-dominators').focus()")
    page.press("\ue014")  # the next tab
    style = "return getComputedStyle(document.activeElement).outlineOffset"
    assert page.run(style) == "-3px"
    gap = page.run(
        "return parseFloat(getComputedStyle(document.querySelector("
        "'#suspects .command .copy')).marginLeft)"
    )
    assert gap >= 4
    assert "Share of size" in page.texts("#types-table th")


def test_names_are_lines_on_a_phone(driver, path):
    page = Page(driver, path, NARROW)
    for name in ("types", "roots", "suspects", "waits"):
        rows = page.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".filter((row) => !row.hidden).map((row) => {"
            " const name = row.querySelector('td.name');"
            " const others = [...row.cells].filter((one) => one !== name"
            "   && one.clientWidth);"
            " return row.clientWidth - name.offsetWidth < 2"
            "  && name.scrollWidth <= name.clientWidth"
            "  && others.every((one) => one.offsetTop + 2 >"
            "     name.offsetTop + name.offsetHeight); })",
            f"#{name}-table tbody tr",
        )
        assert rows and all(rows), name


def test_paper_has_no_hint_to_click(driver, path):
    page = Page(driver, path, media="print")
    assert not page.one("#charts .lead .on-screen").is_displayed()
    breaks = page.run(
        "return [...document.querySelectorAll('h2, h3, .lead')]"
        ".map((one) => getComputedStyle(one).breakAfter)"
    )
    assert {*breaks} == {"avoid"}


def test_types_from_the_other_side(page):
    """The third tree: a type, and below it who holds its objects."""
    page.click("#tab-holders")
    document = page.document()
    [row] = [r for r in document["types"]["rows"] if r["key"] == SESSION]
    found = page.run(
        "return [...document.querySelectorAll('#icicle [role=treeitem]')]"
        ".filter((one) => one.title.startsWith(arguments[0]))"
        ".map((one) => one.getBoundingClientRect().width"
        " / document.getElementById('icicle').clientWidth)",
        f"{SESSION} ({row['objects']:,})\n",
    )
    share = row["bytes"] / document["types"]["bytes"]
    assert found == [pytest.approx(share, abs=0.005)]
    held = page.texts("#icicle [aria-level='3'] .name")
    assert held == ["map[string]*shop.Session (49,990)"]


def test_a_page_without_cards(driver, service_page, tmp_path):
    def bare(document):
        for key in ("objects", "type_holders", "modules"):
            document.pop(key, None)

    page = Page(driver, rewritten(service_page, tmp_path / "p.html", bare))
    assert page.complaints() == [] and not page.all("main td .link")
    assert not page.all("#tab-holders") and page.all("#icicle .of-main")


def test_another_page_uses_the_parts(driver, tmp_path):
    """A page of one section with a table, and all scripts."""
    rows = [(tables.number(i), tables.name(f"a/b.T{i}")) for i in range(20)]
    columns = (tables.Column("Growth", True), tables.Column("Type"))
    sheet = shell.Sheet(
        title="Two heaps",
        links=[("growth", "Growth")],
        main=[
            markup.el("h1", None, "shop"),
            markup.section(
                "growth", "What grew", None,
                tables.table("growth-table", "Growth", columns, rows[::-1]),
            ),
        ],
        data={"goref-document": {},
              "goref-waits": {"nodes": [], "edges": []}},
        scripts=SCRIPTS,
    )  # fmt: skip
    out = tmp_path / "diff.html"
    out.write_text(shell.shell(sheet), encoding="utf-8")
    page = Page(driver, out)
    assert page.complaints() == [] and page.axe() == []
    page.search("T1[0-3]$")
    assert page.texts("#hits a") == ["Growth 4"]
    page.click("#growth-table th:nth-child(2) button")
    assert "sort=growth-table.1a" in fragment(page)


# ------------------------------------------------------------------- for all


@pytest.mark.parametrize("theme", ("light", "dark"))
@pytest.mark.parametrize("size", (WIDE, NARROW), ids=("wide", "narrow"))
def test_axe_finds_nothing(driver, path, size, theme):
    """On the page, zoomed in, with a search, and with a card open."""
    page = Page(driver, path, size, theme)
    assert page.axe() == []
    page.run("document.querySelector('#icicle [aria-level=\"3\"]').click()")
    assert page.axe() == []
    page.search("Session")
    assert page.axe() == []
    page.search("")
    page.run("document.querySelectorAll('details')"
             ".forEach((one) => { one.open = true; })")  # fmt: skip
    page.click("#suspects .objects button")
    assert page.axe() == [] and page.overflow() == 0
    assert [row for row in page.contrasts() if row[0] < READABLE] == []

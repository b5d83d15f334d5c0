# SPDX-License-Identifier: Apache-2.0
"""The page of goref report in a real browser: what can be seen, clicked and
typed. Figures are compared with the document that the page embeds, which
test_report.py compares with the verbs."""

import base64
import shutil
import subprocess

import pytest

from browser import NARROW, WIDE, Page
from reports import LIMIT, ask, write
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")
READABLE = 4.5  # contrast of text (WCAG AA)


@pytest.fixture
def page(driver, service_page):
    return Page(driver, service_page)


# Further kinds of targets: the shapes of their pages differ.
KINDS = {
    "large": ("heap", ["-objects", "5000000", "-shape", "friendly"]),
    "hung": ("deadlocks", ["inversion"]),
}


@pytest.fixture(scope="module", params=KINDS)
def kind(farm, tmp_path_factory, request):
    """A target of a kind, and its page."""
    program, arguments = KINDS[request.param]
    target = farm.target(program, CENTRAL, args=arguments)
    path = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    write(target, path)
    yield target, path
    farm.forget(program)


# --------------------------------------------------------- in a browser


def test_loads_quietly(driver, service_page):
    page = Page(driver, service_page)
    assert page.complaints() == []
    assert [u for u in page.requests() if not u.startswith("data:")] == [
        service_page.resolve().as_uri()
    ]


def test_the_policy_holds(page):
    """Neither the network nor a foreign script is there for the page."""
    assert (
        page.run(
            """
        const done = arguments[arguments.length - 1];
        const script = document.createElement("script");
        script.textContent = "window.pwned = true";
        document.body.append(script);
        const button = document.createElement("button");
        button.setAttribute("onclick", "window.pwned = true");
        document.body.append(button);
        button.click();
        return [window.pwned === undefined, document.scripts.length > 0];
    """
        )
        == [True, True]
    )
    assert (
        page.driver.execute_async_script(
            """
        const done = arguments[arguments.length - 1];
        fetch("http://127.0.0.1:9/").then(() => done("sent"),
                                          () => done("refused"));
    """
        )
        == "refused"
    )
    assert any("Content Security Policy" in c for c in page.complaints())


def test_first_screen_says_what_is_wrong(page, service):
    [first, *others] = page.all(".findings .finding")
    assert first.location["y"] + first.size["height"] < WIDE[1]
    assert first.text.startswith("Deadlock\n")
    [hung] = ask(service, "hung")
    assert hung["cause"] in first.text
    titles = [finding.text.splitlines()[0] for finding in others]
    assert titles == ["Memory", "Leaked goroutines"]
    assert "main.pageCache" in others[0].text
    page.emulate(NARROW, "light")
    assert first.location["y"] + first.size["height"] < NARROW[1] / 2


def check_readable(page):
    page.run("document.querySelectorAll('details')"
             ".forEach((one) => { one.open = true; })")  # fmt: skip
    assert page.overflow() == 0
    found = page.contrasts()
    assert len(found) > 300
    assert [row for row in found if row[0] < READABLE] == []


@pytest.mark.parametrize("theme", ("light", "dark"))
@pytest.mark.parametrize("size", (WIDE, NARROW), ids=("wide", "narrow"))
def test_can_be_read(driver, service_page, size, theme):
    check_readable(Page(driver, service_page, size, theme))


def test_other_kinds(driver, kind):
    """Light and dark, wide and narrow; search, zoom and drill-down clicked."""
    target, path = kind
    assert path.stat().st_size < LIMIT
    for size in (WIDE, NARROW):
        for theme in ("light", "dark"):
            page = Page(driver, path, size, theme)
            check_readable(page)
    page = Page(driver, path)
    heap, tree = page.document()["heap"]["heap"], page.document()["dominators"]
    if "objects" in target.truth:
        assert heap["allocated_objects"] >= target.truth["objects"] > 4900000
    check_widths(page)
    [first, *_] = [n for n in tree["nodes"] if n["p"] == 0]
    page.one("#search").send_keys(first["n"])
    assert page.all("#icicle .match")
    name = next(n for n in boxes(page) if n.startswith(first["n"]))
    box(page, name).click()
    assert boxes(page)[name] == pytest.approx(1, abs=0.01)
    rows = len(page.all("#drill tbody tr"))
    page.click("#drill tbody tr[aria-expanded=false]")
    assert len(page.all("#drill tbody tr")) > rows
    assert page.complaints() == []


def color(page):
    return page.run("return getComputedStyle(document.body).backgroundColor")


def test_light_and_dark(driver, service_page):
    page = Page(driver, service_page, theme="dark")
    dark = color(page)
    page.emulate(WIDE, "light")
    light = color(page)
    assert light != dark
    button = page.one("#theme")
    assert button.text == "Dark"
    button.click()
    assert color(page) == dark and button.text == "Light"
    page.press(" ")
    assert color(page) == light and button.text == "Dark"
    page.run("localStorage.clear()")


def test_print(driver, service_page):
    """White, without controls, with the trees as lists, and all calls."""
    page = Page(driver, service_page, theme="dark", media="print")
    assert color(page) == "rgb(255, 255, 255)"
    shown = [
        page.one(name).is_displayed()
        for name in (".top", "#chart", ".outline", "#goroutines details")
    ]
    assert shown == [False, False, True, True]
    assert "main.pageCache" in page.one(".outline").text
    assert [row for row in page.contrasts() if row[0] < READABLE] == []
    # The browser does this before it prints.
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.all("details:not([open], .folded)") == []
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.all("details:not([open], .folded)") != []


def test_heads_are_on_each_sheet(page, tmp_path):
    """A table begins on one sheet and ends on another."""
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext: apt-get install poppler-utils")
    page.emulate(WIDE, "light", "print")
    sheet = {"paperWidth": 8, "paperHeight": 5, "printBackground": True}
    made = page.driver.execute_cdp_cmd("Page.printToPDF", sheet)
    path = tmp_path / "page.pdf"
    path.write_bytes(base64.b64decode(made["data"]))
    text = subprocess.run(["pdftotext", "-layout", path, "-"], check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    sheets = [" ".join(sheet.split()) for sheet in text.split("\f")]
    assert sum("Billed ▼ Share Retained" in sheet for sheet in sheets) > 1
    rows = len(page.all("#roots-table tbody tr"))
    assert f"15 of {rows} rows; the others are" in " ".join(sheets)


def test_keyboard_reaches_all(page):
    """Tab goes to each link, button, field and fold, and shows where it is."""
    seen = set()
    page.run("document.body.focus()")
    for _ in range(400):
        page.press("\ue004")
        number, has_outline = page.run(
            """
            const all = [...document.querySelectorAll("*")];
            const at = document.activeElement;
            const { outlineStyle, outlineWidth } = getComputedStyle(at);
            return [at === document.body ? -1 : all.indexOf(at),
                    outlineStyle !== "none" && parseFloat(outlineWidth) > 0];
        """
        )
        if number < 0 or number in seen:
            break
        assert has_outline
        seen.add(number)
    wanted = page.run(
        """
        return [...document.querySelectorAll("*")]
          .map((one, i) => [one, i])
          .filter(([one]) => one.matches("a, button, input, summary")
            && !one.disabled && one.checkVisibility()
            && !one.matches("[tabindex='-1']"))
          .map(([one, i]) => i);
    """
    )
    assert len(wanted) > 50 and set(wanted) <= seen
    roles = page.run(
        "const all = [...document.querySelectorAll('*')];"
        "return arguments[0].map((i) => all[i].getAttribute('role'))",
        sorted(seen),
    )
    # One tab stop each: the chart, the drill-down, its tabs.
    assert [roles.count(r) for r in ("treeitem", "row", "tab")] == [1, 1, 1]


# ------------------------------------------------------------ the chart


def boxes(page):
    """Names of the boxes and how wide they are, in shares of the chart."""
    return page.run(
        """
        const all = document.getElementById("icicle");
        return Object.fromEntries([...all.querySelectorAll("[role=treeitem]")]
          .map((box) => [box.title.split("\\n")[0],
                         box.getBoundingClientRect().width
                           / all.clientWidth]));
    """
    )


def box(page, name):
    return next(
        one
        for one in page.all("#icicle [role=treeitem]")
        if one.get_attribute("title").startswith(name + "\n")
    )


def test_chart_shows_shares(page):
    """A box is as wide as its bytes."""
    found = page.document()["dominators"]
    shares = {
        n["n"]: n["b"] / found["reached_bytes"]
        for n in found["nodes"]
        if n["p"] == 0
    }
    drawn = boxes(page)
    assert drawn["the program"] == pytest.approx(1, abs=0.01)
    for name in ("main.pageCache", "main.sessionsByToken"):
        assert drawn[name] == pytest.approx(shares[name], abs=0.005)


def check_widths(page):
    """Boxes are neither wider than their bytes nor on top of each other."""
    rows = page.run(
        """
        const all = document.getElementById("icicle");
        const left = all.getBoundingClientRect().left;
        const rows = new Map();
        for (const box of all.children) {
          const { x, y, width } = box.getBoundingClientRect();
          rows.set(y, [...rows.get(y) || [], [x - left, width]]);
        }
        return [...rows.values()];
    """
    )
    assert sum(map(len, rows)) > 10
    for row in rows:
        row.sort()
        ends = [x + width for x, width in row]
        assert all(end <= x for end, (x, _) in zip(ends, row[1:]))


def test_boxes_are_beside_each_other(page):
    check_widths(page)
    page.click("#tab-references")
    check_widths(page)


def test_zoom(page):
    box(page, "main.sessionsByToken").click()
    drawn = boxes(page)
    assert drawn["main.sessionsByToken"] == pytest.approx(1, abs=0.01)
    assert "main.pageCache" not in drawn and "the program" in drawn
    assert "main.sessionsByToken" in page.one("#selected").text
    page.click("#zoom-out")
    assert "main.pageCache" in boxes(page)
    assert not page.one("#zoom-out").is_enabled()


def test_chart_by_keyboard(page):
    page.run("document.querySelector('#icicle [tabindex=\"0\"]').focus()")
    down, right, enter = "\ue015", "\ue014", "\ue007"
    page.press(down)
    assert page.focused.get_attribute("title").startswith("main.pageCache\n")
    page.press(right)
    name = "main.sessionsByToken\n"
    assert page.focused.get_attribute("title").startswith(name)
    page.press(enter)
    assert page.focused.get_attribute("title").startswith(name)
    assert "main.pageCache" not in boxes(page)
    page.press("\ue00c")  # Escape
    assert "main.pageCache" in boxes(page)
    assert page.focused.get_attribute("role") == "treeitem"


def outermost(nodes, text):
    """Nodes whose name has a text and that are below no other such node."""
    inside = []
    for node in nodes:
        above = node["p"] is not None and inside[node["p"]]
        inside.append(above or (node["p"] is not None and text in node["n"]))
    return [
        node
        for i, node in enumerate(nodes)
        if inside[i] and not inside[node["p"]]
    ]


@pytest.mark.parametrize("tree", ("dominators", "references"))
def test_search(page, tree):
    page.click(f"#tab-{tree}")
    document = page.document()[tree]
    page.one("#search").send_keys("main.Session")
    nodes = document["nodes"]
    count = sum("main.session" in n["n"].lower() for n in nodes[1:])
    lower = [{**n, "n": n["n"].lower()} for n in nodes]
    held = sum(n["b"] for n in outermost(lower, "main.session"))
    said = page.one("#found").text
    assert said.startswith(f"{count} name")
    assert human(held) in said
    marked = page.all("#icicle .match")
    assert marked and all(
        "main.session" in m.get_attribute("title").lower() for m in marked
    )
    page.one("#search").send_keys("\ue007")  # the largest one
    best = max((n for n in lower if "main.session" in n["n"]),
               key=lambda n: n["b"])  # fmt: skip
    chosen = page.one("#icicle [aria-selected=true]")
    assert chosen.get_attribute("title").lower().startswith(best["n"])
    page.search("no such name")
    assert page.one("#found").text == "No name in the chart matches."


def human(count):
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1023.95:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError(count)


# --------------------------------------------------- drill-down and tables


def test_drill_down(page):
    """Rows below a row add up to it."""
    nodes = page.document()["dominators"]["nodes"]
    rows = page.all("#drill tbody tr[aria-level='1']")
    assert rows[0].find_element("tag name", "code").text == nodes[1]["n"]
    first = next(r for r in rows if "main.sessionsByToken" in r.text)
    page.run("arguments[0].focus()", first)
    if first.get_attribute("aria-expanded") == "true":
        page.press("\ue012")  # left
    assert first.get_attribute("aria-expanded") == "false"
    before = len(page.all("#drill tbody tr"))
    page.press("\ue014", "\ue014")  # right: open, and go in
    assert len(page.all("#drill tbody tr")) > before
    assert page.focused.get_attribute("aria-level") == "2"
    shown = page.run(
        """
        const row = document.activeElement;
        const of = (one) => Number(one.cells[1].title.replace(/[^0-9]/g, ""));
        const rows = [];
        let next = row;
        while (next && next.ariaLevel >= 2) {
          if (next.ariaLevel === "2" && next.cells[1].title) {
            rows.push(of(next));
          }
          next = next.nextElementSibling;
        }
        return rows;
    """
    )
    at = next(
        i for i, n in enumerate(nodes) if n["n"] == "main.sessionsByToken"
    )
    below = [n["b"] for n in nodes if n["p"] == at]
    assert shown == below[: len(shown)] and shown
    page.press("\ue012", "\ue012")  # left: close is at the parent
    assert page.focused.text.startswith("▸ main.sessionsByToken") or (
        page.focused.get_attribute("aria-level") == "1"
    )


def column(page, table, index):
    return page.run(
        """
        return [...document.querySelectorAll(arguments[0] + " tbody tr")]
          .filter((row) => !row.hidden)
          .map((row) => row.cells[arguments[1]].dataset.value);
        """,
        table,
        index,
    )


def test_tables_sort(page):
    rows = page.document()["types"]["rows"]
    page.click("#types-table .more-rows")
    objects = [int(v) for v in column(page, "#types-table", 3)]
    assert len(objects) == len(rows)
    page.click("#types-table th:nth-child(4) button")
    objects = [int(v) for v in column(page, "#types-table", 3)]
    assert objects == sorted((r["objects"] for r in rows), reverse=True)
    head = page.one("#types-table th:nth-child(4)")
    assert head.get_attribute("aria-sort") == "descending"
    page.press("\ue007")  # the button has the focus
    assert head.get_attribute("aria-sort") == "ascending"
    page.click("#types-table th:nth-child(5) button")
    assert column(page, "#types-table", 4) == sorted(r["key"] for r in rows)
    assert head.get_attribute("aria-sort") is None


def test_the_search_filters_tables(page):
    keys = [r["key"] for r in page.document()["types"]["rows"]]
    for query, wanted in (
        ("main.", [key for key in keys if "main." in key]),
        ("^map.*Session$", ["map[string]*main.Session"]),
    ):
        page.search(query)
        shown = column(page, "#types-table", 4)
        assert shown == wanted[: len(shown)] and shown
        said = page.one("#types-table .rows-found").text
        assert said.startswith(f"{len(wanted)} of {len(keys)} rows match")


# ------------------------------------------------------ waits and goroutines


def test_the_picture_fits_a_phone(driver, service_page):
    page = Page(driver, service_page, NARROW)
    box = page.one("#waitgraph .scroll")
    assert page.run(
        "return arguments[0].scrollWidth - arguments[0].clientWidth", box
    ) == 0
    # Each member of the deadlock is where it waits itself.
    stacks = page.document()["waits"]["stacks"]
    texts = page.texts("#waitgraph .node.goroutine .detail")
    own = [
        next(f["function"] for f in row["frames"]
             if f["function"].startswith("main."))
        for row in stacks.values()
    ]  # fmt: skip
    assert sorted(texts) == sorted(own) and len(set(own)) == 2


def test_waits_are_drawn(page):
    [deadlock] = page.document()["waits"]["deadlocks"]
    drawn = page.texts("#waitgraph .node.bad .label")
    assert sorted(drawn) == sorted(
        [f"goroutine {n}" for n in deadlock["ids"]]
        + [p["path"] for p in deadlock["primitives"]]
    )
    assert len(page.all("#waitgraph .edge.bad")) == 4  # a circle
    behind = deadlock["behind"]
    crowds = page.texts("#waitgraph .node.crowd .label")
    assert sum(int(c.split()[0]) for c in crowds) == behind
    # Texts fit into their nodes.
    assert page.run("""
        return [...document.querySelectorAll("#waitgraph .node")]
          .every((node) => {
            const box = node.querySelector("rect:last-of-type").getBBox();
            return [...node.querySelectorAll("text")].every((text) => {
              const { x, width } = text.getBBox();
              return x >= box.x && x + width <= box.x + box.width;
            });
          });
    """)
    # All of it lies within the picture.
    assert page.run(
        """
        const box = document.querySelector("#waitgraph svg")
          .getBoundingClientRect();
        return [...document.querySelectorAll("#waitgraph svg > g, .edge")]
          .every((one) => {
            const r = one.getBoundingClientRect();
            return r.left >= box.left && r.right <= box.right
              && r.top >= box.top && r.bottom <= box.bottom;
          });
    """
    )


def test_goroutine_groups(page):
    groups = page.document()["goroutines"]["groups"]
    first = page.one("#goroutines details")
    assert first.find_element("css selector", ".count").text == str(
        groups[0]["count"]
    )
    summary = first.find_element("tag name", "summary")
    assert "main.handle" in summary.text
    page.run("arguments[0].focus()", summary)
    page.press("\ue007")
    assert first.get_attribute("open") is not None
    calls = [
        c.text for c in first.find_elements("css selector", ".stack code")
    ]
    assert calls == [f["function"] for f in groups[0]["frames"]]


def test_stacked_bars_add_up(page):
    for name in ("ledger", "rss-classes"):
        widths = page.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((one) => Number(one.getAttribute('width')))",
            f"#{name} .stack-bar rect",
        )
        assert sum(widths) == pytest.approx(100, abs=0.1), name
        colors = page.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((one) => getComputedStyle(one).backgroundColor)",
            f"#{name} .swatch",
        )
        assert len(colors) == len(set(colors)) > 4, name

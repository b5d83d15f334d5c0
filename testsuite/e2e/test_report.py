# SPDX-License-Identifier: Apache-2.0
"""goref report: a page that says what the verbs say; names of the target are
input; what fails."""

import dataclasses
import html
import json
import re
import shutil

import pytest

from asking import STEPS, run_by_steps
from browser import Page
from reports import LIMIT, SCRIPTS, ask, embedded, write
from session import one_line, run_cli, run_goref
from targets import Target, attach_reason, kernel_core, kernel_cores_reason
from targets import skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")


def without_commands(suspects):
    """The command line and gdb name the target differently."""
    rows = [{**row, "next": None} for row in suspects["suspects"]]
    return {**suspects, "suspects": rows}


# ------------------------------------------------- what the verbs say, too


@variants(newest=("default",))
def test_figures_are_those_of_the_verbs(farm, variant, tmp_path):
    target = farm.target("leaky", variant, args=["1000", "refunds"])
    path = tmp_path / "page.html"
    done = write(target, path, "--json")
    answer = json.loads(done.stdout)
    assert answer["bytes"] == path.stat().st_size < LIMIT
    assert answer["out"] == str(path) and answer["missing"] == {}
    found = embedded(path)
    assert found["complete"] and not found["missing"]

    scan, suspects, leaks, types, rss, waits, groups, sites = ask(
        target,
        "scan --retained",
        "suspects",
        "leaks",
        "histogram --retained",
        "rss",
        "waits",
        "goroutines -group stack",
        "histogram --by site,root",
    )
    assert found["sites"]["rows"] == sites["rows"]
    assert found["heap"]["heap"] == scan["heap"]
    assert found["heap"]["reached"] == scan["reached"]
    assert found["heap"]["roots"] == scan["roots"]
    assert without_commands(found["suspects"]) == without_commands(suspects)
    assert found["leaks"]["leaked"] == target.truth["goroutines"]
    assert found["leaks"]["retained_bytes"] == leaks["retained_bytes"]
    assert found["types"]["rows"] == types["rows"]
    assert found["rss"]["classes"] == rss["classes"]
    assert [d["ids"] for d in found["waits"]["deadlocks"]] == [
        d["ids"] for d in waits["deadlocks"]
    ]
    assert (
        sum(row["count"] for row in found["waits"]["waits"])
        == waits["goroutines"]
    )
    assert [g["count"] for g in found["goroutines"]["groups"]] == [
        g["count"] for g in groups["groups"]
    ]


def test_trees_add_up(service, service_page):
    """Each node has its own bytes and those below, and the trees are
    those of dominators and scan."""
    found = embedded(service_page)
    for name in ("dominators", "references"):
        nodes = found[name]["nodes"]
        below = [0] * len(nodes)
        for i, node in enumerate(nodes):
            if i:
                assert node["p"] < i
                below[node["p"]] += node["b"]
        assert all(
            below[i] + node["o"] <= node["b"] for i, node in enumerate(nodes)
        )
        assert nodes[0]["b"] == found["heap"]["reached"]["bytes"]
    tops = [n for n in found["dominators"]["nodes"] if n["p"] == 0]
    [asked] = ask(service, "dominators --top 5")
    assert [(n["n"], n["b"]) for n in tops[:5]] == [
        (row["name"], row["retained_bytes"]) for row in asked["children"]
    ]
    roots = {
        n["n"]: n["b"] for n in found["references"]["nodes"] if n["p"] == 0
    }
    billed = {r["name"]: r["bytes"] for r in found["heap"]["roots"]}
    for name in ("main.pageCache", "main.sessionsByToken"):
        assert roots[name] == billed[name]


def test_sites(driver, farm, tmp_path):
    """Where objects were allocated, and what holds them."""
    target = farm.target("sites", CENTRAL, args=["1"])
    path = tmp_path / "page.html"
    write(target, path)
    [asked] = ask(target, "histogram --by site,root")
    found = embedded(path)["sites"]
    assert found["rows"] == asked["rows"][: len(found["rows"])]
    assert found["nrows"] == len(asked["rows"]) > 5
    page = Page(driver, path)
    assert page.complaints() == []
    [first, *_] = page.all("#sites-table tbody tr")
    assert f"{asked['rows'][0]['objects']:,}" in first.text
    first.find_element("tag name", "summary").click()
    calls = [
        c.text for c in first.find_elements("css selector", ".stack code")
    ]
    assert calls == [f["function"] for f in asked["rows"][0]["stack"]]


def test_saved_file(service, service_page, tmp_path):
    """It has what the core has, but for values."""
    saved, again = tmp_path / "saved", tmp_path / "again.html"
    done = run_cli(["core", service.exe, service.core, "save", saved])
    assert done.returncode == 0, done.stderr
    done = run_cli(["open", saved, "report", again])
    assert done.returncode == 0, done.stderr
    before, after = embedded(service_page), embedded(again)
    for name in ("dominators", "references", "types", "goroutines", "waits"):
        assert after[name] == before[name], name
    for name in ("heap", "reached", "roots", "unreached"):
        assert after["heap"][name] == before["heap"][name], name
    for key in ("stopped_by", "goroutines"):
        assert after["overview"][key] == before["overview"][key]
    assert after["leaks"]["leaked"] == before["leaks"]["leaked"]
    assert after["rss"]["classes"] == before["rss"]["classes"]
    assert without_commands(after["suspects"]) == without_commands(
        before["suspects"]
    )
    assert set(after["missing"]) <= {"panic"}
    assert str(saved) in after["heap"]["target_name"]


def test_process(farm, tmp_path):
    """It goes on, and its pages are known one by one."""
    skip_if(attach_reason())
    process = farm.process("leaky", CENTRAL, args=["500"])
    path = tmp_path / "page.html"
    done = run_cli(["attach", process.pid, "report", path])
    assert done.returncode == 0, done.stderr
    found = embedded(path)
    assert found["missing"] == {} and process.popen.poll() is None
    assert found["heap"]["target"]["pid"] == process.pid
    resident = sum(row["bytes"] for row in found["rss"]["classes"])
    assert found["rss"]["rss_bytes"] == resident > 1 << 20
    assert found["leaks"]["leaked"] == process.truth["goroutines"]
    assert found["overview"]["stopped_by"] is None


def test_snapshot(driver, farm, tmp_path):
    """The page of a copy has the resident pages, too."""
    skip_if(attach_reason())
    process = farm.process("leaky", CENTRAL, args=["500"])
    path = tmp_path / "page.html"
    done = run_cli(["attach", "--snapshot", process.pid, "report", path])
    assert done.returncode == 0, done.stderr
    assert "without" not in done.stdout
    found = embedded(path)
    assert found["missing"] == {} and found["rss"]["rss_bytes"] > 0
    page = Page(driver, path)
    assert not page.all("#rss .empty")
    assert page.complaints() == []


# ------------------------------------------------------- names are input


@pytest.fixture(scope="module")
def hostile(farm, tmp_path_factory):
    """A program with hostile names, in files with hostile names."""
    target = farm.target("hostile", CENTRAL)
    folder = tmp_path_factory.mktemp("hostile") / 'it\'s <b>&"x"'
    folder.mkdir()
    for file in (target.exe, target.core):
        shutil.copy(file, folder / f"<img src=x onerror=pwned()>{file.name}")
    core = next(f for f in folder.iterdir() if "core" in f.name)
    exe = next(f for f in folder.iterdir() if f != core)
    return dataclasses.replace(target, exe=exe, core=core)


@pytest.mark.parametrize("options", ((), ("--values",)), ids=("", "values"))
def test_hostile_names(driver, hostile, tmp_path, options):
    path = tmp_path / "page.html"
    write(hostile, path, *options)
    page = Page(driver, path)
    assert page.complaints() == []
    assert [u for u in page.requests() if not u.startswith("data:")] == [
        path.resolve().as_uri()
    ]
    assert page.run("return window.pwned === undefined")
    assert page.all("main img, main b, main script") == []
    assert page.run("return document.scripts.length") == len(SCRIPTS) + 2
    assert hostile.exe.name in page.driver.title
    assert page.one("h1").text == hostile.exe.name
    types = page.run(
        "return [...document.querySelectorAll('#types-table code')]"
        ".map((one) => one.title || one.textContent)"
    )
    [name] = [t for t in types if t.startswith("main.box[")]
    assert "</script><script>pwned()</script><!--" in name
    page.one("#search").send_keys("pwned()")
    assert "main.box[" in page.one("#icicle .match").get_attribute("title")


def test_values_are_left_out(hostile, tmp_path):
    """Keys of maps and labels of goroutines are, unless they are asked for."""
    path = tmp_path / "page.html"
    write(hostile, path)
    text = html.unescape(path.read_text(encoding="utf-8"))
    assert "main.accounts" in text and "customer" not in text
    assert "secret" not in text
    write(hostile, path, "--values")
    found = embedded(path)
    named = [
        p["path"] for d in found["waits"]["deadlocks"] for p in d["primitives"]
    ]
    assert any("secret-key" in path for path in named)
    assert any("secret-other" in path for path in named)
    labels = [g["labels"] for g in found["goroutines"]["groups"]]
    assert {"customer": hostile.truth["label"]} in labels


def test_panic(driver, farm, tmp_path):
    """It is the first thing that the page says; its text is a value."""
    skip_if(kernel_cores_reason())
    process = farm.process("panics", CENTRAL, ("wrapped",))
    core = kernel_core(process, process.popen.stdin.close)
    target = Target("core", process.exe, process.truth, core=core)
    path = tmp_path / "page.html"
    [asked] = ask(target, "panic")
    value = asked["values"][-1]
    write(target, path)
    text = value["value"].strip('"')
    assert len(text) > 4 and text not in html.unescape(path.read_text())
    page = Page(driver, path)
    first = page.one(".findings .finding")
    assert first.text.startswith("Panic\npanic of type ")
    assert "its text is left out" in first.text and "main.end" in first.text
    write(target, path, "--values")
    page = Page(driver, path)
    assert value["value"] in page.one(".findings .finding").text


# ------------------------------------------------------------- what fails


def test_partial_is_said(driver, service, tmp_path):
    """The page of a truncated core says what is missing."""
    cut = tmp_path / "cut"
    shutil.copy(service.core, cut)
    size = cut.stat().st_size
    with open(cut, "r+b") as file:
        file.truncate(size - size // 20)
    path = tmp_path / "page.html"
    done = run_cli(["core", service.exe, cut, "report", path])
    assert done.returncode == 3, done.stderr
    assert "PARTIAL" in done.stdout
    page = Page(driver, path)
    text = page.one("#partial").text
    assert "truncated" in text and "lower bounds" in text
    assert page.complaints() == []


def test_bad_lines(service, tmp_path):
    line = ["core", service.exe, service.core, "report"]
    one_line(run_cli(line), 2, "no FILE given")
    one_line(run_cli([*line, tmp_path / "a", tmp_path / "b"]), 2, "one FILE")
    missing = tmp_path / "missing" / "page.html"
    one_line(run_cli([*line, missing]), 1, str(missing))
    one_line(run_cli([*line, service.core]), 1, "core that is open")


def test_a_file_stays_as_it_is(service, tmp_path):
    """Whole or not at all."""
    path = tmp_path / "page.html"
    line = ["core", service.exe, service.core, "report", path]
    statuses = set()
    for seconds in STEPS:
        path.write_text("before")
        done = run_by_steps(*line, "--timeout", seconds)
        statuses.add(done.returncode)
        text = path.read_text()
        if done.returncode == 1:
            assert text == "before"
        else:
            assert text.rstrip().endswith("</html>"), text[-80:]
        assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert {0, 1} <= statuses <= {0, 1, 3}


def test_in_gdb(service, tmp_path):
    """Someone's gdb is told what to run, and what it is told works."""
    path = tmp_path / "page.html"
    run = run_goref(service, [f"goref report {path}"], in_gdb=True)
    [line] = run.error_lines()
    assert "outside of gdb" in line and not path.exists()
    assert re.search(r"`goref (core|open) .* report ", line), line

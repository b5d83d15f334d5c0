# SPDX-License-Identifier: Apache-2.0
"""The page of `goref report`: its elements, its bounds, and what is left out."""

import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from conftest import TOP
from goref.report import (
    findings,
    limits,
    markup,
    page,
    tree,
    values,
    waitgraph,
)
from goref.render.sites import NOT_LINKED, SAMPLING_IS_OFF
from goref.report.sections import first, suspects

HOSTILE = "</script><script>pwned()</script><!--\u202e\x01\udcff\"'&"
ASSETS = TOP / "python/goref/report/assets"
# `npm pack @dagrejs/dagre@3.1.3`: build-aux/check-vendored compares the two.
DAGRE = "54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578"


class Seen(HTMLParser):
    """The tags, attributes and texts that a browser would find."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.texts.append(data)


# ----------------------------------------------------------------- elements


def test_text_is_text():
    element = markup.el("p", {"title": HOSTILE}, HOSTILE, 7, None, ["a"])
    seen = Seen(markup.html(element))
    assert seen.tags == ["p"]
    shown = "</script><script>pwned()</script><!--\\u202e\\x01\\udcff\"'&"
    assert seen.attributes == [("title", shown)]
    assert "".join(seen.texts).strip() == shown + "7a"


@pytest.mark.parametrize(
    "name, parts",
    (
        ("main.theBank.accounts.mu", ["main.", "theBank.", "accounts.", "mu"]),
        ("example.com/a.f", ["a.", "f"]),
        ("main.pool[7]", ["main.", "pool", "[7]"]),
        ("[]int", ["[]int"]),
        ("", []),
    ),
)
def test_a_name_is_broken_between_its_parts(name, parts):
    element = markup.code(name)
    assert list(element.itertext()) == parts
    assert [child.tag for child in element] == ["wbr"] * (len(parts) - 1)


def test_attributes_that_are_none_are_left_out():
    attributes = {"a": None, "b": False, "c": True, "d": 0, "e": ""}
    element = markup.el("p", attributes)
    assert dict(element.items()) == {"c": "", "d": "0", "e": ""}


def test_data_does_not_end_its_script():
    text = markup.html(markup.data("x", {HOSTILE: [HOSTILE]}))
    assert text.count("<") == 3  # with the doctype
    seen = Seen(text)
    assert seen.tags == ["script"]
    assert json.loads(seen.texts[1]) == {HOSTILE: [HOSTILE]}


@pytest.mark.parametrize("text", ("a</script>b", "</SCRIPT ", "<!-- a"))
def test_an_asset_that_would_end_early(text):
    with pytest.raises(ValueError):
        markup.asset("script", text)


def test_a_bar_has_no_style():
    """The page's policy would forbid it."""
    seen = Seen(markup.html(markup.bar(1, 3)))
    assert ("width", "33.33") in seen.attributes
    assert "style" not in dict(seen.attributes)
    assert ("width", "0.00") in Seen(markup.html(markup.bar(1, 0))).attributes


# ------------------------------------------------------------------- values


@pytest.mark.parametrize(
    "path, shown",
    (
        ("main.shop.mu", "main.shop.mu"),
        ('main.users["ann"].mu', "main.users[...].mu"),
        (r'main.users["a\"]b"].mu', "main.users[...].mu"),
        ('main.users["cut...', "main.users[...]"),
        ("main.accounts[4711].mu", "main.accounts[...].mu"),
        ("main.accounts[-1][true]", "main.accounts[...][...]"),
        ("(*main.T[int])(0xc000012345)", "(*main.T[int])(0xc000012345)"),
    ),
)
def test_keys_of_maps(path, shown):
    document = {"waits": [{"path": path}]}
    assert values.shown(document, False) == {"waits": [{"path": shown}]}
    assert values.shown(document, True) == document


@pytest.mark.parametrize(
    "name, shown",
    (
        ("[48]main.T", "[48]main.T"),
        ("map[string]*main.T", "map[string]*main.T"),
        ("[3]", "[...]"),
        ("[3].next", "[...].next"),
        ('["key"]', "[...]"),
    ),
)
def test_steps_of_a_path(name, shown):
    document = {"path": [{"name": name}]}
    assert values.shown(document, False) == {"path": [{"name": shown}]}


def test_values_and_labels():
    document = {
        "panic": {"values": [{"type": "string", "value": "secret"}]},
        "groups": [{"labels": {"customer": "secret"}}],
        "overview": {"panic": {"kind": "panic", "text": "panic: secret"}},
    }
    text = json.dumps(values.shown(document, False))
    assert "secret" not in text and "customer" not in text
    assert "string" in text
    bare = {"groups": [{"labels": {}}, {"labels": None}]}
    assert values.shown(bare, False) == bare


# -------------------------------------------------------------------- trees


def lines_of(rows):
    """(id, parent, own bytes), parents first, as `--format jsonl' has them."""
    total = {id_: own for id_, _parent, own in rows}
    for id_, parent, _own in reversed(rows):
        if parent is not None:
            total[parent] += total[id_]
    return [
        json.dumps({"id": i, "parent": p, "name": f"n{i}", "objects": 1,
                    "bytes": own, "total_objects": 1,
                    "total_bytes": total[i]})
        for i, p, own in rows
    ]  # fmt: skip


def test_references_keep_the_largest(monkeypatch):
    monkeypatch.setattr(tree, "NODES", 4)
    rows = [(0, None, 0), (1, 0, 5), (2, 0, 50), (3, None, 7), (4, 3, 1)]
    found = tree.of_references(lines_of(rows))
    assert [(n["n"], n["p"], n["b"]) for n in found["nodes"]] == [
        ("the program", None, 63),
        ("n0", 0, 55),
        ("n2", 1, 50),
        ("n3", 0, 8),
    ]
    assert (found["reached_bytes"], found["cut"]) == (63, 2)


def test_references_may_be_deep():
    """A list has a level for each element."""
    rows = [(i, i - 1 if i else None, 1) for i in range(3000)]
    found = tree.of_references(lines_of(rows))
    assert [n["p"] for n in found["nodes"]] == [None, *range(3000)]
    json.dumps(found)


def test_dominators(make):
    rows = [
        make.dominator("top", 100, 0, kind="top", cut=3, cut_bytes=10),
        make.dominator("a", 60, 1, objects=2, vertices=2, bytes=20),
        make.dominator("b", 40, 2, addr=0xC0),
        make.dominator("c", 30, 1, type="main.T", kind="global"),
    ]
    found = tree.of_dominators(make.dominators(100, rows))
    assert [(n["p"], n["b"]) for n in found["nodes"]] == [
        (None, 100),
        (0, 60),
        (1, 40),
        (0, 30),
    ]
    assert found["nodes"][0]["x"] == found["cut"] == 3
    assert found["nodes"][2]["at"] == "0xc0"
    assert found["nodes"][3]["type"] == "main.T"


def test_dominators_of_nothing(make):
    found = tree.of_dominators(make.dominators(0))
    assert [n["n"] for n in found["nodes"]] == ["the program"]


def test_long_names_are_cut():
    assert limits.short("x" * 400) == "x" * 400
    assert limits.short("x" * 401) == "x" * 397 + "..."


def test_long_names_do_not_make_a_long_page():
    """A page has 200 sites with 40 calls each, all of whose names are long."""
    frame = {"function": "f" * 600, "file": "g" * 600, "line": 1}
    row = {"key": "k" * 600, "stack": [frame] * limits.CALLS, "root": "r",
           "objects": 1, "bytes": 1, "sampled_objects": 1}  # fmt: skip
    sites = {"rows": [row] * limits.SITES, "notes": [], "estimated": True,
             "bytes": 1, "sampled_objects": 1,
             "nrows": limits.SITES}  # fmt: skip
    long = document(sites=sites)
    assert len(page(long)) > limits.PAGE
    made = limits.fitting(long, page)
    assert len(made) <= limits.PAGE and b"f" * 50 in made
    plain = document()
    assert limits.fitting(plain, page).decode() == page(plain)


@pytest.mark.parametrize("note", (NOT_LINKED, SAMPLING_IS_OFF))
def test_no_samples_are_no_table(note):
    """The start of the program is sampled even then."""
    row = {"key": "k", "stack": [], "root": "r", "objects": 1, "bytes": 1,
           "sampled_objects": 1}  # fmt: skip
    sites = {"rows": [row], "notes": [], "estimated": True, "bytes": 1,
             "sampled_objects": 1, "nrows": 1}  # fmt: skip
    assert "sites-table" in page(document(sites=sites))
    text = page(document(sites={**sites, "notes": [note]}))
    assert "sites-table" not in text and note[1:] in text


# -------------------------------------------------------------------- waits


def awaited(name, count=1, **fields):
    return {
        "primitive": f"0x{name}", "kind": "mutex", "path": f"main.{name}",
        "type": None, "state": "locked", "count": count,
        "waiters": list(range(100, 100 + count)), "function": "main.f",
        "file": "f.go", "line": 1, "verdict": None, "owners": [],
        "things": 1, **fields,
    }  # fmt: skip


def owner(number, likely=True, certain=False):
    return {"id": number, "likely": likely, "certain": certain,
            "evidence": "", "function": "main.g"}  # fmt: skip


def waits(rows, deadlocks=(), stacks=None):
    return {"waits": rows, "deadlocks": list(deadlocks),
            "stacks": stacks or {}}  # fmt: skip


def test_a_deadlock_is_a_circle():
    dead = {"ids": [1, 2], "primitives": [awaited("a"), awaited("b")],
            "certain": False, "behind": 3, "count": 2}  # fmt: skip
    rows = [awaited("a", 4, waiters=[5, 1, 6, 7], owners=[owner(2)])]
    calls = ["runtime.gopark", "sync.(*Mutex).Lock", "main.other", "main.f"]
    stacks = {"1": {"frames": [{"function": call} for call in calls]}}
    drawn = waitgraph.graph(waits(rows, [dead], stacks))
    bad = {(e["from"], e["to"]) for e in drawn["edges"] if e["bad"]}
    assert bad == {("g1", "p0xa"), ("p0xa", "g2"),
                   ("g2", "p0xb"), ("p0xb", "g1")}  # fmt: skip
    [crowd] = [n for n in drawn["nodes"] if n["kind"] == "crowd"]
    assert crowd["label"] == "3 goroutines" and not crowd["bad"]
    # A member is where it waits itself, not where most wait for the same.
    where = {n["id"]: n["detail"] for n in drawn["nodes"]}
    assert where["g1"] == "main.other" and where["g2"] == "main.g"
    assert crowd["detail"] == "main.f"
    assert {n["id"] for n in drawn["nodes"] if n["bad"]} == {
        "g1", "g2", "p0xa", "p0xb"
    }  # fmt: skip


def test_what_is_no_picture():
    """A lone receiver without a sender; a channel that is nil."""
    rows = [awaited("a"), awaited("b", 5, primitive=None), awaited("c", 9)]
    drawn = waitgraph.graph(waits([*rows[:2], {**rows[2], "things": 9}]))
    assert drawn == {"nodes": [], "edges": [], "left_out": 0}


def test_the_picture_is_bounded():
    rows = [awaited(str(i), 2, owners=[owner(1000 + i)]) for i in range(50)]
    drawn = waitgraph.graph(waits(rows))
    assert len(drawn["nodes"]) <= waitgraph.NODES
    groups = sum(n["kind"] == "primitive" for n in drawn["nodes"])
    assert groups + drawn["left_out"] == 50 and drawn["left_out"]


def test_waiters_that_are_alike_are_one_row():
    rows = [awaited(str(i), path=f"(chan int)(0x{i})") for i in range(30)]
    rows += [awaited("named", 2), awaited("owned", 3, owners=[owner(9)])]
    merged = limits._merged(rows)
    assert sum(row["count"] for row in merged) == 35
    assert [(row["count"], row["things"]) for row in merged] == [
        (3, 1),
        (2, 1),
        (30, 30),
    ]
    assert len(merged[2]["waiters"]) == limits.IDS


def test_waiters_for_elements_are_one_row():
    """But those that several wait for, or that have an owner, stay rows."""
    rows = [awaited(f"pool[{i}]") for i in range(5)]
    rows += [awaited("pool[7]", 4), awaited("pool[8]", owners=[owner(9)])]
    merged = limits._merged(rows)
    assert [(row["count"], row["path"]) for row in merged] == [
        (4, "main.pool[7]"),
        (5, "main.pool[]"),
        (1, "main.pool[8]"),
    ]


# ----------------------------------------------------------------- the page


def document(**parts):
    """The least of a document: a heap, and nothing else."""
    heap = {
        "target": {"kind": "core", "exe": f"/srv/{HOSTILE}", "core": "/c",
                   "pid": None, "origin": None},
        "go_version": "go1.24", "gc_phase": "off", "build_id": None,
        "target_name": "core /c",
        "heap": {"allocated_objects": 0, "allocated_bytes": 0},
        "reached": {f"{way}{unit}": 0
                    for way in ("", "typed_", "runtime_type_", "header_",
                                "masked_")
                    for unit in ("objects", "bytes")},
        "unreached": {"objects": 0, "bytes": 0},
        "folded": {"objects": 0, "bytes": 0},
        "gaps": {}, "warnings": [], "roots": [], "nroots": 0,
    }  # fmt: skip
    missing = {
        name: f"no memory for {name}"
        for name in ("overview", "hung", "waits", "goroutines", "panic",
                     "suspects", "dominators", "references", "types", "leaks",
                     "rss", "sites", "waste")
        if name not in parts
    }  # fmt: skip
    return {
        "schema": 1, "tool_version": "1", "complete": False,
        "partial": [], "missing": missing, "with_values": False,
        "made_at": "2026-01-02T03:04:05+00:00", "command": "goref core c",
        "heap": heap, **parts,
    }  # fmt: skip


def test_what_is_missing_is_said():
    """Each missing part is named once at the top and once in its place."""
    found = document()
    text = page(found)
    for name in found["missing"]:
        assert f"{name}: no memory for {name}" in text
    assert "lower bounds" not in text  # all of the memory was read
    for name in (
        "waits",
        "suspects",
        "types",
        "leaks",
        "rss",
        "goroutines",
        "sites",
        "waste",
    ):
        assert f"Reason: no memory for {name}." in text


def test_nothing_is_reached_by_address():
    """No address of a network, and no style that the policy forbids."""
    seen = Seen(page(document()))
    attributes = dict(seen.attributes)
    assert {name for name, _ in seen.attributes}.isdisjoint(
        {"style", "onclick", "onload", "src", "action"}
    )
    links = [v for n, v in seen.attributes if n == "href"]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "default-src 'none'" in attributes["content"] or any(
        "default-src 'none'" in v for n, v in seen.attributes if n == "content"
    )


def test_every_link_leads_somewhere():
    seen = Seen(page(document()))
    ids = {v for n, v in seen.attributes if n == "id"}
    links = {v[1:] for n, v in seen.attributes if n == "href" and v[0] == "#"}
    assert links - {""} <= ids and "waits" in links


def test_no_id_twice():
    seen = Seen(page(document()))
    ids = [v for n, v in seen.attributes if n == "id"]
    assert len(ids) == len(set(ids))


# ----------------------------------------------------------------- findings


def panic(kind, **fields):
    return {"kind": kind, "goroutine_id": None, "thread_id": None,
            "fatal_error": None, "values": [], "signal": None,
            "sent_with_kill": False,
            "address": None, "pc": None, "deferred": [], "frames": [],
            **fields}  # fmt: skip


def titles(**parts):
    return [f.title for f in findings.findings(document(**parts))]


def test_a_crash_comes_first():
    assert titles(panic=panic("fatal error", fatal_error="x"))[0] == "Crash"
    assert titles(panic=panic("signal", signal="SIGSEGV"))[0] == "Crash"
    value = {"type": "main.E", "value": "(left out)"}
    assert titles(panic=panic("panic", values=[value]))[0] == "Panic"


def test_finalizers():
    """The cause of the waits does not say it again."""
    about = {"finding": "3 finalizers wait", "stuck_finding": "9 objects"}
    hung = {
        "cause": "no deadlock found; 2 goroutines wait; 3 finalizers wait",
        "cause_kind": "waits",
        "finalization": about,
    }
    waits = {"ndeadlocks": 0, "waits": [{"count": 2}], "owners": []}
    made = document(hung=hung, waits=waits)
    found = {f.title: f for f in findings.findings(made)}
    assert found["Waiting"].text == "2 goroutines wait"
    assert found["Finalizers"].text == "3 finalizers wait"
    assert (found["Never freed"].grade, found["Never freed"].link) == (
        "warn",
        "heap",
    )
    nothing = hung | {"cause_kind": "idle", "finalization": None}
    assert "Finalizers" not in titles(hung=nothing)


def test_the_text_of_a_panic():
    value = {"type": "main.E", "value": "(left out)"}
    where = {"goroutine_id": 7, "frames": [{"function": "runtime.gopanic"},
                                           {"function": "main.f"}]}  # fmt: skip
    said = findings.ended_text(panic("panic", values=[value], **where))
    assert said == (
        "panic of type main.E in goroutine 7, main.f; its text is left out"
    )
    value["value"] = "no disk"
    said = findings.ended_text(panic("panic", values=[value], **where))
    assert said == "panic: main.E no disk in goroutine 7, main.f"


def test_what_is_wrong_comes_first():
    """In the page, and in the bar at the top."""
    crash = document(panic=panic("fatal error", fatal_error="x"))
    text = page(crash)
    sections = re.findall(r'<section id="(\w+)"', text)
    assert sections[0] == "stop" and sections[-1] == "about"
    links = re.findall(r'<a href="#(\w+)"', text)
    assert links == sections
    assert len(set(sections)) == len(sections)


def test_a_signal_that_was_sent_is_no_finding():
    sent = panic("signal", signal="SIGABRT", sent_with_kill=True, thread_id=7)
    assert "Crash" not in titles(panic=sent)
    assert findings.ended_text(sent) == "SIGABRT, sent with kill"
    stop = {"signal": "SIGABRT", "sent_by": 5, "thread": 7,
            "goroutine_id": None}  # fmt: skip
    overview = {"stopped_by": stop, "own_pid": 5, "panic": {"kind": "signal"}}
    found = document(panic=sent, overview=overview)
    # Its own kill(2) is that of the runtime, which ends the program so.
    assert first._stopped(found) == (
        "SIGABRT", "thread 7; the Go runtime raised it afterwards"
    )  # fmt: skip
    overview["panic"] = None
    assert "sent by the program itself" in first._stopped(found)[1]


@pytest.mark.parametrize(
    "kind, origin, has_overview, shown",
    (
        ("native", None, False, ("goref", "to be copied; the process went on")),
        ("native", None, True, ("goref", "to be copied; the process went on")),
        ("snapshot", None, True,
         ("goref", "to be copied; the process went on")),
        ("core", None, False, ("not known", "timed out")),
        ("core", None, True, ("not known", "the core does not tell")),
        ("saved", "core /c", False, ("not known", "timed out")),
        ("saved", "core /c", True, ("not known", "the core does not tell")),
        ("saved", "process 7", False, ("not known", "timed out")),
        ("saved", "process 7", True,
         ("goref", "to be saved; the process went on")),
    ),
)  # fmt: skip
def test_what_has_not_stopped_it(kind, origin, has_overview, shown):
    """A core goes on no more, and an answer that is missing tells nothing."""
    overview = {"stopped_by": None, "own_pid": None, "panic": None}
    found = document(**({"overview": overview} if has_overview else {}))
    found["heap"]["target"] |= {"kind": kind, "origin": origin}
    if not has_overview:
        found["missing"]["overview"] = "timed out"
    assert first._stopped(found) == shown


@pytest.mark.parametrize(
    "residency, title, size, more",
    (
        ("exact", "Resident", "1.0 GiB", "page by page (Rss)"),
        ("anonymous", "Resident", "1.0 GiB", "of anonymous memory, at most"),
        ("unknown", "In the core", "4.0 MiB",
         "beside 1020.0 MiB of zeros, which may never have been touched; "
         "which pages were resident is not known"),
    ),
)  # fmt: skip
def test_resident_is_what_was_so(residency, title, size, more):
    """Pages of zeros that a core has may be ones that the process never had:
    neither the first screen nor the section counts them."""
    zeros = (1020 << 20) if residency == "unknown" else 0
    classes = [{"name": "go_heap_live", "bytes": (1 << 30) - zeros},
               {"name": "zero_pages", "bytes": zeros}]  # fmt: skip
    rss = {
        "residency": residency, "total_bytes": 1 << 30, "texts": {},
        "classes": classes,
        "go": {"gogc": None, "memory_limit": None, "goal_bytes": None,
               "next_gc_frees_bytes": 0},
    }  # fmt: skip
    assert first._memory(rss) == (title, size, more)
    text = "".join(Seen(page(document(rss=rss))).texts)
    assert ("Resident memory" in text) == (residency != "unknown")
    assert f"{size} are resident" in text or residency != "exact"
    files = f"{size} of anonymous memory was resident. Resident pages of"
    assert (files in text) == (residency == "anonymous")
    assert "zero_pages" not in text.partition('"schema"')[0]


def test_one_suspect_has_its_size_once():
    row = {"name": "main.a", "retained_bytes": 3 << 20, "resident_bytes": None}
    for rows, text in (
        ([row], "main.a holds 3.0 MiB, 50.0 % of the live heap"),
        ([row] * 2, "2 suspects hold 6.0 MiB, 100.0 % of the live heap"),
    ):
        part = {"suspects": rows, "reached_bytes": 6 << 20,
                "residency": "unknown"}  # fmt: skip
        found = findings.findings(document(suspects=part))
        [memory] = [f for f in found if f.title == "Memory"]
        assert memory.text == text
        several = [("main.a", "3.0 MiB (50.0 %)")] * 2
        assert [*memory.rows] == (several if len(rows) > 1 else [])


def test_a_suspect_that_was_not_touched_says_so():
    row = {"name": "main.a", "retained_bytes": 1 << 30, "resident_bytes": 0}
    part = {"suspects": [row], "reached_bytes": 2 << 30,
            "residency": "exact"}  # fmt: skip
    [memory] = [f for f in findings.findings(document(suspects=part))
                if f.title == "Memory"]  # fmt: skip
    assert memory.text == "main.a holds 1.0 GiB, 50.0 % of the live heap"
    assert [*memory.rows] == [("", "0 B of it resident (0.0 %)")]


def test_nothing_found_is_good_only_if_all_was_looked_for():
    assert titles() == ["Incomplete"]
    known = {
        "hung": {"cause": "nothing stands out: 3 of 4 goroutines wait for "
                 "the network or timers", "cause_kind": "idle",
                 "outside": []},
        "waits": {"ndeadlocks": 0, "waits": [], "owners": []},
        "suspects": {"suspects": []},
        "leaks": {"leaked": 0},
    }  # fmt: skip
    assert titles(**known) == ["Nothing stands out"]


def test_each_may_wait_for_a_thing_of_its_own():
    """Many at one place, who may be an idle pool, are a fact; those that wait
    for a lock are a finding, and one alone is none."""
    found = {
        "hung": {"cause": "no deadlock found; 55 goroutines wait in main.f at "
                 "f.go:7 [select], for different things",
                 "cause_kind": "crowd", "outside": []},
        "suspects": {"suspects": []},
        "leaks": {"leaked": 0},
        "waits": {"ndeadlocks": 0, "waits": [awaited("a"), awaited("b")],
                  "owners": []},
    }  # fmt: skip
    assert titles(**found) == ["Nothing stands out", "Waiting", "Hang"]
    found["hung"]["cause_kind"] = "waits"
    assert "Waiting" not in titles(**found)
    found["waits"]["waits"][0]["count"] = 55
    assert titles(**found) == ["Waiting", "Hang"]


# ------------------------------------------------------------------ vendored


def test_the_library_is_as_it_was_published():
    data = (ASSETS / "vendor/dagre.min.js").read_bytes()
    assert hashlib.sha256(data).hexdigest() == DAGRE
    licence = (ASSETS / "vendor/dagre.LICENSE").read_text()
    assert "Permission is hereby granted" in licence
    text = page(document())
    assert licence.splitlines()[0] in text
    assert not re.search("sourceMappingURL", text)


def test_details_of_a_suspect_add_up():
    row = {
        "accumulated": [
            {"type": "main.T", "objects": 7, "bytes": 600},
            {"type": "string", "objects": 9, "bytes": 300},
        ]
    }
    for held, last in (1024, "the rest 124 B"), (900, "string 300 B"):
        table = suspects._contents(row, held)
        texts = [" ".join(tr.itertext()).split() for tr in table.iter("tr")]
        assert " ".join(texts[-1]).endswith(last)

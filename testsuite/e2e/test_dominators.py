# SPDX-License-Identifier: Apache-2.0
"""goref dominators: what a variable keeps alive is what the program counted,
and the rows of every level add up to the row above them, to the byte."""

import json
import os
import re
import shutil
import subprocess

import pytest

from asking import GOREF_SCAN, SCANNER
from pprof import Profile
from session import run_cli, run_goref
from test_sums import check_sums, everything
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")


def dominators(target, *questions):
    """A document for each question, and last that of a scan."""
    commands = [f"goref dominators --json {q}" for q in questions]
    run = run_goref(target, [*commands, "goref scan --json"])
    assert run.rc == 0, run.stderr
    return [run.json(i) for i in range(len(questions) + 1)]


@variants("default", newest=("noopt",))
def test_values_keep_what_was_counted(farm, variant):
    """A variable that shares nothing keeps alive what it is billed."""
    target = farm.target("values", variant)
    held = {name: truth for name, truth in target.held.items()
            if name.startswith("main.v") and truth["bytes"]}  # fmt: skip
    assert len(held) > 40
    questions = [f"--depth 0 --top 0 {name}" for name in held]
    *documents, _ = dominators(target, *questions)
    wrong = {}
    for (name, truth), document in zip(held.items(), documents):
        [row] = document["asked"]
        assert document["together"]["bytes"] == row["retained_bytes"]
        check_sums(document, row["retained_bytes"])
        if document["together"] != {**truth, "retained_c_bytes": 0}:
            wrong[name] = document["together"]
    assert wrong == {}


@variants("stripped", releases=("go1.24",))
def test_large_objects_of_unknown_type_are_rows(farm, variant):
    """The store that a closure has captured is not one of many."""
    target = farm.target("suspects", variant, args=["metric"])
    document, _ = dominators(target, "")
    first = document["children"][0]
    assert first["kind"] == "object" and first["type"] is None
    assert first["count"] == 1 and first["address"] is not None
    assert first["retained_bytes"] > 0.97 * target.truth["bytes"]


def alone_and_together(target, *names):
    document, _ = dominators(target, " ".join(names))
    alone = [row["retained_bytes"] for row in document["asked"]]
    return alone, document["together"]


@variants(newest=("default",))
def test_shared(farm, variant):
    target = farm.target("shared", variant)
    # Two variables, one list of 20 leaves.
    alone, together = alone_and_together(target, "main.sTieA", "main.sTieB")
    assert alone == [0, 0]
    assert together["objects"] == 21
    # Two parts of one array of 60 pointers, 24 leaves each; the 12 in
    # between are held by both.
    alone, together = alone_and_together(target, "main.sPartA", "main.sPartB")
    assert alone == [0, 0]
    assert together["objects"] == 61
    # The far one has two links of its own; the three behind them have two
    # holders.
    alone, together = alone_and_together(target, "main.sFar", "main.sNear")
    link = together["bytes"] // 5
    assert alone == [2 * link, 0]
    assert together["objects"] == 5 * 12
    # The whole list is in one row, of links and of what they hold.
    alone, together = alone_and_together(target, "main.sHuge")
    assert (
        together["objects"] == target.held["main.sHuge"]["objects"] == 100001
    )
    assert alone == [together["bytes"]]


def test_nested_and_twice(farm):
    """A variable that is named twice, or is held by another, counts once."""
    target = farm.target("shared", CENTRAL)
    place = target.places["sFar"]
    [outer, inner, both, _] = dominators(
        target,
        "main.sFar",
        f"{place}",
        f"main.sFar {place} main.sFar",
    )
    assert len(both["asked"]) == 3
    assert both["together"] == outer["together"]
    assert both["children"] == outer["children"]
    # The variable holds nothing but its first link.
    assert 0 < inner["together"]["bytes"] == outer["together"]["bytes"]


@variants(newest=("default",))
def test_leaky(farm, variant):
    """The leaks come first, as the program counts them."""
    target = farm.target("leaky", variant)
    truth = target.truth
    [document, _] = dominators(target, "--depth 3 --top 20")
    rows = list(everything(document["children"]))
    [sessions] = [r for r in rows if r["name"] == "main.sessionsByToken"]
    assert sessions in document["children"][:2]
    assert sessions["kind"] == "global"
    assert sessions["type"] == "map[string]*main.Session"
    [found] = [r for r in rows if r["name"] == "main.Session"]
    assert found["objects"] == found["count"] == truth["sessions"]
    [page] = [r for r in rows if r["name"] == "main.page"]
    assert page["objects"] == truth["pages"]
    [piled] = [r for r in rows if r["count"] == truth["goroutines"]
               and r["kind"] == "goroutine"]  # fmt: skip
    assert piled["name"].startswith("goroutines (main.main")
    assert piled["goroutine_id"] is None


def test_list_is_one_row(farm):
    target = farm.target("counter", CENTRAL)
    [document, _] = dominators(target, "main.chain --depth 2")
    links = document["children"][0]
    assert (links["name"], links["kind"]) == ("main.Link", "object")
    assert links["objects"] == links["count"] > 1
    assert links["address"] is None


def test_one_screen(farm):
    target = farm.target("leaky", CENTRAL)
    run = run_goref(target, ["goref dominators"])
    lines = run.parts[0].splitlines()
    assert len(lines) <= 24
    assert "Retained: what this one alone keeps" in lines[3]
    assert any("main.sessionsByToken  (map[" in line for line in lines[:12])
    done = run_cli(["core", target.exe, target.core, "dominators"])
    assert done.stdout.splitlines()[:-1] == lines[:-1]


def test_min_bytes(farm):
    target = farm.target("leaky", CENTRAL)
    [document, _] = dominators(target, "--min-bytes 1M --top 0 --depth 0")
    rows = list(everything(document["children"]))
    assert min(row["retained_bytes"] for row in rows) >= 1 << 20
    assert document["cut"]["children"] > 0
    check_sums(document, document["reached_bytes"])


def test_same_answer_twice(farm):
    target = farm.target("roots", CENTRAL)
    question = "--depth 0 --top 0"
    [one, other, _] = dominators(target, question, question)
    for document in (one, other):
        del document["phases_ms"]
    assert one == other


def test_same_answer_with_any_number_of_threads(farm):
    """Each question about the graph is asked, times aside."""
    target = farm.target("roots", CENTRAL)
    place = target.places["holdReceive"]
    questions = [
        "suspects",
        "dominators --depth 0 --top 0",
        f"why {place} --paths 5 --all-roots",
        f"object {place} --refs --referrers",
        "histogram --by field --retained",
    ]
    commands = [f"goref {question} --json" for question in questions]
    processors, answers = os.sched_getaffinity(0), []
    for allowed in (processors, {min(processors)}):
        # The graph is made with a thread for each processor.
        os.sched_setaffinity(0, allowed)
        try:
            run = run_goref(target, commands)
        finally:
            os.sched_setaffinity(0, processors)
        assert run.rc == 0, run.stderr
        documents = [run.json(i) for i in range(len(questions))]
        del documents[1]["phases_ms"]
        answers.append(documents)
    assert answers[0] == answers[1]


def test_variable_that_keeps_nothing(farm):
    target = farm.target("shared", CENTRAL)
    done = run_cli(
        ["core", target.exe, target.core, "dominators", "main.sTieA", "--json"]
    )
    document = json.loads(done.stdout)
    assert document["children"] == []
    assert document["asked"][0]["expression"] == "main.sTieA"
    assert document["asked"][0]["retained_bytes"] == 0


# ------------------------------------------------------------ scan --retained


@variants(newest=("default",))
def test_scan_says_what_is_shared(farm, variant):
    target = farm.target("shared", variant)
    run = run_goref(
        target,
        [
            "goref scan --top 3",
            "goref scan --top 3 --retained",
            "goref scan --top 3",
            "goref scan --retained --json main.sTieA main.sHuge",
            "goref scan --json",
        ],
    )
    first, asked, later = run.parts[:3]
    assert "  what each root alone keeps alive: scan --retained\n" in first
    assert " billed   share  objects\n" in first
    assert " billed   share  retained  objects\n" in asked
    assert " are held by others, too\n" in asked
    # The graph is there by now.
    assert " billed   share  retained  objects\n" in later
    for text in (asked, later):
        keeps = text.index("What keeps most alive (retained: ")
        assert keeps < text.index("Top roots by")
    assert "What keeps" not in first
    assert " are held by others, too\n" in later
    sizes = {r["name"]: r["retained_bytes"] for r in run.json(3)["roots"]}
    assert sizes["main.sTieA"] == 0
    assert sizes["main.sHuge"] > 3 << 20
    [huge] = [r for r in run.json(4)["roots"] if r["name"] == "main.sHuge"]
    assert huge["type"] == "[]*main.Leaf"
    assert "retained_bytes" not in huge


# ----------------------------------------------------------------- the overview


@variants(newest=("default",))
def test_overview_leads_with_what_keeps_most(farm, variant):
    target = farm.target("leaky", variant)
    run = run_goref(
        target,
        [
            "goref overview --json",
            "goref dominators --json --top 0 --depth 3",
            "goref overview --json --top 2",
            "goref overview",
        ],
    )
    overview, tree, short = (run.json(i) for i in range(3))
    found = overview["dominators"]
    assert found["reached_bytes"] == tree["reached_bytes"]
    check_sums(found, tree["reached_bytes"])
    for shown, row in zip(found["children"], tree["children"]):
        assert shown["name"] == row["name"]
        assert shown["retained_bytes"] == row["retained_bytes"]
    assert len(short["dominators"]["children"]) == 2
    # A command that looks closer at a name that the overview shows.
    closer = [line.split()[-1] for line in overview["next"] if " dominators m" in line]
    assert closer and all(name in run.parts[3] for name in closer), overview["next"]
    text = run.parts[3]
    assert text.index("What keeps most alive") < text.index("Billed to")
    assert re.search(" billed +share +retained +objects\n", text)
    alone = {r["name"]: r["retained_bytes"] for r in overview["roots"]
             if "retained_bytes" in r}  # fmt: skip
    keeps = {r["name"]: r["retained_bytes"] for r in tree["children"]}
    same = [name for name in alone if name in keeps]
    assert same and all(alone[name] == keeps[name] for name in same)
    assert len(text.splitlines()) <= 40


def test_overview_goes_on_without_memory_for_the_graph(farm):
    target = farm.target("leaky", CENTRAL)
    line = ["core", target.exe, target.core, "overview", "--json"]
    done = run_cli([*line, "--memory-limit", "48M"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["dominators"] is None
    assert "the object graph needs up to" in document["no_dominators"]
    assert document["complete"]
    assert document["roots"]


def test_estimate_knows_the_graph(farm):
    """The estimate is no less than what making it took, and not twice it."""
    target = farm.target("leaky", CENTRAL)

    def ask(program, option):
        done = subprocess.run(
            [program, option, target.exe, target.core],
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    estimate = ask(SCANNER, "--estimate")["graph_bytes"]
    made = ask(GOREF_SCAN, "--graph")
    assert made["peak_bytes"] < estimate < 2 * made["peak_bytes"]


# ------------------------------------------------------- the view, the formats


def write(target, out, *options):
    words = ["core", target.exe, target.core, "scan", "--json", "-o", out]
    done = run_cli([*words, *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@variants(newest=("default",))
def test_formats_have_the_same_paths(farm, variant, tmp_path):
    target = farm.target("leaky", variant)
    formats = ("pprof", "folded", "jsonl", "dot")
    for view in ("references", "dominators"):
        files = {name: tmp_path / f"{view}.{name}" for name in formats}
        run = run_goref(
            target,
            [f"goref scan --json --view {view} --format {name} -o {file}"
             for name, file in files.items()],
        )  # fmt: skip
        reached = run.json()["reached"]
        folded = [
            line.rpartition(" ")
            for line in files["folded"].read_text().splitlines()
        ]
        assert sum(int(size) for _, _, size in folded) == reached["bytes"]
        nodes = {}
        names = {}
        for line in files["jsonl"].read_text().splitlines():
            node = json.loads(line)
            nodes[node["id"]] = node
            above = names.get(node["parent"])
            own = node["name"].replace(";", ":")
            names[node["id"]] = f"{above};{own}" if above else own
        assert sum(n["objects"] for n in nodes.values()) == reached["objects"]
        assert sum(n["bytes"] for n in nodes.values()) == reached["bytes"]
        assert sorted(
            (names[i], n["bytes"]) for i, n in nodes.items() if n["bytes"]
        ) == sorted((path, int(size)) for path, _, size in folded)
        profile = Profile.load(files["pprof"])
        assert len(profile.samples) == len(folded)
        graph = files["dot"].read_text()
        assert graph.startswith("digraph goref {") and graph.endswith("}\n")
        assert "main.sessionsByToken" in graph
        assert len(graph.splitlines()) < 300


def test_dot_is_a_graph(farm, tmp_path):
    if not shutil.which("dot"):
        pytest.skip("no dot: apt-get install graphviz")
    target = farm.target("values", CENTRAL)
    write(target, tmp_path / "g", "--format", "dot", "--view", "dominators")
    subprocess.run(["dot", "-Tsvg", "-O", tmp_path / "g"], check=True)


def test_pprof_opens_the_view(farm, tmp_path):
    if not shutil.which("go"):
        pytest.skip("no go tool pprof")
    target = farm.target("leaky", CENTRAL)
    write(target, tmp_path / "refs.pb", "--view", "dominators")
    done = subprocess.run(
        ["go", "tool", "pprof", "-top", tmp_path / "refs.pb"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "main.sessionsByToken" in done.stdout
# SPDX-License-Identifier: Apache-2.0
"""--weight pointers: sizes are words that the collector scans, by what the
program planted, by the runtime's own figure, and by its dump of a heap."""

import collections
import json

import pytest

from heapdump import HeapDump
from pprof import Profile
from session import one_line, run_cli, run_goref
from targets import attach_reason, skip_if
from test_api import run_script
from toolchains import EXPERIMENTS, RELEASES, Variant, variant_id, variants

CENTRAL = Variant("go1.24", "default")
WORD = 8
# The runtime scans an object with a finalizer twice: files, and one of ours.
# What the program does behind its last collection is little, too.
MOST_BESIDE = 4096
KEYS = ("type", "package", "span-class", "root", "goroutine", "field")
COLLECTORS = [Variant(release, "default") for release in RELEASES]
if EXPERIMENTS["nogreenteagc"] in RELEASES:
    COLLECTORS.append(Variant(EXPERIMENTS["nogreenteagc"], "nogreenteagc"))


def ask(target, *questions, in_gdb=False):
    """Documents of questions in words."""
    commands = [f"goref {q} --weight pointers --json" for q in questions]
    run = run_goref(target, commands, in_gdb=in_gdb)
    assert run.rc == 0, run.stderr
    found = [run.json(i) for i in range(len(questions))]
    assert {(d["weight"], d["unit"]) for d in found} == {("pointers", "words")}
    return found


def words_by(rows, key):
    return {row[key]: row["bytes"] for row in rows}


@variants("default", newest=("noopt", "pie"))
def test_what_was_planted(farm, variant):
    """Each type, and each variable by all four verbs."""
    target = farm.target("scanned", variant)
    types = {n: [c, c * each] for n, (c, each) in target.truth["types"].items()}
    roots = {n: size for n, [size] in target.truth["roots"].items()}
    names = " ".join(roots)
    scan, rows, retained, tree, suspects = ask(
        target,
        "scan --retained",
        "histogram",
        "histogram --by root --retained",
        f"dominators --top 0 {names}",
        "suspects",
    )
    for found in (
        {r["type"]: [r["objects"], r["bytes"]] for r in scan["types"]},
        {r["key"]: [r["objects"], r["bytes"]] for r in rows["rows"]},
    ):
        assert {name: found.get(name) for name in types} == types
    for found in (
        words_by(scan["roots"], "name"),
        {r["name"]: r["retained_bytes"] for r in scan["roots"]},
        words_by(retained["rows"], "key"),
        {r["key"]: r["retained_bytes"] for r in retained["rows"]},
        {r["name"]: r["retained_bytes"] for r in tree["asked"]},
    ):
        assert {name: found.get(name) for name in roots} == roots
    assert tree["together"]["bytes"] == sum(roots.values())
    # Many objects without a pointer are a suspect of bytes alone.
    [suspect] = suspects["suspects"]
    assert suspect["name"] == "main.pairs"
    assert suspect["retained_bytes"] == roots["main.pairs"]
    assert suspect["resident_bytes"] is None
    assert suspects["min_bytes"] == 512 << 10
    plain = run_goref(target, ["goref suspects --json"]).json(0)
    names = [suspect["name"] for suspect in plain["suspects"]]
    assert sorted(names) == ["main.blocks", "main.pairs"]
    assert (plain["weight"], plain["unit"]) == ("bytes", "bytes")


@variants("default")
def test_sums(farm, variant):
    """All tables have the same words together."""
    target = farm.target("scanned", variant)
    scan, *found, tree, suspects = ask(
        target, "scan", *(f"histogram --by {key}" for key in KEYS),
        "dominators --depth 2 --top 0", "suspects",
    )  # fmt: skip
    whole = scan["reached"]["bytes"]
    assert sum(row["bytes"] for row in scan["roots"]) == whole
    assert sum(row["bytes"] for row in scan["types"]) == whole
    for document in found:
        assert document["bytes"] == whole
        assert sum(row["bytes"] for row in document["rows"]) == whole
    assert tree["reached_bytes"] == suspects["reached_bytes"] == whole
    assert sum(row["retained_bytes"] for row in tree["children"]) == whole
    for row in tree["children"]:
        children = row.get("children", ())
        below = sum(child["retained_bytes"] for child in children)
        assert row["bytes"] + below == row["retained_bytes"]


@variants("default")
def test_garbage(farm, variant):
    """The program lost all that is not reached; a header tells its type."""
    target = farm.target("scanned", variant)
    count, each = target.truth["lost"]
    scan, *found = ask(
        target,
        "scan",
        *(f"histogram --garbage --by {key}" for key in KEYS[:3]),
    )
    lost = scan["unreached"]["bytes"]
    heap = scan["heap"]["allocated_bytes"]
    assert heap - scan["reached"]["bytes"] == lost
    assert abs(lost - count * each) <= 8 * each
    for document in found:
        assert document["bytes"] == lost
        assert sum(row["bytes"] for row in document["rows"]) == lost
    if target.truth["header"][0]:
        rows = words_by(found[0]["rows"], "key")
        assert abs(rows["main.wide"] - count * each) <= 2 * each


@variants("default", newest=("noopt",))
def test_exact(farm, variant):
    target = farm.target("scanned", variant)
    (document,) = ask(target, "histogram --retained --exact main.pair")
    count, each = target.truth["types"]["main.pair"]
    held = count * (each + 1 + 8)
    assert document["exact"]["retained_bytes"] == held
    row = {r["key"]: r for r in document["rows"]}["main.pair"]
    assert (row["bytes"], row["retained_bytes"]) == (count * each, held)


FIGURES = """
    scan = heap._opened
    words = scan.walk(1, 1, weight="pointers").ledger().reached
    rows = [r for r in scan.histogram("span-class").rows if r.key[-2:] == " B"]
    slots = sum(r.bytes for r in rows if 16 <= int(r.key[:-2]) <= 512)
    controller = heap.value("runtime.gcController")
    last = int(controller["lastHeapScan"])
    print(json.dumps({"words": words.bytes, "last": last, "slots": slots}))
"""


def figures(target):
    return run_script(target, FIGURES)


@pytest.mark.parametrize("variant", COLLECTORS, ids=variant_id)
def test_figure_of_the_runtime(farm, variant):
    """Right after a collection, the runtime counts the same words. Green Tea may
    count whole slots of small objects."""
    target = farm.target("scanned", variant)
    found = figures(target)
    most = MOST_BESIDE
    if variant.release >= "go1.26" and variant.flavour == "default":
        most += found["slots"]
    assert 0 <= found["last"] - found["words"] * WORD <= most
    metric = target.truth["scanned"][0]
    assert not metric or abs(metric - found["last"]) <= MOST_BESIDE


NAIVE = """
    words = {}
    for name, objects, size in heap.types("pointers"):
        found = heap.objects(type=name)
        words[name] = [size, [o.address for o in found if o.kind == "go"]]
    print(json.dumps(words))
"""


@variants("default")
def test_every_object_by_the_dump(farm, variant):
    """The runtime's dump lists the pointers of each object: the last one ends
    what is scanned. Each type has the sum of its objects."""
    target = farm.target("pointers", variant, fresh=True)
    dump = HeapDump(target.core.parent / "dump")
    wrong, seen = {}, 0
    for name, (size, addresses) in run_script(target, NAIVE).items():
        want = 0
        for slot in map(dump.slot, addresses):
            if slot is None:  # allocated behind the dump
                continue
            last = max(dump.objects[slot][1], default=slot - WORD)
            want += (last - slot) // WORD + 1
            seen += 1
        if want != size:
            wrong[name] = size - want
    assert seen > 90_000
    # The dump itself leaves a few objects behind.
    assert sum(map(abs, wrong.values())) <= 400, wrong


def test_profiles(farm, tmp_path):
    """The sample type says what the values are; paths add up in each format."""
    target = farm.target("scanned", CENTRAL)
    for view in "references", "dominators":
        out = tmp_path / f"{view}.pb"
        (scan,) = ask(target, f"scan --view {view} --out {out}")
        whole = scan["reached"]["bytes"]
        profile = Profile.load(out)
        assert [tuple(t) for t in profile.sample_types] == [
            ("inuse_objects", "count"),
            ("scanned", "words"),
        ]
        assert profile.default_sample_type == "scanned"
        assert sum(s.values[1] for s in profile.samples) == whole
    out = tmp_path / "folded"
    ask(target, f"scan --format folded --out {out}")
    lines = out.read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == whole
    out = tmp_path / "jsonl"
    ask(target, f"scan --format jsonl --out {out}")
    nodes = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(node["words"] for node in nodes) == whole
    tops = [n["total_words"] for n in nodes if n["parent"] is None]
    assert sum(tops) == whole
    out = tmp_path / "dot"
    ask(target, f"scan --format dot --out {out}")
    assert f'top [label="reached\\n{whole} words (100.0 %)' in out.read_text()


def test_text(farm):
    """Heads and sentences say words."""
    target = farm.target("scanned", CENTRAL)
    commands = [
        f"goref {question} --weight pointers"
        for question in (
            "scan --retained",
            "histogram --retained",
            "histogram --by root --retained",
            "dominators",
            "dominators main.pairs main.wides",
            "suspects",
            "histogram --exact main.pair",
        )
    ]
    run = run_goref(target, commands)
    assert run.rc == 0, run.stderr
    for command, part in zip(commands, run.parts):
        assert "words" in part, command
        lines = [
            line
            for line in part.splitlines()
            if not line.startswith(("took ", "the graph took"))
        ]
        assert not any(" KiB" in line or " MiB" in line for line in lines)
    size = target.truth["roots"]["main.pairs"][0]
    assert f"main.pairs holds {size:,} words" in run.parts[5]
    assert "--weight pointers" in run.parts[5]


BACK = """
    scan = heap._opened
    def asked(weight):
        tree = scan.dominators(max_depth=3, max_children=5, weight=weight)
        rows = [(r.name, r.retained_bytes, r.bytes) for r in tree.rows]
        return [rows, scan.histogram("field", True, weight=weight).rows,
                scan.suspects(weight).suspects[0].retained_bytes,
                scan.histogram(weight=weight, exact="main.pair").exact_bytes]
    first = asked("bytes")
    words = asked("pointers")
    thing = heap.evaluate("main.pairs")
    size = thing.retained_size
    words_again = asked("pointers")
    print(json.dumps([first == asked("bytes"), words == words_again,
                      first != words, size,
                      heap.retained(thing), first[0][1][1]]))
"""


def test_bytes_come_back(farm):
    """A question in words changes no answer in bytes, nor the API's."""
    target = farm.target("scanned", CENTRAL)
    *same, size, together, first = run_script(target, BACK)
    assert same == [True, True, True]
    assert size == together == first


def test_in_gdb_and_saved(farm, tmp_path):
    """gdb and a saved file answer as a core does."""
    target = farm.target("scanned", CENTRAL)
    questions = (
        "scan --retained",
        "histogram --retained",
        "histogram --garbage",
        "dominators --depth 2",
        "suspects",
    )
    plain = [lasting(d) for d in ask(target, *questions)]
    in_gdb = [lasting(d) for d in ask(target, *questions, in_gdb=True)]
    assert in_gdb == plain
    file = tmp_path / "saved"
    done = run_cli(["core", *target.gdb_args, "save", str(file)])
    assert done.returncode == 0, done.stderr
    for question, document in zip(questions, plain):
        words = [*question.split(), "--weight", "pointers", "--json"]
        done = run_cli(["open", str(file), *words])
        assert done.returncode == 0, done.stderr
        assert lasting(json.loads(done.stdout)) == document


def lasting(document):
    """Without what differs by itself: times, memory, the target's name."""
    passing = {"phases_ms", "peak_private_bytes", "target", "next", "out"}
    if isinstance(document, dict):
        return {k: lasting(v) for k, v in document.items() if k not in passing}
    if isinstance(document, list):
        return [lasting(v) for v in document]
    return document


def test_a_process(farm):
    skip_if(attach_reason())
    target = farm.target("scanned", CENTRAL, kind="live")
    scan, rows = ask(target, "scan", "histogram --by root")
    roots = words_by(scan["roots"], "name")
    for name, [size] in target.truth["roots"].items():
        assert roots[name] == size
    assert rows["bytes"] == scan["reached"]["bytes"]


def test_c_memory_has_no_words(farm):
    """Blocks of C are counted, and weigh nothing."""
    target = farm.target("kept_by_c", Variant("go1.24", "cgo"))
    found, tree = ask(target, "histogram", "dominators")
    assert found["c_bytes"] == tree["reached_c_bytes"] == 0
    plain = run_goref(target, ["goref histogram --json"]).json(0)
    assert plain["c_bytes"] > 0 and plain["objects"] == found["objects"]


def test_memory_limit(farm):
    """With little memory, there is an answer or one line."""
    target = farm.target("scanned", CENTRAL)
    statuses = collections.Counter()
    for limit in ("4M", "8M", "12M", "16M", "24M", "32M", "128M"):
        for question in ("scan", "dominators"):
            done = run_cli([
                "core", *target.gdb_args, question, "--weight", "pointers",
                "--json", "--memory-limit", limit,
            ])  # fmt: skip
            statuses[done.returncode] += 1
            if done.returncode == 1:
                one_line(done, 1, "memory")
            else:
                assert done.returncode in (0, 3), done.stderr
    assert statuses[0]

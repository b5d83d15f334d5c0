# SPDX-License-Identifier: Apache-2.0
"""goref suspects: planted leaks are named first, and nothing else is."""

import json
import re

import pytest

from session import run_cli, run_goref
from targets import attach_reason, gdb_core, kernel_core, skip_if
from toolchains import RELEASES, Variant, variant_id, variants

# Where the holder is a vertex that has nothing beside the leak.
HOLDERS = (
    "unnamed",
    "map",
    "slice",
    "list",
    "channel",
    "goroutines",
    "closures",
    "tree",
    "cache",
)
# Where a closure, a timer or a goroutine is the nearest root, and no holder.
SHARED = ("metric", "timer", "reader")


def suspects(target):
    run = run_goref(target, ["goref suspects --json"])
    assert run.rc == 0, run.stderr
    return run.json()


def accumulated(suspect, truth):
    """The objects that accumulate, by type."""
    rows = {row["type"]: row for row in suspect["accumulated"]}
    assert list(rows.values())[0]["type"] == truth["type"]
    return rows[truth["type"]]


# Each leak in the newest release; these two in the others, and without
# optimisation, too.
EVERYWHERE = ("map", "timer")
PLANTED = [(leak, Variant(RELEASES[-1], "default"))
           for leak in HOLDERS + SHARED]  # fmt: skip
PLANTED += [(leak, Variant(release, "default"))
            for leak in EVERYWHERE for release in RELEASES[:-1]]  # fmt: skip
PLANTED += [(leak, Variant(RELEASES[-1], "noopt")) for leak in EVERYWHERE]


@pytest.mark.parametrize(
    "leak, variant", PLANTED, ids=[f"{k}-{variant_id(v)}" for k, v in PLANTED]
)
def test_planted(farm, variant, leak):
    target = farm.target("suspects", variant, args=[leak])
    truth = target.truth
    document = suspects(target)
    assert len(document["suspects"]) == 1
    first = document["suspects"][0]
    assert first["name"] == truth["name"]
    assert truth["where"] in first["accumulation_point"]
    row = accumulated(first, truth)
    assert row["objects"] == truth["count"]
    assert 0.5 * truth["bytes"] < row["bytes"] or leak == "goroutines"
    # The heap has grown by what is held, and by little more.
    assert first["retained_bytes"] <= truth["bytes"]
    assert first["retained_bytes"] > 0.97 * truth["bytes"]
    # It was all written, and is in memory with the objects' slots.
    assert first["resident_bytes"] > 0.97 * first["retained_bytes"]
    assert first["resident_bytes"] <= first["retained_bytes"]


@pytest.mark.parametrize("leak", SHARED)
@variants(newest=("default",))
def test_the_nearest_root_is_no_suspect(farm, variant, leak):
    """Without that root, hardly anything would be freed."""
    target = farm.target("suspects", variant, args=[leak])
    first = suspects(target)["suspects"][0]
    root = first["path"][0]
    assert root["kind"] != "object" and root["retained_bytes"] < 1000
    assert root["name"] != target.truth["name"]
    assert target.truth["name"] in [hop["type"] for hop in first["path"]]
    assert first["path"][-1]["name"] == "values"


@variants(newest=("default",))
def test_many_below_two_roots(farm, variant):
    target = farm.target("suspects", variant, args=["shared"])
    truth = target.truth
    first = suspects(target)["suspects"][0]
    assert (first["kind"], first["name"]) == ("objects", truth["name"])
    assert first["objects"] == truth["count"]
    assert first["accumulation_point"].endswith(truth["where"])
    assert [row["type"] for row in first["accumulated"]] == [truth["name"]]


@variants(newest=("default",))
def test_goroutines_are_counted(farm, variant):
    target = farm.target("suspects", variant, args=["goroutines"])
    first = suspects(target)["suspects"][0]
    assert first["kind"] == "goroutines"
    assert first["objects"] == target.truth["count"]
    assert first["created_by"] == "main.leakGoroutines"


@variants(newest=("default",))
def test_two_leaks(farm, variant):
    target = farm.target("suspects", variant, args=["two"])
    document = suspects(target)
    names = [suspect["name"] for suspect in document["suspects"]]
    assert names == ["main.sessions", "main.history"]
    sizes = [s["retained_bytes"] for s in document["suspects"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) <= document["reached_bytes"]
    run = run_goref(target, ["goref suspects", "goref suspects --top 1"])
    assert run.parts[0].startswith("2 suspects hold ")
    assert "1. main.sessions holds" in run.parts[0]
    assert "2. main.history holds" in run.parts[0]
    assert "2. " not in run.parts[1]
    assert run.parts[1].endswith("and 1 more (--top 0 shows all)\n")


# Beside the pages that the program counts, there are the array of buffers, and
# a page that was resident before.
BESIDE = 4 * 4096


@variants(newest=("default",))
def test_untouched(farm, variant, tmp_path):
    """A suspect whose pages are not resident says so, where that is known: of a
    process, of the kernel's core, and of what was saved of either. A core of
    gdb has all pages, and does not tell. Reading a page makes it resident if
    the kernel has no shared page of zeros: gdb reads a process of its own."""
    skip_if(attach_reason())
    gcore = gdb_core(farm.process("suspects", variant, ["untouched"]))
    process = farm.process("suspects", variant, ["untouched"])
    touched = process.truth["touched"]
    saved = tmp_path / "saved"
    done = run_cli(["attach", process.pid, "save", saved])
    assert done.returncode == 0, done.stderr
    live = ["attach", process.pid]
    asked = [run_cli([*words, "suspects", "--json"])
             for words in (live, ["open", saved])]  # fmt: skip
    core = kernel_core(process)
    cores = [["core", process.exe, path] for path in (core, gcore)]
    asked += [run_cli([*words, "suspects", "--json"]) for words in cores]
    documents = [json.loads(done.stdout) for done in asked]
    kinds = [document["residency"] for document in documents]
    assert kinds[0] == kinds[1] != "unknown"
    assert kinds[2:] == ["anonymous", "unknown"]
    sizes = [document["suspects"][0]["resident_bytes"]
             for document in documents]  # fmt: skip
    assert sizes[3] is None
    for size in sizes[:3]:
        assert touched <= size <= touched + BESIDE
    text = run_cli([*cores[0], "suspects"]).stdout
    share = f"{100 * sizes[2] / process.truth['bytes']:.1f} %"
    assert re.search(rf"\n   memory  at most .* of it resident \({share}\)\n", text)
    [line] = [line for line in run_cli(cores[0]).stdout.splitlines()
              if line.startswith("suspect: ")]  # fmt: skip
    size = f"{sizes[2] / (1 << 20):.1f} MiB"
    assert f", at most {size} of it resident ({share}), where: " in line
    text = run_cli([*cores[1], "suspects"]).stdout
    assert "main.buffers holds" in text and "resident" not in text


@pytest.mark.parametrize("program", ["idle", "hello"])
@variants(newest=("default", "noopt"))
def test_no_suspect(farm, variant, program):
    target = farm.target("suspects", variant, args=[program])
    run = run_goref(target, ["goref suspects --json", "goref suspects"])
    assert run.json()["suspects"] == []
    assert run.parts[1].startswith("no suspect: nothing holds 4.0 MiB or more")
    assert run.parts[1].count("\n") == 1


@variants(newest=("stripped",))
def test_stripped(farm, variant):
    """Objects of unknown types are no suspect together; leaks are found."""
    target = farm.target("suspects", variant, args=["idle"])
    assert suspects(target)["suspects"] == []
    target = farm.target("suspects", variant, args=["tree"])
    found = suspects(target)["suspects"]
    assert len(found) == 1
    assert found[0]["retained_bytes"] > 0.97 * target.truth["bytes"]


# Slot sizes and their class, by Go's internal/runtime/gc/sizeclasses.go.
SIZE_CLASSES = {8: 1, 16: 2, 24: 3, 32: 4, 48: 5, 64: 6, 256: 18, 288: 19}


@pytest.mark.parametrize("leak", ["map", "tree"])
@variants(newest=("stripped",))
def test_objects_of_unknown_types(farm, variant, leak):
    """Without a type, these are known: size, span, and what refers to
    them, which is in memory."""
    target = farm.target("suspects", variant, args=[leak])
    (found,) = suspects(target)["suspects"]
    point = re.fullmatch(
        r"object of unknown type \((\d+) bytes, size class (\d+), pointers\), "
        r"referenced at \+(0x\w+) of object of unknown type \((\d+) bytes\)",
        found["accumulation_point"],
    )
    assert point, found["accumulation_point"]
    holder, at = found["path"][-2:]
    ask = [f"goref object {x['address']} --json" for x in (at, holder)]
    run = run_goref(target, [*ask, f"x/gx {holder['address']}+{point[3]}"])
    one, of = run.json(0), run.json(1)
    assert one["type"] is None and of["type"] is None
    assert SIZE_CLASSES[one["bytes"]] == int(point[2])
    assert one["bytes"] == int(point[1])
    assert of["bytes"] == int(point[4])
    assert int(run.parts[2].split()[-1], 16) == int(at["address"], 16)
    text = run_goref(target, ["goref suspects"]).parts[0]
    step = f"+{point[3]}: object of unknown type ({point[1]} bytes) at "
    assert step + at["address"] in text


@variants(newest=("default",))
def test_fail_above(farm, variant):
    target = farm.target("suspects", variant, args=["map"])
    ask = ["core", *target.gdb_args, "suspects"]
    found = run_cli([*ask, "--fail-above", "1M"])
    assert found.returncode == 4
    assert "main.sessions holds" in found.stdout
    assert (
        found.stderr == "goref: suspects: a suspect holds more than 1.0 MiB\n"
    )
    for limit in ("1G", "0"):
        assert run_cli([*ask, "--fail-above", limit]).returncode == 0
    # The limit is the user's, also below the size of a suspect.
    idle = farm.target("suspects", variant, args=["idle"])
    held = suspects(idle)["largest"]
    assert 100_000 < held["retained_bytes"] < 4 << 20
    ask = ["core", *idle.gdb_args, "suspects", "--fail-above"]
    found = run_cli([*ask, str(held["retained_bytes"] - 1)])
    assert found.returncode == 4
    assert found.stderr.startswith(f"goref: suspects: {held['name']} holds ")
    assert run_cli([*ask, str(held["retained_bytes"])]).returncode == 0
    run = run_goref(target, ["goref suspects --fail-above 1M"])
    assert run.error_lines() == [
        "goref suspects: a suspect holds more than 1.0 MiB"
    ]


@variants(newest=("default",))
def test_overview_has_a_line(farm, variant):
    target = farm.target("suspects", variant, args=["cache"])
    run = run_goref(target, ["goref overview", "goref overview --json"])
    line = next(
        line
        for line in run.parts[0].splitlines()
        if line.startswith("suspect")
    )
    assert line.startswith("suspect: main.pages holds ")
    assert run.json(1)["suspects"][0]["name"] == "main.pages"
    assert run.json(1)["next"][0] == "goref suspects"
    closer = run_goref(target, run.json(1)["next"][1:2])
    assert closer.rc == 0 and "main.Session" in closer.parts[0]
    idle = farm.target("suspects", variant, args=["idle"])
    run = run_goref(idle, ["goref overview", "goref overview --json"])
    assert "no suspect: " in run.parts[0]
    assert run.json(1)["suspects"] == []

# SPDX-License-Identifier: Apache-2.0
"""All that an answer names can be asked about: types, local variables, and the
commands to look closer."""

import json
import shlex

import pytest

from session import run_cli, run_goref
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")
STRIPPED = Variant("go1.24", "stripped")


@pytest.fixture(scope="module")
def leaky(farm):
    return farm.target("leaky", CENTRAL)


def answers(target, *questions):
    run = run_goref(target, [f"goref {question}" for question in questions])
    assert run.rc == 0, run.stderr
    return run


# ----------------------------------------------------------------------- types


def test_types_as_they_are_printed(leaky):
    """Each name of a type finds its objects, also one with a blank."""
    run = answers(
        leaky,
        "objects --type []uint8",
        "objects --type [4096]uint8",
        "why --type 'chan string' --json",
        "why --type []uint8 --json",
        "why --type [4096]uint8 --json",
        "histogram --exact []uint8 --json",
        "objects --type ^string",
        "why --type string --json",
        "histogram --exact string --json",
    )
    merged, exact, strings = run.parts[0], run.parts[1], run.parts[6]
    assert exact.count("\n") == leaky.truth["pages"]
    assert run.json(2)["objects"] == leaky.truth["goroutines"]
    assert 0 <= merged.count("\n") - exact.count("\n") < 20
    assert run.json(3)["objects"] == merged.count("\n")
    assert run.json(4)["objects"] == leaky.truth["pages"]
    # An object that only a value of type []byte holds does not count here.
    assert run.json(5)["exact"]["objects"] == merged.count("\n")
    data = [x for x in strings.splitlines() if x.endswith("string")]
    assert run.json(7)["objects"] == len(data) > 100000
    assert run.json(8)["exact"]["objects"] == len(data)


def test_one_vocabulary(leaky, tmp_path):
    """All answers and files name a type as the table of types does."""
    lines = tmp_path / "objects.jsonl"
    run = answers(
        leaky,
        "histogram --json",
        "objects",
        f"export --format jsonl {lines}",
        "suspects --json",
        "dominators main.pageCache --json",
        "object main.pageCache.order --json",
        f"why {leaky.truth['suspect']} --json",
    )
    table = {row["key"] for row in run.json(0)["rows"]}
    assert {"[]uint8", "string", "map[string]*main.Session"} < table
    table.discard("(type not known)")
    assert types_of_lines(run.parts[1]) == table
    exported = {json.loads(line)["type"] for line in lines.open()}
    assert exported - {None} == table
    suspects = run.json(3)["suspects"]
    found = {c["type"] for s in suspects for c in s["accumulated"]}
    found |= {row["type"] for row in objects_below(run.json(4))}
    found |= {row["type"] for row in run.json(5)["references"]}
    found |= {run.json(5)["type"]}
    found |= {hop["type"] for hop in run.json(6)["path"][1:]}
    assert {"[]*main.page", "main.page", "main.Session", "string"} < found
    assert found <= table


def types_of_lines(text):
    """Those of the objects that `objects' has listed."""
    types = {line.split(" ", 2)[2] for line in text.splitlines()}
    return types - {"?"}


def objects_below(row):
    """The rows of a document of `dominators' that are about objects."""
    for child in row.get("children", ()):
        if child["kind"] == "object":
            yield child
        yield from objects_below(child)


def test_types_of_the_table(leaky, tmp_path):
    """heap.types() and heap.objects() speak of the same objects."""
    script = tmp_path / "script.py"
    script.write_text(
        "import goref\n"
        "heap = goref.heap()\n"
        "for type, count, _ in heap.types():\n"
        "    found = sum(1 for _ in heap.objects(type=type))\n"
        "    if type != '(type not known)' and found != count:\n"
        "        print(type, count, found)\n"
    )
    run = run_goref(
        leaky, [f"source {script}", "goref why --type sync.poolLocal --json"]
    )
    assert run.rc == 0 and "Traceback" not in run.stderr, run.stderr
    assert run.parts[0] == ""
    # The table of types counts an array that is known by its elements' type.
    assert run.json(1)["objects"] == 1


def test_nothing_matches(leaky):
    words = ["core", leaky.exe, leaky.core, "objects"]
    done = run_cli([*words, "--type", "[]main.Nothing"])
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.startswith(
        "no reached object has a type that matches []main.Nothing"
    )
    done = run_cli([*words, "--min-bytes", "1G"])
    assert done.stderr == "no reached object has 1.0 GiB or more\n"


# ------------------------------------------------------------- local variables


def test_local_variables(leaky):
    """A local of one goroutine of many, with fields, and for each verb."""
    run = answers(
        leaky,
        "histogram --by root --filter main.handle.r --json",
    )
    [row] = run.json(0)["rows"]
    assert row["key"] == "main.handle.r" and row["objects"] > 400
    found = run_goref(leaky, ["goref why main.handle.r"])
    [line] = found.error_lines()
    assert line.startswith('goref: 400 goroutines have a "main.handle.r": ')
    name = line.split()[-1]
    assert name.startswith("main.handle.r@")
    number = int(name.partition("@")[2])
    run = answers(
        leaky,
        f"why {name} --json",
        f"object {name} --json",
        f"dominators {name} --json",
        f"why {name}.answer --json",
        f"scan {name} --json",
        f"why {name}.answer",
    )
    why, described, kept, answer, scan = map(run.json, range(5))
    assert why["object"]["type"] == "main.request"
    assert why["root"]["name"] == "main.handle.r"
    assert why["root"]["goroutine_id"] == number
    assert described["address"] == why["address"]
    assert answer["object"]["type"] == "chan string"
    assert answer["root"]["goroutine_id"] == number
    [asked] = kept["asked"]
    assert (asked["kind"], asked["goroutine_id"]) == ("local", number)
    assert asked["retained_bytes"] == described["retained_bytes"] >= 576
    [root] = scan["roots"]
    assert (root["name"], root["kind"]) == (name, "local")
    assert root["objects"] == 3
    # The chain has own and retained sizes.
    first, last = answer["path"]
    assert first["name"] == "main.handle.r"
    assert first["bytes"] == why["object"]["bytes"]
    assert first["retained_bytes"] == described["retained_bytes"]
    assert last["bytes"] == answer["object"]["bytes"]
    assert f"retains {last['retained_bytes']} B" in run.parts[5]


NO_ROOTS = (
    "main.handle.nothing",
    "main.handle.r@0",
    "main.handle.r@99999999999999999999999",
    "main.handle.r@x",
    "main.handle.$stack+0x",
    "main.handle.$stack+0xffffffffffffffff",
    "$data+0xfffffff",
    "$bss+0xfffffffffffffffff",
    "$bss+18",
    "x.$data+0x10",
    "@",
    "@5",
)


def test_no_such_root(leaky):
    run = run_goref(leaky, [f"goref why {name}" for name in NO_ROOTS])
    assert not any(run.parts), run.parts
    lines = run.error_lines()
    assert len(lines) == len(NO_ROOTS)
    assert all(line.startswith("goref: ") for line in lines), lines


def test_words_without_a_variable(farm):
    """`$bss+0x18`, `main.f.$stack+0x0`, as a stripped program has them."""
    target = farm.target("suspects", STRIPPED, args=["shared"])
    run = answers(target, "scan --json --top 0", "dominators --json --top 0")
    names = {
        root["name"]: root["kind"]
        for root in run.json(0)["roots"]
        if root["objects"] and "$" in root["name"]
    }
    data = [n for n in names if n.startswith(("$data+", "$bss+"))]
    stack = [n for n in names if ".$stack+" in n and names[n] == "stack"]
    assert len(data) > 5 and stack
    children = {c["name"]: c for c in run.json(1)["children"]}
    asked = [*data, *stack]
    run = run_goref(target, [f"goref object {name} --json" for name in asked])
    said = "\n".join(run.error_lines())
    for i, name in enumerate(asked):
        if run.parts[i]:
            assert run.json(i)["type"] or run.json(i)["bytes"], name
        else:
            assert f'goroutines have a "{name}"' in said, (name, said)
    assert children["$bss+0x28"]["retained_bytes"] > 1 << 20


# ------------------------------------------------------- static memory, commands


def test_static_memory_behind_an_interface(leaky):
    run = answers(leaky, "why main.pageCache --json", "why main.pageCache",
                  "dominators main.pageCache --json")  # fmt: skip
    variable = run.json(0)["variable"]
    assert [(h["name"], h["type"]) for h in variable["holds"]] == [
        ("main.pageCache.pages", "map[string]*main.page"),
        ("main.pageCache.order", "[]*main.page"),
    ]
    kept = run.json(2)["asked"][0]["retained_bytes"]
    assert variable["retained_bytes"] == kept > 5000 * 4096
    lines = run.parts[1].splitlines()
    assert lines[1].endswith(f"({kept:,} bytes) would be freed.")
    # Each name is an expression, too.
    run = answers(
        leaky, *[f"why {h['name']} --json" for h in variable["holds"]]
    )
    for i, held in enumerate(variable["holds"]):
        assert run.json(i)["address"] == held["address"]


ALWAYS = {"scan", "dominators", "verify"}


@pytest.mark.parametrize(
    "variant, leak",
    [
        (CENTRAL, "unnamed"),
        (CENTRAL, "goroutines"),
        (STRIPPED, "shared"),
        (STRIPPED, "reader"),
    ],
    ids=str,
)
def test_commands_run_as_they_are_printed(farm, variant, leak):
    """Those of the overview and of each suspect, by a shell's rules."""
    target = farm.target("suspects", variant, args=[leak])
    words = ["core", target.exe, target.core]
    begin = f"goref core {target.core} "
    commands = []
    for verb in ("suspects", "overview"):
        found = [
            line.partition(begin)[2].partition("  ")[0]
            for line in run_cli([*words, verb]).stdout.splitlines()
            if begin in line and "--out" not in line
        ]
        assert len(found) >= 2
        commands += [each for each in found if each not in ALWAYS]
    assert commands
    for command in dict.fromkeys(commands):
        done = run_cli([*words, *shlex.split(command)])
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout, command


# ------------------------------------------------------------------------ errors


def test_no_memory_for_the_graph(leaky):
    """The limit is what was too small, not the machine.

    Either the graph asks for more than is left, or the sampling of the
    process's own memory sees the limit passed before that.
    """
    words = ["core", leaky.exe, leaky.core, "suspects"]
    # Without tables in the cache, reading them would take the memory.
    assert run_cli(words).returncode == 0
    done = run_cli([*words, "--memory-limit", "30M"])
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "that the memory limit leaves for it (--memory-limit" in line or (
        "not enough memory: more than" in line and "(--memory-limit" in line
    )
    assert "out of memory" not in line

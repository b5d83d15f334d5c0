# SPDX-License-Identifier: Apache-2.0
"""Questions about memory that nothing holds: leaked blocks of C, blocks that
only leaked ones lead to, dead objects of Go, and free memory of malloc. Every
verb that takes an address has an answer, or refuses in one line."""

import json

import pytest

import natives
from goref.verbs import VERBS
from natives import CENTRAL
from session import run_cli, run_goref
from targets import attach_reason, skip_if
from test_native_leaks import planted

ASKED = sorted(
    verb.name for verb in VERBS.values() if "EXPRESSION]" in verb.operands
    or "ADDRESS" in verb.operands
)
# Those that refuse: a walk may begin at any object of Go.
REFUSED = {
    "leaked": {"dominators", "scan"},
    "behind leaked": {"dominators", "scan"},
    "dead": {"dominators"},
    "freed": {"dominators", "scan"},
}

API = """
def told(thing):
    edges = thing.referrers, thing.references
    try:
        thing.value()
    except goref.Error:
        pass
    return {
        "address": thing.address,
        "is_leaked": thing.is_leaked,
        "has_dominator": thing.dominator is not None,
        "retained": [thing.retained_size, thing.retained_c_size],
        "together": [heap.retained(thing, thing), heap.retained_c(thing)],
        "paths": len(list(thing.paths(3))),
        "edges": [
            [end.address for edge in edges() for end in [edge.source]]
            if edges == thing.referrers
            else [edge.target.address for edge in edges()]
            for edges in edges
        ],
        "names": [edge.name for edge in thing.references()],
    }

addresses = json.loads(sys.argv[4])
found = [heap.object(address) for address in addresses]
same = [heap.evaluate(f"{address:#x}") for address in addresses]
assert found == same
print(json.dumps([thing and told(thing) for thing in found]))
"""


CONTENT = """
scan = heap._scan()
print(json.dumps([
    len(scan.content(scan.find(("", address, 0xFFFFFFFF, False, 0))))
    for address in json.loads(sys.argv[4])
]))
"""


@pytest.fixture(scope="module")
def target(farm):
    return planted(farm, CENTRAL)


def rows(target, kind):
    return [address for address, _ in target.truth["leaked"][kind]]


@pytest.fixture(scope="module")
def addresses(target):
    """An address of each kind: nothing leads to a block of `malloc', but to
    each of `chain', the last one excepted, the one behind it does."""
    return {
        "leaked": rows(target, "malloc")[7],
        "behind leaked": rows(target, "chain")[3],
        "dead": int(target.truth["dead"], 16),
        "freed": target.truth["freed"][0][0],
    }


def test_verbs_that_take_an_address():
    """There are these at least, so that the tests ask something."""
    assert {"why", "object", "dominators", "scan"} <= set(ASKED)


@pytest.mark.parametrize("kind", REFUSED)
def test_every_verb_answers(target, addresses, kind):
    """Also of an address inside, and as a conversion."""
    start = addresses[kind]
    places = [f"{start:#x}", f"{start + 8:#x}", f"(*int)({start:#x})"]
    questions = [
        f"goref {verb} {place}{form}"
        for verb in ASKED
        for place in places
        for form in ("", " --json")
    ]
    run = run_goref(target, questions)
    assert run.rc in (0, 1), run.stderr
    assert "Traceback" not in run.stderr
    errors = run.error_lines()
    assert all(line.startswith("goref: ") for line in errors), errors
    for question, part in zip(questions, run.parts):
        verb = question.split()[1]
        assert bool(part) == (verb not in REFUSED[kind]), question
    refused = sum(q.split()[1] in REFUSED[kind] for q in questions)
    assert len(errors) == refused


def test_dominators(target, addresses):
    """A block that something holds does not help one that nothing does."""
    held = target.truth["kept"]["globals"][0][0]
    texts = {
        "leaked": "is in a block of C that is not reached",
        "behind leaked": "is in a block of C that is not reached",
        "dead": "is not a reached object of the heap",
        "freed": "is not a reached object of the heap",
    }
    for kind, text in texts.items():
        words = [f"{address:#x}" for address in (held, addresses[kind])]
        done = run_cli([*natives.where(target), "dominators", *words])
        assert done.returncode == 1 and not done.stdout
        [line] = done.stderr.splitlines()
        assert line.startswith(f"goref: {words[1]} {text}")


def test_keys_of_a_leaked_block(target, addresses):
    """It retains nothing, and nothing tells its type. A dead object of Go is
    garbage, and not leaked."""
    held = target.truth["kept"]["globals"][0][0]
    of_kind = {**addresses, "held": held}
    for kind, address in of_kind.items():
        if kind == "freed":
            continue
        is_leaked = kind.endswith("leaked")
        whole = natives.asked(target, "object", f"{address:#x}")
        why = natives.asked(target, "why", f"{address:#x}")
        assert whole["leaked"] is why["object"]["leaked"] is is_leaked
        assert whole["kind"] == why["object"]["kind"]
        assert whole["description"] is why["description"] is None
        for document in whole, why:
            assert document["reachable"] == (kind == "held")
            for key in "retained_bytes", "retained_c_bytes":
                is_known = document[key] is not None
                assert kind == "dead" or is_known != is_leaked, (kind, key)
        if whole["kind"] == "c":
            assert whole["type"] is whole["type_source"] is None
    assert natives.asked(target, "object", "0x10")["leaked"] is None


def test_scripts(target, addresses):
    """A leaked block is an object without a dominator."""
    words = json.dumps(list(addresses.values()))
    leaked, behind, *others = natives.told(
        natives.OPEN + API, *natives.where(target), words
    )
    assert others == [None, None]
    chain = rows(target, "chain")
    for block, name in (leaked, "leaked"), (behind, "behind leaked"):
        assert block["address"] == addresses[name]
        assert block["is_leaked"] and not block["has_dominator"]
        assert block["retained"] == block["together"] == [0, 0]
        assert block["paths"] == 0
    assert leaked["edges"] == [[], []]
    assert behind["edges"] == [[chain[4]], [chain[2]]]
    assert behind["names"] == ["+0x0"]


def test_from_a_block_to_the_head(target):
    """`object' lists the leaked blocks that lead to a block."""
    chain = rows(target, "chain")
    at, seen = chain[0], []
    words = [*natives.where(target), "why", f"{at:#x}"]
    assert "only leaked blocks lead to it" in run_cli(words).stdout
    # Each question opens the core anew: the first ones will do.
    for _ in range(5):
        seen.append(at)
        document = natives.asked(target, "object", f"{at:#x}")
        assert document["referrer_count"] == 1
        [row] = document["referrers"]
        assert row["retained_bytes"] is row["retained_c_bytes"] is None
        at = int(row["address"], 16)
        assert int(row["word"], 16) == at
    assert seen == chain[:5] and at == chain[5]


def test_head_of_a_chain(target):
    head = f"{rows(target, 'chain')[-1]:#x}"
    document = natives.asked(target, "object", head)
    assert document["referrer_count"] == 0 and not document["referrers"]
    assert document["reference_count"] == 1
    for verb in "why", "object":
        done = run_cli([*natives.where(target), verb, head])
        assert "nothing holds it: leaked" in done.stdout
        assert "only leaked blocks" not in done.stdout


def test_held_block_has_no_leaked_referrers(target, tmp_path):
    """A saved file lists the same referrers of both."""
    saved = tmp_path / "saved"
    done = run_cli([*natives.where(target), "save", saved])
    assert done.returncode == 0, done.stderr
    held = target.truth["kept"]["list"][0][0]
    for address in rows(target, "chain")[3], held:
        words = "object", f"{address:#x}", "--referrers"
        of_core = natives.asked(target, *words)
        assert natives.opened(saved, *words)["referrers"] == (
            of_core["referrers"]
        )
    assert of_core["reachable"]
    assert all(row["retained_c_bytes"] for row in of_core["referrers"])


def test_content_ends_with_the_block(target):
    """Its size has the header, which is not behind the address. Nothing may be
    mapped behind a block that was mapped alone."""
    blocks = target.truth["leaked"]["malloc"] + target.truth["leaked"]["big"]
    words = json.dumps([address for address, _ in blocks])
    found = natives.told(
        natives.OPEN + CONTENT, *natives.where(target), words
    )
    header = {bytes_: 16 if bytes_ > 100 << 10 else 8 for _, bytes_ in blocks}
    assert found == [bytes_ - header[bytes_] for _, bytes_ in blocks]


LARGE = 300 << 10  # malloc maps it alone, and free() unmaps it


def free_of(target):
    """Addresses that the program has freed, and those of their arenas."""
    arenas = {
        arena["address"]
        for allocator in natives.native(target)["allocators"]
        for arena in allocator["arena_list"]
    }
    return arenas, [a for a, bytes_ in target.truth["freed"] if bytes_ < LARGE]


def test_free_memory(target):
    """Each of the freed blocks, wherever malloc keeps it, and the byte in
    front of a block."""
    arenas, freed = free_of(target)
    assert len(freed) == 100
    questions = [f"goref why {address:#x} --json" for address in freed]
    run = run_goref(target, questions)
    texts = {run.json(i)["description"] for i in range(len(freed))}
    [text] = texts
    assert text.startswith("free memory of malloc (arena 0x")
    assert text.removesuffix(")").rpartition(" ")[2] in arenas
    block = rows(target, "big")[0]
    for verb in "why", "object":
        document = natives.asked(target, verb, f"{block - 1:#x}")
        text = f"header of the C block at {block:#x}"
        assert document["description"] == text


@pytest.mark.parametrize("source", ["process", "saved"])
def test_free_memory_elsewhere(farm, target, tmp_path, source):
    if source == "process":
        skip_if(attach_reason())
        target = planted(farm, CENTRAL, "live")
    _, freed = free_of(target)
    words = "object", f"{freed[3]:#x}"
    if source == "process":
        document = natives.asked(target, *words)
    else:
        saved = tmp_path / "saved"
        done = run_cli([*natives.where(target), "save", saved])
        assert done.returncode == 0, done.stderr
        document = natives.opened(saved, *words)
    assert document["description"].startswith("free memory of malloc")


def test_scan_names_a_block(target):
    """Be it held or leaked."""
    held = target.truth["kept"]["globals"][0]
    for address, bytes_ in held, target.truth["leaked"]["malloc"][0]:
        place = f"{address:#x}"
        done = run_cli([*natives.where(target), "scan", place])
        assert done.returncode == 1 and not done.stdout
        assert done.stderr == (
            f"goref: {place} is not an object of the heap: C block, "
            f"{bytes_:,} bytes at {place} (`goref object' describes it)\n"
        )


def test_functions_of_gdb(target):
    """They are about objects of Go, and say what is there instead."""
    place = f"{rows(target, 'chain')[3]:#x}"
    questions = [f"print $_goref_{name}({place})" for name in
                 ("type", "size", "retained")]  # fmt: skip
    run = run_goref(target, ["goref dominators --top 1", *questions])
    text = f"{place} is not an object of the heap: C block, 64 bytes at"
    errors = run.error_lines()
    assert len(errors) == 3 and "Traceback" not in run.stderr
    assert all(text in line for line in errors[:2]), errors
    assert f"no reached object of the heap is at {place}" in errors[2]

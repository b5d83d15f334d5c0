# SPDX-License-Identifier: Apache-2.0
"""Elements by constant index and key: where they lie, and what is no element.
The program knows its addresses."""

import json
import random

import pytest

from plain import told
from session import run_goref
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")

# Asks for many expressions: an address or an error for each.
_ASK = """
import json, sys
import goref
from goref import native
pid, exe, core, asked = sys.argv[1:]
heap = goref.attach(int(pid)) if pid else goref.core(core, exe)
told = []
for text in json.load(open(asked)):
    try:
        place = heap._scan().resolve(text)
        told.append(place.value or place.addr)
    except native.load().Error as problem:
        told.append(str(problem))
print(json.dumps(told))
"""


def ask(target, folder, expressions):
    asked = folder / "asked.json"
    asked.write_text(json.dumps(expressions))
    pid = "" if target.core else target.process.pid
    return told(_ASK, pid, target.exe, target.core or "", asked)


@variants("default", "noopt")
def test_addresses(farm, variant, tmp_path):
    target = farm.target("indexes", variant)
    asked = sorted(target.places)
    answers = ask(target, tmp_path, asked)
    wrong = [
        (text, answer, target.places[text])
        for text, answer in zip(asked, answers)
        if answer != target.places[text]
    ]
    assert not wrong and len(asked) > 500


@pytest.fixture(scope="module")
def target(farm):
    return farm.target("indexes", CENTRAL)


@variants("default")
def test_what_is_no_element(farm, tmp_path, variant):
    """With both designs of maps."""
    rows = [
        ("main.bank.accounts[5]",
         "index 5 is out of range: main.bank.accounts has 5 elements"),
        ("main.bank.accounts[-1]",
         "index -1 is out of range: main.bank.accounts has 5 elements"),
        ("main.bank.rows[4]",
         "index 4 is out of range: main.bank.rows has 4 elements"),
        ("main.bank.rows[0][2]",
         "index 2 is out of range: main.bank.rows[0] has 2 elements"),
        ("main.bank.accounts[18446744073709551615]",
         "index 18446744073709551615 is out of range"),
        ("main.bank.accounts[18446744073709551616]",
         "main.bank.accounts: the index 18446744073709551616] has more than "
         "64 bits"),
        ("main.text[100]", "index 100 is out of range: main.text has 100"),
        ("main.empty[0]", "index 0 is out of range: main.empty has 0"),
        ("main.bank.accounts[\"x\"]",
         'main.bank.accounts has elements by number, not by "x"'),
        ("main.bank.byName[\"nobody\"]",
         'main.bank.byName has no key "nobody"'),
        ("main.bank.byName[1]",
         "main.bank.byName has keys of type string: no number finds one"),
        ("main.bank.byId[2]", "main.bank.byId has no key 2"),
        ("main.levels[128]", "main.levels has no key 128"),
        ("main.levels[-129]", "main.levels has no key -129"),
        ("main.unsigned[-1]", "main.unsigned has no key -1"),
        ("main.nothing[\"a\"]", 'main.nothing has no key "a"'),
        ("main.large[20000]", "main.large has no key 20000"),
        ("main.deleted[5]", "main.deleted has no key 5"),
        ("main.anys[\"a\"]", "no string finds one"),
        ("main.floats[1]", "keys of type float64: no number finds one"),
        ("main.chans[1]", "main.chans has no elements: it is a chan int"),
        ("main.bank[1]", "main.bank has no elements: it is a main.Bank"),
        ("main.bank.accounts[]", "an index is a number"),
        ("main.bank.accounts[i]", "an index is a number"),
        ("main.bank.accounts[1", "an index is a number"),
        ("main.bank.accounts[1:2]", "an index is a number"),
        ("main.bank.accounts[1]x", 'main.bank.accounts[1]: cannot read "x"'),
        ("main.bank.accounts[1].", 'has no field ""'),
        ("main.bank.accounts[1].Nope", 'main.Account has no field "Nope"'),
        ("main.bank.byName[\"a]", "an index is a number"),
        ("main.nobody[1].x", 'no package variable or local variable in use is called "main.nobody"'),
        ("main.nilAny.x", 'cannot follow "x": the interface is nil'),
        ("main.nilPtr.accounts[0]",
         'main.nilPtr: cannot follow "accounts[0]": the pointer is nil'),
        ("main." + "x." * 3000, "the expression is too long"),
    ]  # fmt: skip
    target = farm.target("indexes", variant)
    answers = ask(target, tmp_path, [text for text, _ in rows])
    for (text, wanted), answer in zip(rows, answers):
        assert isinstance(answer, str) and wanted in answer, (text, answer)
        assert "\n" not in answer


def test_of_casts(target, tmp_path):
    places = target.places
    bank = ask(target, tmp_path, ["&main.bank"])[0]
    account = places["main.bank.accounts[3]"]
    rows = {
        f"(*main.Account)({account:#x}).Tags[1]":
            places["main.bank.accounts[3].Tags[1]"],
        f"*(*main.Account)({account:#x}).Leaf":
            places["main.pbank.accounts[3].Leaf"],
        f"(*main.Bank)({bank:#x}).accounts[3]": account,
        f"(*main.Bank) ({bank:#x}).byName[\"a.b\"].Leaf":
            places['main.bank.byName["a.b"].Leaf'],
        f"(*[]main.Account)({bank:#x})[3]": account,
    }  # fmt: skip
    assert ask(target, tmp_path, list(rows)) == list(rows.values())


def test_commands(target):
    """As a person types it: quotes and brackets are ours."""
    places = target.places
    run = run_goref(
        target,
        ["goref why --json main.bank.accounts[3]",
         "goref why --json main.bank.byName[\"a b\"]",
         "goref why --json main.bank.byName[\"]\"].Leaf",
         "goref scan --json main.bank.accounts[3]",
         "goref scan --json main.bank.accounts[3].Leaf"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert run.json(0)["address"] == f"{places['main.bank.accounts[3]']:#x}"
    assert run.json(0)["object"]["type"] == "[]main.Account"
    wanted = places['main.bank.byName["a b"]']
    assert run.json(1)["address"] == f"{wanted:#x}"
    assert run.json(1)["object"]["type"] == "main.Account"
    assert run.json(2)["object"]["type"] == "main.Leaf"
    account, leaf = run.json(3)["reached"], run.json(4)["reached"]
    assert (account["objects"], leaf["objects"]) == (2, 1)


def test_attached(farm, tmp_path):
    skip_if(attach_reason())
    target = farm.target("indexes", CENTRAL, "live")
    asked = [t for t in sorted(target.places) if '["' not in t]
    answers = ask(target, tmp_path, asked)
    assert answers == [target.places[text] for text in asked]


def mutated(random_, expressions):
    """An expression with some pieces cut, doubled, swapped, made up."""
    text = random_.choice(expressions)
    for _ in range(random_.randint(1, 4)):
        i, j = sorted(random_.choices(range(len(text) + 1), k=2))
        piece = random_.choice(
            ["", text[i:j] * 2, "[", "]", ".", '"', "'", "`", "\\", "(*", ")",
             "[0]", "[-1]", '["x"]', ".Leaf", "0x", "9" * 25, "&", "*", " ",
             chr(random_.randrange(1, 0x2FF)), "\\x", "\\u12", "true"]
        )  # fmt: skip
        text = text[:i] + piece + text[j:]
    return text


def test_random_expressions(target, tmp_path):
    """Each is an address or one line."""
    random_ = random.Random(20)
    known = list(target.places) + ["(*main.Bank)(0xc000012345).byName"]
    asked = [mutated(random_, known) for _ in range(10000)]
    answers = ask(target, tmp_path, asked)
    for text, answer in zip(asked, answers):
        good = isinstance(answer, int) or (answer and "\n" not in answer)
        assert good, (text, answer)
    assert any(isinstance(answer, int) for answer in answers)

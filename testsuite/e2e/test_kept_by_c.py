# SPDX-License-Identifier: Apache-2.0
"""goref native: the Go objects that cgo.Handle and runtime.Pinner keep alive
for C, against what the program made."""

import pytest

import mutate
import mutate_kept
import natives
from asking import run_goref
from natives import CENTRAL
from reports import embedded, write
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variants

HANDLE, PINNER = "cgo.Handle", "runtime.Pinner"
UNKNOWN = "(type not known)"
# The releases on both sides of each change of sync.Map and of Pinner.
CHANGES = [
    r
    for r in ("go1.19", "go1.22", "go1.23", "go1.24", "go1.27")
    if r in RELEASES
]
MANY = 20_000


def rows_of(document):
    """{(by, type): row}, without the examples."""
    found = {}
    for row in document["kept_by_c"]:
        row = dict(row)
        assert (row.pop("example") is None) == (row["objects"] == 0)
        found[row["by"], row["type"]] = row
    assert len(found) == len(document["kept_by_c"])
    return found


def told(target, by=(HANDLE, PINNER)):
    """The rows that the program says for the references of these kinds."""
    return {
        (row["by"], row["type"]): row
        for row in target.truth["rows"]
        if row["by"] in by
    }


def sums(target, by=(HANDLE, PINNER)):
    """The sum of the truth. No row has what a session and a request share."""
    rows = told(target, by).values()
    keys = next(iter(rows)).keys() - {"by", "type"}
    total = {key: sum(row[key] for row in rows) for key in keys}
    if HANDLE in by:
        total["retained_bytes"] += target.truth["joint"]
    return total


def check(target, document):
    """Each row and the sums are to the byte what the program made."""
    assert rows_of(document) == told(target)
    total = dict(document["kept_by_c_total"])
    assert total.pop("known") is True and total.pop("left_out") == 0
    assert total.pop("types") == len(told(target))
    assert total == sums(target)
    assert document["partial"] == []


@pytest.fixture(scope="module")
def kept(farm):
    """kept(variant, kind, args): the program."""

    def target(variant=CENTRAL, kind="core", args=()):
        if kind == "live":
            skip_if(attach_reason())
        return farm.target("kept_by_c", variant, kind, list(args))

    return target


@variants("cgo", releases=CHANGES)
def test_core(kept, variant):
    target = kept(variant)
    check(target, natives.native(target))
    has_pinner = variant.release != "go1.19"
    assert has_pinner == any(by == PINNER for by, _ in told(target))


@variants("cgo", releases=CHANGES)
def test_process(kept, variant):
    target = kept(variant, "live")
    check(target, natives.native(target))


@variants("cgo", "cgo-nodwarf", releases=CHANGES)
def test_saved_file(kept, variant, tmp_path):
    """It says what the core says, also without values."""
    target, saved = kept(variant), tmp_path / "saved"
    done = run_cli([*natives.where(target), "save", saved])
    assert done.returncode == 0, done.stderr
    whole = natives.native(target)
    for key in "kept_by_c", "kept_by_c_total":
        assert natives.opened(saved, "native")[key] == whole[key]
    assert whole["kept_by_c_total"]["known"] or not rows_of(whole).keys() & (
        told(target, [HANDLE]).keys()
    )


@pytest.mark.parametrize("flavour", ["cgo-nodwarf", "cgo-stripped"])
def test_without_debug_information(kept, flavour):
    """Symbols or code tell where the table is, and types of the runtime how it
    is read. An object without a type of its own has none."""
    target = kept(Variant("go1.27", flavour))
    document = natives.native(target)
    found, expected = rows_of(document), told(target)
    view = expected.pop((PINNER, "main.view"))
    for key in view.keys() - {"by", "type"}:
        expected[PINNER, UNKNOWN][key] += view[key]
    assert found == expected
    assert document["kept_by_c_total"]["known"]


def test_without_the_types_of_the_table(kept):
    """The answer says that the handles are not known. It has the pins."""
    target = kept(Variant("go1.24", "cgo-stripped"))
    document = natives.native(target)
    total = dict(document["kept_by_c_total"])
    assert total.pop("known") is False
    assert {by for by, _ in rows_of(document)} == {PINNER}
    assert {key: total[key] for key in sums(target)} == sums(target, [PINNER])
    text = run_cli([*natives.where(target), "native"]).stdout
    assert "cannot read the table of handles" in text


def test_many(kept):
    target = kept(args=[str(MANY)])
    check(target, natives.native(target))


def test_without_references(farm):
    """Nothing is printed, and the lists are empty."""
    target = farm.target("native_struct", CENTRAL)
    document = natives.native(target)
    total = dict(document["kept_by_c_total"])
    assert document["kept_by_c"] == [] and total.pop("known")
    assert set(total.values()) == {0}
    text = run_cli([*natives.where(target), "native"]).stdout
    assert "C memory (glibc" in text and "kept for C" not in text


def test_text_and_top(kept):
    """A short table says how many types it leaves out."""
    target = kept()
    text = run_cli([*natives.where(target), "native"]).stdout
    whole = sums(target)
    head = next(line for line in text.splitlines() if "kept for C" in line)
    assert f": {whole['objects']}, " in head
    assert f"{whole['references']} references" in head
    assert "more type" not in text[text.index("kept for C") :]
    words = [*natives.where(target), "native", "--top", "2"]
    assert "4 more types" in run_cli(words).stdout
    document = natives.asked(target, "native", "--top", "2")
    first, second = document["kept_by_c"]
    assert first["retained_bytes"] >= second["retained_bytes"] > 0
    total = document["kept_by_c_total"]
    assert (total["types"], total["left_out"]) == (6, 4)
    assert total["references"] == whole["references"]


def test_page(kept, tmp_path):
    """The page of goref report has the rows and the sums of the verb."""
    target, path = kept(), tmp_path / "page.html"
    write(target, path)
    found, asked = embedded(path)["native"], natives.native(target)
    for key in "kept_by_c", "kept_by_c_total":
        assert found[key] == asked[key]
    assert 'id="kept-by-c"' in path.read_text()


EXAMPLES = """
print(json.dumps({
    hex(address): heap.object(address).type for address in ADDRESSES
}))
"""


def test_examples(kept):
    """An example is an object of the type."""
    target = kept()
    types = {
        row["example"]: row["type"].lstrip("*")
        for row in natives.native(target)["kept_by_c"]
        if row["example"] and row["by"] == HANDLE
    }
    addresses = [int(address, 16) for address in types]
    code = EXAMPLES.replace("ADDRESSES", str(addresses))
    assert natives.scripted(target, code) == types


MUTANTS = 200


@variants("cgo", releases=[r for r in CHANGES if r in ("go1.19", "go1.24")])
def test_damage(kept, variant, tmp_path):
    """There is an answer or one line of error, in little time and memory, and
    no more references than words of the heap."""
    target = kept(variant)
    way = mutate_kept.way_of(target.exe, target.core)
    whole = sums(target)["references"]
    answers, fewer = 0, 0
    for answer in mutate.run(way, target, tmp_path, 0, MUTANTS):
        assert not mutate.is_bad(answer), answer
        total = answer.document.get("kept_by_c_total")
        if total:
            answers += 1
            fewer += total["references"] < whole
            assert total["references"] <= 20 * whole, answer
    assert answers > MUTANTS / 2 and fewer > MUTANTS / 20


def test_interrupted(kept):
    """Ctrl-C ends the verb, which looks for it often enough."""
    target = kept(args=[str(MANY)])
    words = ["core", target.exe, target.core, "native", "--json"]
    whole = run_goref(*words, max_seconds=mutate.MAX_SECONDS)
    assert whole.returncode == 0 and whole.looks > 1
    # How often it looks differs from one run to the next: a fast run is over
    # before it looks often.
    for look in range(1, max(2, whole.looks // 2 + 1)):
        done = run_goref(
            *words, max_seconds=mutate.MAX_SECONDS, interrupt_at=look
        )
        if look > 1 and done.returncode == 0 and done.looks < look:
            continue
        assert done.returncode == 1, done
        assert done.stderr == "goref: interrupted\n"

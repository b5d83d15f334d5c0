# SPDX-License-Identifier: Apache-2.0
"""The largest objects on a page, and who holds each type: as the program
counts them, and as a simple search over all objects finds them."""

import json
import re
import shutil

import pytest

from reports import ask, embedded, write
from session import run_cli, run_python
from toolchains import RELEASES, Variant, variants

NAME, ID = "Zq7vXk2mWp9r", 901357246
OBJECTS, HOLDERS = 20, 8
SHELVES, TWINS, NODES, USERS, UNITS = 40, 30, 60, 11, 100
NEWEST = Variant(RELEASES[-1], "default")


@pytest.fixture(scope="module")
def pages(farm, tmp_path_factory):
    """The program and the document of its page, made once a variant."""
    made = {}

    def page(variant):
        if variant not in made:
            target = farm.target("cards", variant, args=[NAME, str(ID)])
            path = tmp_path_factory.mktemp("cards") / "page.html"
            write(target, path)
            made[variant] = target, embedded(path)
        return made[variant]

    return page


def cards_of(found, name):
    objects = found["objects"]
    return [objects["cards"][i] for i in objects["by_type"][name]]


def places(target, name, numbers):
    return [target.places[f"{name}-{i}"] for i in numbers]


@variants("default", newest=("noopt",))
def test_largest_of_a_type(pages, variant):
    target, found = pages(variant)
    last = range(SHELVES - 1, SHELVES - 1 - OBJECTS, -1)
    shelves = cards_of(found, "main.shelf")
    assert [card["at"] for card in shelves] == places(target, "shelf", last)
    assert all(
        card["retained_bytes"] >= (i + 1) * 8192 > 0
        for card, i in zip(shelves, last)
    )
    # Those with the lowest addresses come first if all are equal.
    twins = sorted(places(target, "twin", range(TWINS)), key=address)
    assert [card["at"] for card in cards_of(found, "main.twin")] == twins[
        :OBJECTS
    ]


@variants("default", newest=("noopt",))
def test_path_of_a_list(pages, variant):
    """A long path lacks its middle."""
    target, found = pages(variant)
    nodes = cards_of(found, "main.node")
    assert [card["at"] for card in nodes] == places(
        target, "node", range(OBJECTS)
    )
    for i, card in enumerate(nodes):
        way = [None, *range(i + 1)]  # from the root on
        cut = max(0, len(way) - 12)
        assert card["path_left_out"] == cut
        shown = way[:6] + way[6 + cut :] if cut else way
        root, *rest = card["path"]
        assert (root["name"], root["kind"]) == ("main.list", "global")
        assert [hop["at"] for hop in rest] == places(target, "node", shown[1:])
        assert {hop["kind"] for hop in rest} == {"object"}
        assert [hop["step"] for hop in rest[1:]] == [".next"] * (len(rest) - 1)


@variants("default", newest=("noopt",))
def test_fields(pages, variant):
    """The fields that retain most, of a card with more of them."""
    target, found = pages(variant)
    [card] = cards_of(found, "main.wide")
    assert card["at"] == target.places["wide"] and card["nfields"] == 15
    names = [field["name"] for field in card["fields"]]
    assert names == [f".{letter}" for letter in "NMLKJIHGFEDC"]
    sizes = [field["retained_bytes"] for field in card["fields"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes == [field["bytes"] for field in card["fields"]]
    assert sizes[0] == 15 * 8192
    [holder] = card["holders"]
    assert (holder["name"], holder["kind"]) == ("main.broad", "global")
    assert holder["step"] is None and card["nholders"] == 1


@variants("default", newest=("noopt",))
def test_holders(pages, variant):
    """All refer to it; those that retain most are shown."""
    target, found = pages(variant)
    [card] = cards_of(found, "main.common")
    assert card["at"] == target.places["common"]
    assert card["nholders"] == USERS + 1
    # The variable retains only the object itself; it comes last.
    last = range(USERS - 1, USERS - 1 - HOLDERS, -1)
    assert [h["at"] for h in card["holders"]] == places(target, "user", last)
    assert {h["step"] for h in card["holders"]} == {".Common"}
    assert {h["name"] for h in card["holders"]} == {"main.user"}
    assert card["nfields"] == 0 and card["fields"] == []


@variants("default", newest=("noopt",))
def test_type_holders(pages, variant):
    _, found = pages(variant)
    held = found["type_holders"]["main.unit"]
    assert held["objects"] == 6 * UNITS and held["bytes"] == 6 * UNITS * 32
    rows = [
        (row["name"], row["kind"], row["objects"], row["bytes"])
        for row in held["rows"]
    ]
    assert rows[:2] == [
        ("main.first", "global", 3 * UNITS, 3 * UNITS * 32),
        ("main.second", "global", 2 * UNITS, 2 * UNITS * 32),
    ]
    [(name, kind, *total)] = rows[2:]
    assert name.startswith("main.keepUnits") and kind in ("local", "stack")
    assert total == [UNITS, UNITS * 32]


@variants("default", newest=("noopt", "stripped"))
def test_type_holders_add_up(pages, variant):
    target, found = pages(variant)
    types, roots = ask(target, "histogram", "histogram --by root")
    expected = {
        row["key"]: (row["objects"], row["bytes"]) for row in types["rows"]
    }
    assert 20 < len(found["type_holders"]) <= 50
    for name, held in found["type_holders"].items():
        assert (held["objects"], held["bytes"]) == expected[name], name
        for key in "objects", "bytes":
            rows = sum(row[key] for row in held["rows"])
            assert rows + held[f"left_out_{key}"] == held[key], name
    # A root has at least what it holds of one type.
    all_of = {row["key"]: row["bytes"] for row in roots["rows"]}
    for held in found["type_holders"].values():
        for row in held["rows"]:
            assert row["bytes"] <= all_of[row["name"]]


# ------------------------------------------------------ against all objects

# Prints the objects, what they retain, who refers to them; and for each
# suspect the objects at its accumulation point or below.
NAIVE = """
import json, sys
import goref

heap = goref.core(sys.argv[2], sys.argv[1])
scan = heap._scan()
found = {}
for object in heap.objects():
    v = object._vertex
    above, chain = v, [v]
    while len(chain) < 100000:
        above = scan.dominator(above)
        if above is None or above == chain[-1]:
            break
        chain.append(above)
    found[object.address] = [object.size, object.retained_size, chain]
points = [s.at.vertex for s in scan.suspects().suspects]
print(json.dumps([
    {f"{a:#x}": row[:2] for a, row in found.items()},
    [[f"{a:#x}" for a, row in found.items() if p in row[2]] for p in points],
]))
"""


def address(text):
    return int(text, 16)


def largest(objects, addresses):
    return sorted(addresses, key=lambda a: (-objects[a][1], address(a)))[
        :OBJECTS
    ]


def naive(target):
    done = run_python(NAIVE, [target.exe, target.core])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ("map", "slice", "tree", "channel"))
def test_largest_of_suspects(farm, tmp_path, kind):
    """They are those with the largest sizes below the accumulation point."""
    target = farm.target("suspects", NEWEST, args=[kind])
    path = tmp_path / "page.html"
    write(target, path)
    found = embedded(path)
    objects, contents = naive(target)
    cards = found["objects"]["cards"]
    assert len(found["suspects"]["suspects"]) == len(contents) == 1
    for indexes, members in zip(found["objects"]["by_suspect"], contents):
        shown = [cards[i]["at"] for i in indexes]
        assert shown == largest(objects, members)
    for card in cards:
        assert [card["bytes"], card["retained_bytes"]] == objects[card["at"]]


def test_largest_of_many_alike(farm, tmp_path):
    """They are the goroutines' own, or what each of them holds."""
    target = farm.target("suspects", NEWEST, args=["goroutines"])
    path = tmp_path / "page.html"
    write(target, path)
    found = embedded(path)
    [suspect] = found["suspects"]["suspects"]
    assert suspect["kind"] == "goroutines"
    objects, _ = naive(target)
    [indexes] = found["objects"]["by_suspect"]
    cards = [found["objects"]["cards"][i] for i in indexes]
    assert len(cards) == OBJECTS
    shown = [card["at"] for card in cards]
    assert shown == largest(objects, shown)
    assert {card["path"][0]["goroutine"] for card in cards} <= set(
        range(1, 1 << 20)
    )


def test_cards_of_all_types(pages):
    """By the list of all objects."""
    target, found = pages(NEWEST)
    done = run_cli(
        ["core", target.exe, target.core, "objects", "--retained"]
    )
    objects, by_type = {}, {}
    for line in done.stdout.splitlines():
        at, size, retained, name = line.split(" ", 3)
        objects[at] = int(size), int(retained)
        by_type.setdefault(name, []).append(at)
    checked = 0
    for name, addresses in by_type.items():
        if name in found["objects"]["by_type"] and "[" not in name:
            shown = [card["at"] for card in cards_of(found, name)]
            assert shown == largest(objects, addresses), name
            checked += 1
    assert checked > 10
    for card in found["objects"]["cards"]:
        assert objects[card["at"]] == (card["bytes"], card["retained_bytes"])
        assert 0 <= card["resident_bytes"] <= card["bytes"]
        assert card["path"][-1]["at"] == card["at"]
        assert card["path"][0]["kind"] != "object"


# ------------------------------------------------------------------- values


@pytest.mark.parametrize("options", ((), ("--values",)), ids=("", "values"))
def test_keys_of_maps(farm, tmp_path, options):
    """Keys of maps, texts and numbers, are on the page only if asked for."""
    target = farm.target("cards", NEWEST, args=[NAME, str(ID)])
    path = tmp_path / "page.html"
    write(target, path, *options)
    text = path.read_text()
    cards = embedded(path)["objects"]["cards"]
    records = [c for c in cards if c["type"] == "main.record"]
    steps = {holder["step"] for c in records for holder in c["holders"]}
    steps |= {hop["step"] for c in records for hop in c["path"]}
    keys = set(re.findall(rf"{NAME}\d+|\b{ID // 100}\d\d\b", text))
    if options:
        assert f'["{NAME}3"]' in steps and f"[{ID + 3}]" in steps
        assert f"[{ID + 3}][1]" in steps
        assert len(keys) > 10
    else:
        assert not keys
        assert "[...]" in steps and "[...][...]" in steps


# ------------------------------------------------------------------- damage


def without_keys(objects):
    """An element whose key is not known is `$mapval`."""
    text = json.dumps(objects).replace("$mapval", "[...]")
    return json.loads(text)


@pytest.mark.parametrize("options", ((), ("--values",)), ids=("", "values"))
def test_saved_file(pages, tmp_path, options):
    """It has the same cards and holders; steps are keys of maps only in a file
    with values."""
    target, found = pages(NEWEST)
    saved, path = tmp_path / "saved", tmp_path / "page.html"
    line = ["core", target.exe, target.core, "save", saved, *options]
    done = run_cli(line)
    assert done.returncode == 0, done.stderr
    done = run_cli(["open", saved, "report", path])
    assert done.returncode == 0, done.stderr
    again = embedded(path)
    assert again["type_holders"] == found["type_holders"]
    if options:
        assert again["objects"] == found["objects"]
    else:
        assert without_keys(again["objects"]) == without_keys(found["objects"])


def test_truncated_core(pages, tmp_path):
    """A part that cannot be made is missing, and the page is made."""
    target, _ = pages(NEWEST)
    size = target.core.stat().st_size
    for part in (0.95, 0.6, 0.3):
        cut, path = tmp_path / "cut", tmp_path / "page.html"
        shutil.copy(target.core, cut)
        with open(cut, "r+b") as file:
            file.truncate(int(size * part))
        done = run_cli(["core", target.exe, cut, "report", path])
        if done.returncode == 1:
            continue  # too little is left for any page
        assert done.returncode == 3, done.stderr
        found = embedded(path)
        for name in ("objects", "type_holders"):
            assert (name in found) != (name in found["missing"])


def test_memory_limit(farm, tmp_path):
    """Without memory for the graph, the page has no cards and says why."""
    target = farm.target("leaky", NEWEST, args=["20000", "refunds"])
    path, seen = tmp_path / "page.html", set()
    for limit in (200, 40, 30, 25, 20, 16, 12):
        path.unlink(missing_ok=True)
        line = ["core", target.exe, target.core, "report", path]
        done = run_cli([*line, "--memory-limit", f"{limit}M"])
        assert "Traceback" not in done.stderr
        if not path.exists():
            continue
        found = embedded(path)
        for name in ("objects", "type_holders"):
            assert (name in found) != (name in found["missing"])
        seen.add("objects" in found)
        if "objects" in found["missing"]:
            assert "memory" in found["missing"]["objects"]
    assert seen == {True, False}

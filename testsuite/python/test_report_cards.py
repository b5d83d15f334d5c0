# SPDX-License-Identifier: Apache-2.0
"""The largest objects in the document of a page: which types are asked for,
bounds, and values."""

import json
import sys
from pathlib import Path

import pytest

import rows

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref.report import cards, limits, values


def vertex(name="main.T", **given):
    return rows.make("Vertex", name=name, kind="object", type=name, **given)


def card(number, name="main.T", **given):
    given.setdefault("hops", ())
    return rows.make(
        "Card", vertex=vertex(name, addr=number, bytes=16), **given
    )


def link(name, **given):
    return rows.make("CardLink", name=name, vertex=vertex(**given))


def hop(step, **given):
    return rows.make("SuspectHop", step=step, vertex=vertex(**given))


def group(*indexes):
    return rows.make("CardGroup", cards=indexes)


def row(key, bytes_, retained):
    return rows.make(
        "HistogramRow", key=key, bytes=bytes_, retained_bytes=retained
    )


def test_types_by_bytes_and_by_what_they_retain():
    found = [row(f"main.T{i}", 1000 - i, 1000 - i) for i in range(200)]
    found += [row(f"main.S{i}", i, 5000 - i) for i in range(70)]
    names = cards.types(found)
    assert len(names) == len(set(names)) == cards.TYPES
    assert set(names) == {f"main.T{i}" for i in range(50)} | {
        f"main.S{i}" for i in range(50)
    }
    assert names[:3] == ("main.T0", "main.S0", "main.T1")
    assert cards.types(found[:3]) == ("main.T0", "main.T1", "main.T2")
    assert cards.types(()) == ()


def test_largest_types():
    found = [row("b", 5, 0), row("c", 7, 9), row("a", 5, 0), row("d", 1, 99)]
    assert cards.largest(found, 3) == ("c", "a", "b")


def test_document():
    found = rows.make(
        "Cards",
        cards=(
            card(0x10, references=3, referrers=9, resident_bytes=8,
                 hops_left_out=4,
                 fields=(link(".a", addr=0x20, bytes=5, retained_bytes=6),),
                 hops=(hop(None, goroutine_id=7), hop(".a")),
                 holders=(link(".b", retained_bytes=1),)),
            card(0x20),
        ),
        types=(group(1), group()),
        suspects=(group(0, 1),),
    )  # fmt: skip
    document = cards.objects(found, ("main.T", "main.U"))
    assert document["by_type"] == {"main.T": [1]}
    assert document["by_suspect"] == [[0, 1]]
    first, second = document["cards"]
    assert (first["at"], first["type"], first["bytes"]) == (
        "0x10", "main.T", 16,
    )  # fmt: skip
    assert (first["nfields"], first["nholders"]) == (3, 9)
    assert (first["resident_bytes"], first["path_left_out"]) == (8, 4)
    assert first["fields"] == [
        {"name": ".a", "at": "0x20", "type": "main.T", "bytes": 5,
         "retained_bytes": 6}
    ]  # fmt: skip
    assert [(h["step"], h.get("goroutine")) for h in first["path"]] == [
        (None, 7),
        (".a", None),
    ]
    assert first["holders"][0]["step"] == ".b"
    assert second["resident_bytes"] is None and second["fields"] == []


def test_cards_are_bounded():
    """Those of suspects come first; the groups have only cards that are
    there."""
    name = "main." + "T" * 5000
    count = 2 * cards.CARD_BYTES // len(name)
    found = rows.make(
        "Cards",
        cards=tuple(card(i, name) for i in range(count)),
        types=tuple(group(i) for i in range(count)),
        suspects=(group(0, 1, count - 1),),
    )
    names = [f"main.N{i}" for i in range(count)]
    document = cards.objects(found, names)
    shown = len(document["cards"])
    assert 0 < shown < count
    assert len(json.dumps(document["cards"])) <= cards.CARD_BYTES * 1.01
    assert document["by_suspect"] == [[0, 1]]
    assert document["by_type"] == {n: [i] for i, n in enumerate(names[:shown])}


def test_names_of_types_stay_equal_if_they_are_cut():
    name = "main.T[" + "x" * 1000 + "]"
    document = {"types": [{"key": name}], "by_type": {name: [1]}}
    text = limits.fitting(document, json.dumps)
    cut = json.loads(text)
    assert list(cut["by_type"]) == [cut["types"][0]["key"]]
    assert len(cut["types"][0]["key"]) == limits.NAME


@pytest.mark.parametrize("is_too_large", (False, True))
def test_page_without_cards(is_too_large):
    """Cards are left out only if names that are cut do not suffice."""
    share = limits.PAGE // 40
    document = {
        "missing": {"rss": "why"},
        "names": ["x" * limits.NAME] * 100,
        "objects": {"cards": [1] * (share if is_too_large else 9)},
        "tables": [1] * share,
    }
    text = limits.fitting(document, lambda d: 10 * json.dumps(d))
    assert len(text) <= limits.PAGE
    made = json.loads(text[: len(text) // 10])
    assert made.keys() == document.keys()
    assert made["missing"] == document["missing"]
    assert ("objects" in made) != is_too_large
    assert set(made["missing"]) == {"rss", "objects"} - (
        set() if is_too_large else {"objects"}
    )


def test_type_holders():
    found = rows.make(
        "TypeHolders",
        types=(
            rows.make(
                "TypeHolding", type="main.T", objects=5, bytes=50,
                left_out=2, left_out_objects=1, left_out_bytes=10,
                holders=(
                    rows.make("TypeHolder", name="main.a", kind="global",
                              objects=4, bytes=40),
                ),
            ),
        ),
    )  # fmt: skip
    assert cards.type_holders(found) == {
        "main.T": {
            "objects": 5, "bytes": 50, "left_out": 2, "left_out_objects": 1,
            "left_out_bytes": 10,
            "rows": [{"name": "main.a", "kind": "global", "objects": 4,
                      "bytes": 40}],
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    "step, shown",
    [
        (".next", ".next"),
        ('["ann"]', "[...]"),
        ('["ann"].next[3]', "[...].next[...]"),
        ("[4711]", "[...]"),
        ("[4711][2]", "[...][...]"),
        ("[-4711].x", "[...].x"),
        ("[true]", "[...]"),
        (".byID[4711]", ".byID[...]"),
        ("$overflow[2]", "$overflow[...]"),
        ('["ann', "[...]"),
        ("$mapval", "$mapval"),
    ],
)
def test_keys_are_left_out(step, shown):
    """In steps of paths and in names of fields alike; not in types."""
    document = {
        "path": [{"name": "[4]main.T", "step": step}],
        "holders": [{"name": "[4]main.T", "step": step}],
        "fields": [{"name": step, "type": "[4]main.T"}],
    }
    found = values.shown(document, with_values=False)
    for part in ("path", "holders"):
        assert found[part] == [{"name": "[4]main.T", "step": shown}]
    assert found["fields"] == [{"name": shown, "type": "[4]main.T"}]
    assert values.shown(document, with_values=True) == document

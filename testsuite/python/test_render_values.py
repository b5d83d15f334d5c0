# SPDX-License-Identifier: Apache-2.0
"""Long values on several lines."""

import random

import pytest

from goref.render.values import value_lines


def test_a_short_value_has_one_line():
    text = 'main.T {A: 1, B: "x"}'
    assert value_lines("value: ", text) == [f"value: {text}"]


def test_structs():
    text = (
        'main.Case {Name: "receive", Id: 19, Waits: []main.Wait len: 2, cap: '
        '2, [{Kind: "mutex", Address: "0xc000012340", Path: "main.store.mu"},'
        '{Kind: "channel", Address: "0xc000012350", Path: "main.store.jobs"}],'
        " Facts: map[string]interface {} nil}"
    )
    assert value_lines("    case = ", text) == [
        "    case = main.Case {",
        '        Name: "receive",',
        "        Id: 19,",
        "        Waits: []main.Wait len: 2, cap: 2, [",
        '            {Kind: "mutex", Address: "0xc000012340", Path: '
        '"main.store.mu"},',
        '            {Kind: "channel", Address: "0xc000012350", Path: '
        '"main.store.jobs"}',
        "        ],",
        "        Facts: map[string]interface {} nil",
        "    }",
    ]  # fmt: skip


def test_numbers_fill_their_lines():
    text = f"[]int len: 64, cap: 64, [{','.join(map(str, range(64)))}]"
    lines = value_lines("value: ", text)
    assert lines[0] == "value: []int len: 64, cap: 64, ["
    assert lines[1].startswith("    0,1,2,3,") and len(lines) == 5
    assert lines[-1] == "]"
    assert max(map(len, lines)) <= 80


def test_maps_and_types_in_types():
    text = (
        'map[string]struct { A int; B [4]int } ["one": {A: 1, B: [4]int '
        '[1,2,3,4]}, "two": {A: 1, B: [4]int [1,2,3,4]}, ...+3 more]'
    )
    assert value_lines("", text) == [
        "map[string]struct { A int; B [4]int } [",
        '    "one": {A: 1, B: [4]int [1,2,3,4]},',
        '    "two": {A: 1, B: [4]int [1,2,3,4]},',
        "    ...+3 more",
        "]",
    ]


def test_closures_and_channels():
    point = '{X: 1, Y: 2, Name: "a long name of a point"}'
    text = f"chan main.Point 2/2 [{point},{point}]"
    assert value_lines("v = ", text) == [
        "v = chan main.Point 2/2 [", f"    {point},", f"    {point}", "]",
    ]  # fmt: skip
    text = f"main.(*T).serve.func1 {{n: 7, at: main.Point {point}, c: 9}}"
    assert value_lines("v = ", text) == [
        "v = main.(*T).serve.func1 {", "    n: 7,",
        f"    at: main.Point {point},", "    c: 9", "}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"' + "x" * 200 + '"',
        '"a string with {brackets}, [and commas], and \\" quotes" ' * 3,
        "main.T {" + "A: {" * 300,
        "main.T {" + "}]" * 100,
        "(unreadable 0xc000012345 was not captured)" * 3,
        "[" * 5000 + "]" * 5000,
    ],
)
def test_whatever_stands_there(text):
    lines = value_lines("value: ", text)
    assert "".join(s.strip() for s in lines).replace(" ", "") == (
        f"value: {text}".replace(" ", "")
    )


def test_nothing_is_lost():
    """Any text is kept but for spaces."""
    chance = random.Random(3)
    for _ in range(300):
        text = "".join(
            chance.choice('{}[](),,: "\\ab12') for _ in range(200)
        )
        lines = value_lines("v = ", text, chance.randrange(10, 90))
        joined = "".join(s.strip() for s in lines).replace(" ", "")
        assert joined == f"v = {text}".replace(" ", "")

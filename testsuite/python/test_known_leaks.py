# SPDX-License-Identifier: Apache-2.0
"""Patterns of leaks, and the baseline file."""

import json
import os

import pytest

from goref import known_leaks
from goref.known_leaks import Baseline, FileError, Key, Pattern
from goref.render.leaks import LeaksReport

HEADER = "# goref leaks: baseline 1\n"
LINE = "2\tchan send\tmain.f\tmain.g\n"


def report(found, **options):
    return LeaksReport(
        tool_version="1.2.3", partial=(), found=found, top=None, **options
    )


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("main.f", Pattern("top", "main.f")),
        ("top:main.f", Pattern("top", "main.f")),
        ("any:net/http.(*T).*", Pattern("any", "net/http.(*T).*")),
        ("created-by:main.g", Pattern("created-by", "main.g")),
        ("top:type:.eq.main.T", Pattern("top", "type:.eq.main.T")),
    ],
)
def test_pattern(text, wanted):
    assert known_leaks.pattern(text) == wanted


@pytest.mark.parametrize("text", ["", "any:", "every:main.f", "f" * 1001])
def test_no_pattern(text):
    with pytest.raises(ValueError, match="^not a pattern: "):
        known_leaks.pattern(text)


def test_file_of_patterns(tmp_path):
    file = tmp_path / "list"
    file.write_text("# known\n\n main.f \nany:x.*\r\n")
    wanted = [Pattern("top", "main.f"), Pattern("any", "x.*")]
    assert known_leaks.read_patterns(file) == wanted
    file.write_text("main.f\nevery:x\n")
    with pytest.raises(FileError, match=":2: not a pattern: every:x"):
        known_leaks.read_patterns(file)


def test_baseline_of_groups(make, goref, tmp_path):
    """Lines do not count, the order does not, and names are quoted."""
    file = tmp_path / "baseline"
    at = make.leak_group(ids=[1])[0].at
    rows = [
        make.leak_group(ids=[1, 2])[0],
        make.leak_group(ids=[3], at=at._replace(line=99))[0],
        make.leak_group(ids=[4], at=at._replace(function="a\tb\\n\n"))[0],
        make.leak_group(ids=[5], at=at._replace(function=None))[0],
        make.leak_group(ids=[6], verdict="missing memory")[0],
    ]
    text = known_leaks.baseline_text(rows)
    assert text == known_leaks.baseline_text(reversed(rows))
    assert text.startswith(HEADER.encode())
    assert (
        b"\n3\tchan send\tmain.(*Pool).work\tmain.(*Pool).Start\n" in text
    )
    file.write_bytes(text)
    read = known_leaks.read_baseline(file)
    assert read.known == known_leaks.counts(rows)
    assert Key("chan send", "a\tb\\n\n", "main.(*Pool).Start") in read.known
    file.write_bytes(text.replace(b"\n", b"\r\n"))
    assert known_leaks.read_baseline(file).known == read.known


@pytest.mark.parametrize(
    "text, mistake",
    [
        ("", "no baseline of leaks"),
        (LINE, "no baseline of leaks"),
        ("# goref leaks: baseline 2\n" + LINE, "no baseline of leaks"),
        (HEADER + "2 chan send\n", ":2: not a count, a wait reason and two"),
        (HEADER + LINE + "<<<<<<< HEAD\n", ":3: not a count"),
        (HEADER + LINE.replace("2", "-2"), ":2: not a count"),
        (HEADER + LINE.replace("2", "9" * 19), ":2: not a count"),
        (HEADER + LINE + LINE, ":3: this place has a line already"),
    ],
)
def test_no_baseline(tmp_path, text, mistake):
    file = tmp_path / "baseline"
    file.write_text(text)
    with pytest.raises(FileError, match=mistake) as problem:
        known_leaks.read_baseline(file)
    assert "\n" not in str(problem.value)


def test_no_file(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, reason in [
        (tmp_path / "none", "No such file"),
        (tmp_path, "directory"),
        (fifo, "no regular file"),
        ("a\0b", "null"),
    ]:
        with pytest.raises(FileError, match=f"cannot read .*{reason}"):
            known_leaks.read_baseline(path)


def test_new_and_known(make):
    """Only what is new is described; a place that has grown says from what."""
    at = make.leak_group(ids=[1])[0].at
    found = make.leaks(
        make.leak_group(ids=range(20)),
        make.leak_group(ids=range(30, 34), at=at._replace(function="main.new")),
        make.leak_group(ids=range(40, 45), at=at._replace(function="main.old")),
    )
    creator = "main.(*Pool).Start"
    known = {
        Key("chan send", at.function, creator): 12,
        Key("chan send", "main.old", creator): 7,
        Key("chan send", "main.gone", creator): 1,
    }
    answer = report(found, baseline=Baseline("FILE", known))
    lines = answer.lines()
    assert lines[1:3] == [
        "baseline: 12 new, 17 known to FILE",
        "baseline: 2 places have fewer leaks than the file says: write the "
        "file again",
    ]
    assert "   known   12 of 20 like these" in lines
    assert "   in      main.new at /src/pool.go:31" in lines
    assert "main.old" not in answer.text()
    document = json.loads(answer.json())
    assert [(g["known"], g["new"]) for g in document["groups"]] == [
        (12, True),
        (0, True),
        (7, False),
    ]
    assert document["baseline"]["new"] == 12
    assert document["baseline"]["shrunk"] == [
        {"wait_reason": "chan send", "function": function,
         "creator": creator, "known": old, "count": count}
        for function, old, count in [("main.gone", 1, 0), ("main.old", 7, 5)]
    ]  # fmt: skip


def test_ignored(make, goref):
    rows = (goref.LeakIgnored(5, 4), goref.LeakIgnored(0, 0))
    patterns = [Pattern("top", "main.f"), Pattern("any", "main.g")]
    answer = report(make.leaks(ignored=rows), patterns=patterns)
    assert answer.lines()[1:3] == [
        "ignored: 5 goroutines that wait, of which 4 have leaked",
        "ignored: no goroutine matches any:main.g",
    ]
    assert answer.document()["ignored"] == [
        {"pattern": "top:main.f", "blocked": 5, "leaked": 4},
        {"pattern": "any:main.g", "blocked": 0, "leaked": 0},
    ]


def test_too_many_in_one_place(make, goref):
    at = make.leak_group(ids=[1])[0].at
    places = tuple(
        goref.BlockedPlace(at, "chan send", n, n % 2) for n in (9, 8, 3)
    )
    found = make.leaks(places=places)
    place = "main.(*Pool).work at /src/pool.go:31 [chan send]"
    assert report(found, max_blocked=7).lines()[1:3] == [
        f"more than 7 in one place: 9 goroutines are blocked in {place}, of "
        "which 1 has leaked",
        f"more than 7 in one place: 8 goroutines are blocked in {place}",
    ]
    assert not report(found, max_blocked=0).above()
    assert not report(found).above()
    shown = report(found).document()["blocked_places"]
    assert [(p["count"], p["leaked"]) for p in shown] == [
        (9, 1),
        (8, 0),
        (3, 1),
    ]


def test_patterns_that_are_no_text(tmp_path):
    """The message can be printed, and names the file and the line."""
    path = tmp_path / "binary"
    path.write_bytes(b"main.f\n\xff:\xfe\n")
    with pytest.raises(FileError) as problem:
        known_leaks.read_patterns(str(path))
    str(problem.value).encode("ascii")
    assert f"{path}:2: not a pattern" in str(problem.value)

# SPDX-License-Identifier: Apache-2.0
"""Where goref says what could be saved, beside `goref waste': the overview, the
page, diff, saved files, scripts; and what it asks of a process. The programs
know what they waste."""

import functools
import json
import re

import pytest

import reports
from counters import CENTRAL
from session import run_cli, run_goref, run_python
from targets import attach_reason, skip_if
from test_waste import COUNTED, is_near, is_of, rows_of
from toolchains import variants

OF_VALUES = ("duplicate-strings", "constant-field")
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
CAPACITY = "slice-capacity"
WITHOUT_VALUES = [check for check in COUNTED if check not in OF_VALUES]


@pytest.fixture
def wasting(farm):
    """wasting(mode, kind): a program that wastes what its mode says."""

    def start(mode, kind="core", variant=CENTRAL):
        return farm.target("wastes", variant, kind, mode.split())

    return start


def asked(*words):
    done = run_cli([*words, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def planted(target):
    """The largest finding that the program has planted."""
    return max(target.truth["findings"], key=lambda found: found["bytes"])


def check_finds(rows, target, check):
    """Rows have what the program says of its largest waste."""
    truth = planted(target)
    found = [row for row in rows if row["check"] == check and is_of(row, truth)]
    assert is_near(sum(row["bytes"] for row in found), truth["bytes"]), rows
    return found


# -------------------------------------------------------- overview and page


def test_overview(wasting):
    """The largest finding, if it is over 5 % of the heap, and what to ask."""
    target = wasting(CAPACITY)
    document = asked("core", target.exe, target.core, "overview")
    assert check_finds(document["waste"]["findings"], target, CAPACITY)
    assert any(line.endswith(" waste") for line in document["next"])
    least = document["waste"]["heap_bytes"] / 20
    assert all(f["bytes"] >= least for f in document["waste"]["findings"])
    text = run_cli(["core", target.exe, target.core]).stdout
    [line] = re.findall("^could be saved: .*$", text, re.M)
    assert f"by {CAPACITY} in {planted(target)['type']}" in line


def test_overview_reads_no_values(wasting):
    """It does not read all memory of a core."""
    target = wasting("duplicate-strings")
    document = asked("core", target.exe, target.core, "overview")
    checks = {row["check"] for row in document["waste"]["findings"]}
    assert not checks & {*OF_VALUES}


def test_overview_of_a_frugal_program(wasting):
    target = wasting("frugal")
    document = asked("core", target.exe, target.core, "overview")
    assert document["waste"]["findings"] == []
    text = run_cli(["core", target.exe, target.core]).stdout
    assert "could be saved" not in text


def test_page(wasting, tmp_path):
    """The section has the rows of the verb, and the first screen names a large
    one."""
    target = wasting("duplicate-strings")
    path = tmp_path / "page.html"
    assert reports.write(target, path).returncode == 0
    found = reports.embedded(path)["waste"]
    verb = asked("core", target.exe, target.core, "waste")
    assert found["checks"] == verb["checks"]
    assert found["total_bytes"] == verb["total_bytes"]
    check_finds(found["checks"], target, "duplicate-strings")
    text = path.read_text()
    assert "What could be saved" in text and "Could be saved" in text
    assert found["checks"][0]["advice"] in text


def test_page_of_a_file_without_values(wasting, tmp_path):
    target = wasting("mix 3 20000")
    file, path = tmp_path / "file", tmp_path / "page.html"
    core = ["core", target.exe, target.core]
    assert run_cli([*core, "save", file]).returncode == 0
    assert run_cli(["open", file, "report", path]).returncode == 0
    found = reports.embedded(path)["waste"]
    unmade = {row["check"] for row in found["asked"] if not row["answered"]}
    assert unmade == {*OF_VALUES}
    assert f"not checked: {', '.join(OF_VALUES)}: " in found["notes"][-1]
    assert "Not checked: duplicate-strings" in path.read_text()


# --------------------------------------------------------------------- diff


def rows_by_check(document):
    return {row["key"]: row for row in document["by"]["waste"]["rows"]}


def test_diff(wasting):
    """Each check's sum on both sides; what has not changed is no row."""
    old, new = wasting("frugal"), wasting(CAPACITY)
    sides = [old.exe, old.core, new.exe, new.core]
    document = asked("diff", *sides, "--by", "waste")
    rows = rows_by_check(document)
    for side, target in ("old", old), ("new", new):
        verb = asked("core", target.exe, target.core, "waste",
                     "--min-share", "0%")  # fmt: skip
        for check in COUNTED:
            total = sum(row["bytes"] for row in rows_of(verb, check))
            if check in rows:
                assert rows[check][side]["bytes"] == total, check
    grown = rows[CAPACITY]["growth_bytes"]
    assert is_near(grown, sum(f["bytes"] for f in new.truth["findings"]))
    limit = ["--by", "waste", "--fail-above"]
    assert run_cli(["diff", *sides, *limit, "1k"]).returncode == 4
    assert run_cli(["diff", *sides, *limit, "1g"]).returncode == 0
    assert "By check of waste" in run_cli(["diff", *sides]).stdout


def test_diff_of_sides_without_values(wasting, tmp_path):
    """A check that one side has not made has neither grown nor shrunk."""
    target = wasting("duplicate-strings")
    file = tmp_path / "file"
    core = [target.exe, target.core]
    assert run_cli(["core", *core, "save", file]).returncode == 0
    for sides in ([file, *core], [*core, file]):
        document = asked("diff", *sides, "--by", "waste")
        assert document["by"]["waste"]["rows"] == []
        assert "duplicate-strings" in document["by"]["waste"]["note"]


# -------------------------------------------------------------- saved files


@pytest.mark.parametrize("mode", ["mix 5 20000", "slice-capacity", "pool"])
@variants(newest=("default",))
def test_file_without_values(wasting, variant, mode, tmp_path):
    """All but what reads values is the same: rows, sums and damage."""
    target = wasting(mode, variant=variant)
    file = tmp_path / "file"
    core = ["core", target.exe, target.core]
    assert run_cli([*core, "save", file]).returncode == 0
    question = ["waste", "--min-share", "0%", "--checks",
                ",".join(WITHOUT_VALUES)]  # fmt: skip
    assert asked(*core, *question) == asked("open", file, *question)
    text = run_cli(["open", file, "waste"]).stdout
    assert f"not checked: {', '.join(OF_VALUES)}: the file was saved" in text


# ------------------------------------------------------------------ scripts


SCRIPT = """\
import json, sys, goref
with goref.core(sys.argv[2], sys.argv[1]) as heap:
    found = heap.waste(["slice-capacity", "pool"], min_share=0)
    print(json.dumps([row._asdict() for row in found.rows]))
    assert [a.check for a in found.asked] == ["slice-capacity", "pool"]
    assert heap.waste("pool", 0).asked == found.asked[1:]
    for wrong in (
        {"checks": ["none"]},
        {"checks": [1]},
        {"checks": "\\udc80"},
        {"min_share": 2},
        {"min_share": -1},
        {"min_share": "1%"},
        {"min_share": None},
        {"min_share": float("nan")},
    ):
        try:
            print(heap.waste(**wrong))
        except ValueError as problem:
            assert str(problem).startswith("goref: ")
"""


def test_script(wasting):
    target = wasting(CAPACITY)
    done = run_python(SCRIPT, [target.exe, target.core])
    assert done.returncode == 0, done.stderr
    check_finds(json.loads(done.stdout), target, CAPACITY)


# ------------------------------------------------------------------- process


def copied(said):
    """The bytes that goref says that it copies."""
    [[number, unit]] = re.findall(r"about ([0-9.]+) (\w+) to copy", said)
    return float(number) * UNITS[unit]


COPIES = "objects without pointers are copied, too: the answer reads values"


@functools.cache
def checks_but(*left_out):
    return ",".join(check for check in COUNTED if check not in left_out)


def test_estimate_of_a_process(wasting):
    """Objects without pointers are copied only for checks that read them."""
    skip_if(attach_reason())
    target = wasting("duplicate-strings", "live")
    attach = ["attach", target.process.pid, "waste", "--json"]
    whole = run_cli(attach)
    few = run_cli([*attach, "--checks", checks_but(*OF_VALUES)])
    assert whole.returncode == few.returncode == 0
    assert COPIES in whole.stderr and COPIES not in few.stderr
    found = json.loads(whole.stdout)
    check_finds(found["checks"], target, "duplicate-strings")
    strings = planted(target)["bytes"]
    assert copied(whole.stderr) - copied(few.stderr) >= strings * 0.9
    assert all(row["answered"] for row in json.loads(few.stdout)["asked"])
    snapshot = run_cli(["attach", "--snapshot", *attach[1:]])
    if snapshot.returncode == 0:  # not every kernel can
        again = json.loads(snapshot.stdout)
        check_finds(again["checks"], target, "duplicate-strings")


def test_pause_that_is_too_long(wasting):
    """Without --snapshot, the line may name its pause; with it, never."""
    skip_if(attach_reason())
    target = wasting("duplicate-strings", "live")
    pid = target.process.pid
    done = run_cli(["attach", pid, "--max-pause", "1", "waste"])
    if done.returncode:
        last = done.stderr.splitlines()[-1]
        assert "longer than --max-pause 1" in last
    way = run_cli(["attach", pid, "--snapshot", "--max-pause", "1", "waste"])
    assert "--snapshot would" not in way.stderr
    assert target.process.popen.poll() is None


def test_gdb_has_values(wasting):
    """The process stands still: values are read as they are needed."""
    skip_if(attach_reason())
    target = wasting("duplicate-strings", "live")
    run = run_goref(target, ["goref waste --json"], in_gdb=True)
    assert run.rc == 0, run.stderr
    check_finds(run.json()["checks"], target, "duplicate-strings")


# ------------------------------------------------------------------- options


def test_options(wasting):
    target = wasting("mix 3 20000")
    core = ["core", target.exe, target.core, "waste"]
    every = asked(*core, "--min-share", "0%")
    for share in ("0.5%", "2", "100%"):
        found = asked(*core, "--min-share", share)
        least = every["heap_bytes"] * float(share.rstrip("%")) / 100
        wanted = [r for r in every["checks"] if r["bytes"] >= int(least)]
        assert [r for r in found["checks"] if r["bytes"]] == [
            r for r in wanted if r["bytes"]
        ]
        assert found["min_share"] == float(share.rstrip("%"))
    assert asked(*core, "--top", "1")["checks"] == asked(*core)["checks"][:1]
    text = run_cli([*core, "--min-share", "0%", "--top", "2"]).stdout
    assert re.search(r"^and \d+ more \(--top 0 shows all\)$", text, re.M)
    one = run_cli([*core, "--checks", "pool", "--min-share", "0%"]).stdout
    assert "--checks asks only for pool" in one


def test_text_has_what_the_document_has(wasting):
    target = wasting("mix 3 20000")
    core = ["core", target.exe, target.core, "waste", "--min-share", "0%"]
    document, text = asked(*core), run_cli([*core, "--top", "0"]).stdout
    joined = " ".join(text.split())
    for row in document["checks"]:
        assert " ".join(row["advice"].split()) in joined
        assert f"{row['type'] or ''}{row['field'] or ''}" in text
        if row["example"]:
            assert row["example"] in text
    assert " could be saved, " in text.splitlines()[-1]

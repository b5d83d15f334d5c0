# SPDX-License-Identifier: Apache-2.0
"""goref open in gdb: later commands ask a saved file, until goref close. The
truth is the answer of the command line about the same file."""

import json
import random
import shutil

import pytest

from samples import VERBS, samples
from session import run_cli, run_gdb, run_goref
from targets import attach_reason, skip_if
from test_saved import lasting, save
from toolchains import Variant
from waiting import comes, some_moment, states_of

CENTRAL = Variant("go1.24", "default")
NO_PROGRAM = "goref: no program to look at"


@pytest.fixture(scope="module")
def roots(farm):
    return farm.target("roots", CENTRAL)


@pytest.fixture(scope="module")
def rest(farm):
    return farm.target("rest", CENTRAL)


@pytest.fixture(scope="module")
def file(roots, tmp_path_factory):
    path = tmp_path_factory.mktemp("open") / "a heap.goref"
    save(roots, path, "--values")
    return path


@pytest.fixture(scope="module")
def other(rest, tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / "rest.goref"
    save(rest, path)
    return path


def told(path):
    """The command line's answer about a file."""
    done = run_cli(["open", path, "scan", "--json"])
    assert done.returncode == 0, done.stderr
    return lasting(json.loads(done.stdout))


def of_file(run, number):
    """The file that an answer in JSON is about; None: a core."""
    return run.json(number)["target"]["file"]


def test_until_close(roots, rest, file):
    """The text of each answer begins with the name of what it is about."""
    run = run_goref(
        rest,
        ["goref scan --json", f"goref open '{file}'", "goref scan --json",
         "goref histogram", "info goref",
         "python import goref; print(goref.heap())", "goref close",
         "goref scan --json", "goref histogram", "python print(goref.heap())"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    title = f"{file}: core {roots.core} of {roots.exe}"
    stays = f"goref looks at {file} until `goref close'"
    first = run.parts[1].splitlines()
    assert (first[0], first[-1]) == (title, stays)
    assert lasting(run.json(2)) == told(file)
    assert run.parts[3].splitlines()[0] == title
    assert str(file) in run.parts[4] and str(rest.core) not in run.parts[4]
    assert str(file) in run.parts[5]
    assert not run.parts[6]
    assert lasting(run.json(7)) == lasting(run.json(0))
    assert str(file) not in run.parts[8]
    assert str(rest.core) in run.parts[9]


def test_without_a_program(file, rest):
    run = run_gdb(
        [], [f"goref open '{file}' --json", "goref scan --json",
             "goref close", "goref scan"]
    )  # fmt: skip
    assert of_file(run, 0) == of_file(run, 1) == str(file)
    assert len(run.error_lines()) == 1
    assert NO_PROGRAM in run.stderr


def test_each_verb_names_the_file(roots, file, tmp_path):
    """Also those that write a file."""
    place = next(iter(roots.places.values()))
    asked = [name for name in VERBS if name != "report"]  # not in gdb
    questions = [
        " ".join(words)
        for name in asked
        for words in samples([name], place=place, file=tmp_path / name)
    ]
    run = run_gdb(
        [], [f"goref open '{file}'", *(f"goref {q}" for q in questions)]
    )
    title = f"{file}: core {roots.core} of {roots.exe}"
    for question, text in zip(questions, run.parts[1:]):
        assert text.splitlines()[:1] == [title], (question, run.stderr)
    assert not run.error_lines()
    assert told(tmp_path / "save")["reached"] == told(file)["reached"]


def test_opened_twice(file, other, rest):
    """The second file takes the place of the first one, and close leads back
    to what gdb has."""
    run = run_goref(
        rest,
        [f"goref open '{file}' --json", f"goref open {other} --json",
         "goref scan --json", f"goref open {other} --json",
         f"goref open '{file}' scan --json", "goref scan --json",
         f"goref open {other} scan --json", "goref scan --json",
         "goref close", "goref scan --json", "goref close"],
    )  # fmt: skip
    files = [of_file(run, i) for i in (0, 1, 2, 3, 4, 5, 6, 7, 9)]
    one, two = str(file), str(other)
    assert files == [one, two, two, two, one, two, two, two, None]
    assert lasting(run.json(2)) == lasting(run.json(7)) == told(other)
    assert run.json(9)["target"]["core"] == str(rest.core)
    assert "goref: no file is open" in run.stderr


def test_wrong_words(file):
    run = run_gdb(
        [], ["goref close", f"goref open '{file}' --json", "goref close now",
             f"goref open '{file}' frobnicate", "goref open",
             f"goref open '{file}' scan --nonsense", "goref scan --nonsense",
             f"goref open '{file}' --top many", "goref scan --json"]
    )  # fmt: skip
    said = run.error_lines()
    for line, word in zip(
        said,
        ["no file is open: `goref open FILE' opens one", "takes no argument",
         "no verb `frobnicate'", "no FILE given", "--nonsense", "--nonsense",
         "many"],
        strict=True,
    ):  # fmt: skip
        assert word in line, said
    assert of_file(run, 8) == str(file)


def test_what_cannot_be_opened(file, other, rest, tmp_path):
    """The target that was looked at before stays."""
    cut = tmp_path / "cut.goref"
    cut.write_bytes(file.read_bytes()[:2000])
    run = run_goref(
        rest,
        ["goref open /nowhere", "goref scan --json",
         f"goref open '{file}' --json", f"goref open {cut}",
         f"goref open {rest.core}", "goref scan --json"],
    )  # fmt: skip
    said = run.error_lines()
    assert len(said) == 3, said
    assert "/nowhere: No such file or directory" in said[0]
    assert str(cut) in said[1]
    assert "is a core, not a file of `goref save'" in said[2]
    assert (of_file(run, 1), of_file(run, 5)) == (None, str(file))


def test_a_file_that_goes(file, other, tmp_path):
    """Deleted, it is an error in one line; written anew, it is read anew."""
    path = tmp_path / "heap.goref"
    shutil.copy(file, path)
    run = run_gdb(
        [],
        [f"goref open {path} --json", f"shell rm {path}", "goref scan",
         "goref histogram --json", f"shell cp {other} {path}",
         "goref scan --json", "goref close", f"goref open {path} scan --json",
         f"shell cp '{file}' {path}.new; mv {path}.new {path}",
         f"goref open {path} scan --json"],
    )  # fmt: skip
    gone = f"goref: {path}: No such file or directory"
    assert run.error_lines() == [gone] * 2
    for number, expected in ((5, other), (7, other), (9, file)):
        document = run.json(number)
        assert document["target"]["file"] == str(path)
        assert document["reached"] == told(expected)["reached"]


def test_another_folder(file):
    """gdb's `cd` does not change which file is open."""
    run = run_gdb(
        [], [f"cd {file.parent}", f"goref open '{file.name}' --json", "cd /",
             "goref scan --json", f"goref open '{file}' scan --json"]
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert [of_file(run, i) for i in (1, 3, 4)] == [str(file)] * 3


def test_difference(file, other, rest):
    """NEW is the open file; else it is what gdb has."""
    run = run_goref(
        rest,
        [f"goref diff {other} --json", f"goref open '{file}' --json",
         f"goref diff {other} --json", f"goref diff {other} {other}",
         "goref scan --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    for number, new in ((0, [rest.exe, rest.core]), (2, [file])):
        done = run_cli(["diff", other, *new, "--json"])
        assert lasting(run.json(number)) == lasting(json.loads(done.stdout))
    # The command names both sides. The open file is not one of them.
    assert str(file) not in run.parts[3]
    assert lasting(run.json(4)) == told(file)


def test_what_gdb_has_may_change_meanwhile(farm, file):
    """A scan of before is not taken for one of the changed program."""
    skip_if(attach_reason())
    live = farm.target("roots", CENTRAL, "live")
    word = f"{{long}}{next(iter(live.places.values()))}"
    run = run_goref(
        live,
        ["python import goref; heap = goref.heap()", "goref scan --json",
         f"goref open '{file}' --json", "python opened = goref.heap()",
         "set language c", f"set var {word} = {word}",
         "python print(heap.is_valid(), opened.is_valid())",
         "goref scan --json", "goref close",
         "python print(heap == goref.heap(), opened.is_valid())",
         "goref scan --json"],
    )  # fmt: skip
    assert run.rc == 0 and not run.error_lines(), run.stderr
    assert run.parts[6] == run.parts[9] == "False True\n"
    assert of_file(run, 7) == str(file)
    assert run.json(10)["target"]["pid"] == live.process.pid
    assert run.json(10)["reached"] == run.json(1)["reached"]


def test_completion(terminal, file, tmp_path):
    """Files, then verbs, then what the verb takes; and the variables of the
    file that is open."""
    (tmp_path / "heap-of-that-name").touch()
    gdb = terminal()
    for begin, whole in (
        (f"goref open {tmp_path}/heap-of", "heap-of-that-name"),
        ("goref open FILE histo", "FILE histogram"),
        ("goref open FILE scan --max-d", "scan --max-depth"),
        ("goref open FILE scan --attribution f", "--attribution first"),
        ("goref clo", "goref close"),
    ):
        shown = gdb.complete(begin).replace("\n", "")
        assert whole in shown, shown
    begin, whole = "goref why main.truthL", "main.truthLine"
    assert whole not in gdb.complete(begin)
    gdb.run(f"goref open '{file}'")
    assert whole in gdb.complete(begin)
    gdb.run("goref close")
    assert whole not in gdb.complete(begin)


def test_ctrl_c(terminal, farm, tmp_path):
    """It ends a question; the file stays open, and the next answer is whole."""
    heap = tmp_path / "heap.goref"
    save(farm.target("counter", CENTRAL, args=("3000000",)), heap)
    gdb = terminal()
    gdb.run(f"goref open {heap} scan")
    gdb.child.sendline(f"goref open {heap}")
    gdb.child.expect("until `goref close'")
    gdb.settle()
    rng = random.Random(5)
    for depth in range(100, 105):
        # Another depth each time: a walk that was finished is kept.
        gdb.child.sendline(f"goref scan --max-depth {depth}")
        assert comes(lambda: "R" in states_of(gdb.child.pid))
        some_moment(lambda: "R" in states_of(gdb.child.pid), rng)
        gdb.child.sendcontrol("c")
        gdb.settle()
    text = gdb.run("goref scan --top 5")
    assert f"{heap}: core" in text and "main.chain" in text
    assert "PARTIAL" not in text
    gdb.run("goref close")
    assert NO_PROGRAM in gdb.run("goref scan")

# SPDX-License-Identifier: Apache-2.0
"""Options that make no sense are refused before anything is looked at: no
process is stopped for them, and no file is read. All refusals are here."""

import pytest

from asking import run_goref
from session import one_line, run_cli, run_gdb
from targets import attach_reason, skip_if
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")
USAGE, FAILED = 2, 1

# The words of a question, a part of the answer, and its status. FILE can be
# written, NOWHERE cannot.
WRONG = [
    ("histogram --by site --retained", "--retained goes with other", USAGE),
    ("histogram --by site --exact main.T", "with --by type", USAGE),
    ("histogram --by site,root --garbage", "it has no site,root", USAGE),
    ("histogram --by root --garbage", "it has no root", USAGE),
    ("histogram --garbage --retained", "it has no retained size", USAGE),
    ("histogram --garbage --by field", "it has no field", USAGE),
    ("histogram --exact main.T --by root", "goes with --by type", USAGE),
    ("histogram --filter (", "not a regular expression: (", USAGE),
    ("histogram --by site --filter (", "not a regular expression: (", USAGE),
    ("histogram --by site --weight pointers", "bytes of samples", USAGE),
    ("histogram --by holder --weight pointers", "no C memory", USAGE),
    ("scan --sites -o FILE --weight pointers", "leave out --weight", USAGE),
    ("dominators --min-bytes 1M --weight pointers", "not in words", USAGE),
    ("suspects --fail-above 1M --weight pointers", "not in words", USAGE),
    ("scan --weight words", "--weight", USAGE),
    ("scan --sites", "add --out", USAGE),
    ("scan --sites -o FILE main.list", "about the whole program", USAGE),
    ("scan --sites -o FILE --view dominators", "give one of them", USAGE),
    ("scan --sites -o FILE --per-goroutine", "nearest root", USAGE),
    ("scan --sites -o FILE --attribution first", "nearest root", USAGE),
    ("scan --view dominators", "--view is about the profile", USAGE),
    ("scan --format dot", "--format is about the profile", USAGE),
    ("scan -o FILE --view dominators main.list", "whole program", USAGE),
    ("scan --label a=b", "--label is about the profile", USAGE),
    ("scan --root-labels", "--root-labels is about the profile", USAGE),
    ("scan -o FILE --label bytes=1", "goref itself writes bytes", USAGE),
    ("scan -o FILE --format dot --time 5", "no place in the format", USAGE),
    ("scan -o FILE --time soon", "not a time: soon", USAGE),
    ("scan -o FILE --format svg", "svg", USAGE),
    ("scan --no-such-option", "--no-such-option", USAGE),
    ("scan --maxdepth 3", "(is it --max-depth?)", USAGE),
    ("scan -attributoin first", "(is it --attribution?)", USAGE),
    ("scan --attribution last", "last", USAGE),
    ("scan --max-depth many", "many", USAGE),
    ("scan --max-depth -3", "3", USAGE),
    ("scan --top", "top", USAGE),
    ("scan -o NOWHERE", "cannot write", FAILED),
    ("profile goroutine", "--out FILE or --text", USAGE),
    ("profile cpu -o FILE", "no profile cpu", USAGE),
    ("profile heap", "add --out FILE", USAGE),
    ("profile heap mutex -o FILE", "one profile at a time", USAGE),
    ("profile heap --text -o FILE", "--text is for goroutine", USAGE),
    ("profile block --now -o FILE", "--now is for heap", USAGE),
    ("profile goroutine --text --json", "give one of them", USAGE),
    ("profile heap -o FILE --label a=1 --label a=2", "given twice", USAGE),
    ("profile goroutine --now -o FILE", "--now is for heap", USAGE),
    ("profile goroutine --text -o FILE --time 1", "text", USAGE),
    ("profile heap -o FILE --label a", "not a label: a", USAGE),
    ("profile heap -o FILE --label bytes=1", "itself writes", USAGE),
    ("profile goroutine --text -o NOWHERE", "cannot write", FAILED),
    ("profile heap -o NOWHERE", "cannot write", FAILED),
    ("why --type main.T main.list", "takes no expression", USAGE),
    ("why --type main.T --all-roots", "takes no expression", USAGE),
    ("why --attribution last 0xc000000000", "last", USAGE),
    ("waste --checks pools", "there is no pools (is it pool?)", USAGE),
    ("waste --checks pool,", "a name is missing", USAGE),
    ("waste --min-share 101%", "must be at most 100 %", USAGE),
    ("waste --min-share some", "not a percentage: some", USAGE),
    ("waste --top many", "many", USAGE),
    ("waste main.list", "main.list", USAGE),
    ("verify --max-differences some", "some", USAGE),
    ("verify main.users", "main.users", USAGE),
    ("objects --addresses more", "more", USAGE),
    ("objects --sort size", "size", USAGE),
    ("objects --addresses --sort bytes", "no option but --out", USAGE),
    ("objects --type (", "not a regular expression: (", USAGE),
    ("objects -o NOWHERE", "cannot write", FAILED),
    ("dominators --depth 65", "at most 64 levels", USAGE),
    ("dominators --depth -1", "depth", USAGE),
    ("goroutine one", "not the number of a goroutine: one", USAGE),
    ("goroutine 1 frame x", "not the number of a frame: x", USAGE),
    ("goroutine 1 frame", "a goroutine has no frame; try bt, ", USAGE),
    ("goroutine 1 wait 2", "a goroutine has no wait 2; try", USAGE),
    ("goroutine 1 args", "a goroutine has no args", USAGE),
    ("goroutines --with color red", "goroutines have no color", USAGE),
    ("goroutines --without user me", "takes no text", USAGE),
    ("goroutines --with state", "which text?", USAGE),
    ("goroutines --exec frames", "frames", USAGE),
    ("goroutines --group state text", "takes no text", USAGE),
    ("goroutines --group color", "goroutines have no color", USAGE),
    ("waits 1 2", "one goroutine at most", USAGE),
    ("waits one", "not the number of a goroutine: one", USAGE),
    ("leaks --ignore every:main.f", "not a pattern: every:main.f", USAGE),
    ("leaks --ignore-file NOWHERE", "cannot read", FAILED),
    ("leaks --baseline NOWHERE", "cannot read", FAILED),
    ("leaks --write-baseline NOWHERE", "cannot write", FAILED),
    ("leaks --write-baseline FILE --fail-on-leaks", "leave out", USAGE),
    ("hung --sched --fail-on-leaks", "leave out --fail-", USAGE),
    ("export FILE", "give --format", USAGE),
    ("export --format hprof", "FILE", USAGE),
    ("export --format tiff FILE", "tiff", USAGE),
    ("export --format hprof FILE FILE", "give one FILE", USAGE),
    ("export --format hprof NOWHERE", "cannot write", FAILED),
    ("save FILE FILE", "takes one FILE", USAGE),
    ("save NOWHERE", "cannot write", FAILED),
    ("--verify --label a=b", "no meaning with --verify", USAGE),
]
ONLY_OUTSIDE_GDB = [
    ("object", "EXPRESSION given", USAGE),
    ("why", "no ADDRESS", USAGE),
    ("goroutine", "no ID", USAGE),
    ("profile", "no PROFILE given", USAGE),
    ("report FILE FILE", "one FILE, not", USAGE),
    ("report NOWHERE", "cannot write", FAILED),
]

# Verbs that open what their operands name: here, nothing.
ALONE = [
    ("diff none none --html FILE --by root", "a page has all tables", USAGE),
    ("diff none none --html FILE --top 5", "--top is about tables", USAGE),
    ("diff none none --html FILE --out FILE", "name one file", USAGE),
    ("diff none none --html NOWHERE", "cannot write", FAILED),
    ("diff none none --html -", "cannot write to standard output", FAILED),
    ("diff none none --html FOLDER", "cannot write", FAILED),
]

# Only a look at the target says that these make no sense.
AFTERWARDS = [
    ("why main.users[x]", "an index is a number", FAILED),
    ("why *main.users", "fields (main.cache.head)", FAILED),
    ("why main.nothing", "main.nothing", FAILED),
    ("why 0xzz", "0xzz", FAILED),
    ("why *(*main.Leaf)(", "main.Leaf", FAILED),
    ("why --type []main.No", "there is no type main.No", FAILED),
    ("scan main.nothing", "main.nothing", FAILED),
    ("dominators main.nothing", "no package variable", FAILED),
    ("dominators 0x1000", "is not a reached object of the heap", FAILED),
    ("dominators --timeout 0.000001", "timed out", FAILED),
    ("dominators --memory-limit 1k", "memory", FAILED),
    (
        "histogram --exact main.No",
        "no type main.No; `goref histogram'",
        FAILED,
    ),
    ("goroutine 987654321", "no goroutine 987654321", FAILED),
    ("goroutine 987654321 wait", "no goroutine 987654321", FAILED),
    ("goroutine 1 frame 1000", "goroutine 1 has no call 1000", USAGE),
]


def filled(words, tmp_path):
    places = {"FILE": tmp_path / "file", "NOWHERE": tmp_path / "no" / "file",
              "FOLDER": tmp_path}  # fmt: skip
    return [str(places.get(word, word)) for word in words.split()]


@pytest.mark.parametrize("words, text, status", WRONG + ONLY_OUTSIDE_GDB)
def test_process_goes_on(farm, words, text, status, tmp_path):
    """One line alone: whoever stops a process says so before."""
    skip_if(attach_reason())
    target = farm.target("stacks", CENTRAL, "live")
    asked = filled(words, tmp_path)
    done = run_goref("attach", target.process.pid, *asked)
    one_line(done, status, text)
    assert not done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("words, text, status", ALONE)
def test_nothing_is_opened(words, text, status, tmp_path):
    """Neither of two heaps that are not there is mentioned."""
    done = run_cli(filled(words, tmp_path))
    one_line(done, status, text)
    assert not done.stdout and not list(tmp_path.iterdir())


@pytest.mark.parametrize("words, text, status", AFTERWARDS)
def test_core(farm, words, text, status):
    target = farm.target("rest", CENTRAL)
    done = run_goref("core", target.exe, target.core, *words.split())
    one_line(done, status, text)
    assert not done.stdout


def test_before_the_target_is_there(tmp_path):
    """In gdb, no program has to be there to say that options are wrong."""
    rows = [row for row in WRONG if not row[0].startswith("-")]
    asked = [" ".join(filled(words, tmp_path)) for words, _, _ in rows]
    run = run_gdb([], [f"goref {words}" for words in asked])
    lines = run.error_lines()
    assert len(lines) == len(rows), lines
    for line, (words, text, _) in zip(lines, rows):
        assert text in line, (words, line)
    assert not list(tmp_path.iterdir())

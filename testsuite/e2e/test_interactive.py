# SPDX-License-Identifier: Apache-2.0
"""gdb on a terminal: completion, Ctrl-C, empty lines, paging."""

import re
import sys

import pytest

from session import TOP
from toolchains import Variant
from waiting import comes, has_file_in

sys.path.insert(0, str(TOP / "python"))

from goref.verbs import VERBS

pytest.importorskip("pexpect")

from terminal import GENEROUS, PROMPT, plain

CENTRAL = Variant("go1.24", "default")


@pytest.fixture
def on_core(terminal, farm):
    return terminal(farm.target("rest", CENTRAL).gdb_args)


def test_help(terminal):
    text = terminal().run("help goref")
    assert "scan" in text and "why" in text


def test_complete_subcommands(terminal):
    shown = terminal().complete("goref ")
    assert "scan" in shown and "why" in shown


def test_complete_unique_subcommand(terminal):
    assert "goref scan" in terminal().complete("goref sc")


@pytest.mark.parametrize(
    "begin, whole",
    [
        ("goref scan --max-d", "goref scan --max-depth"),
        ("goref scan --js", "goref scan --json"),
        ("goref scan -js", "goref scan -json"),
        ("goref why --js", "goref why --json"),
        ("goref scan --attribution f", "goref scan --attribution first"),
        ("goref scan --per", "goref scan --per-goroutine"),
        ("goref verify --max", "goref verify --max-differences"),
        ("goref objects -addr", "goref objects -addresses"),
        ("goref over", "goref overview"),
        ("goref overview --js", "goref overview --json"),
        ("goref overview -mem", "goref overview -memory-limit"),
        ("goref why --attribution n", "goref why --attribution nearest"),
        ("goref verify -tim", "goref verify -timeout"),
    ],
)
def test_complete_options(terminal, begin, whole):
    shown = terminal().complete(begin)
    assert whole in shown, shown
    assert "---" not in shown


def test_complete_all_options(terminal):
    """Those of the table, and no others."""
    shown = terminal().complete("goref overview --")
    names = {option.name for option in VERBS["overview"].options}
    listed = shown.splitlines()[1:-1]  # dashes are a border of words to gdb
    assert {w.lstrip("-") for line in listed for w in line.split()} == names | {
        "help"
    }


def test_complete_files(terminal, tmp_path):
    (tmp_path / "one-folder-of-that-name").mkdir()
    shown = terminal().complete(f"goref scan --out {tmp_path}/one-fol")
    assert "one-folder-of-that-name" in shown.replace("\n", "")


def test_empty_line_does_not_repeat(on_core):
    first = on_core.run("goref scan --top 3")
    assert "main." in first
    assert "main." not in on_core.run("")
    assert on_core.run("").strip() == ""


def test_scan_is_kept_for_the_same_stop(on_core, farm):
    """The second question needs no second look at the target; both see the
    same heap."""
    one = re.findall(r"\d[\d,]{4,}", on_core.run("goref scan --top 1"))
    two = re.findall(r"\d[\d,]{4,}", on_core.run("goref scan --top 1"))
    assert one and one[0] == two[0]


def test_scan_is_dropped_with_its_core(on_core, farm):
    assert "main.sessions" in on_core.run("goref scan --top 50")
    on_core.run("core-file")
    text = on_core.run("goref scan")
    assert "main.sessions" not in text
    other = farm.target("shared", CENTRAL)
    on_core.run(f"file {other.exe}")
    on_core.run(f"core-file {other.core}")
    text = on_core.run("goref scan --top 50")
    assert "main.sHuge" in text
    assert "main.sessions" not in text


def test_paging(terminal, farm):
    """A long table stops at the end of the page, and q leaves it."""
    paged = terminal(farm.target("rest", CENTRAL).gdb_args, height=10)
    paged.child.sendline("goref scan --top 100")
    paged.child.expect("--Type <RET> for more")
    paged.child.sendline("q")
    paged.child.expect(PROMPT)
    assert "Traceback" not in plain(paged.child.before)
    assert "done" in paged.run("echo done\\n")


def test_paging_of_a_stream(terminal, farm):
    """A list of all objects is printed page by page, and q ends it."""
    paged = terminal(farm.target("rest", CENTRAL).gdb_args, height=10)
    paged.child.sendline("goref objects --addresses")
    for _ in range(2):
        paged.child.expect("--Type <RET> for more")
        paged.child.sendline("")
    paged.child.expect("--Type <RET> for more")
    paged.child.sendline("q")
    paged.child.expect(PROMPT)
    assert "Traceback" not in plain(paged.child.before)
    paged.run("set height 0")
    assert "verified: " in paged.run("goref verify")


def test_interrupt_of_a_stream(terminal, farm, tmp_path):
    """Ctrl-C ends a list; of a file there is all or nothing."""
    target = farm.target("counter", CENTRAL, args=("3000000",))
    busy = terminal(target.gdb_args)
    busy.run("goref verify")
    busy.child.sendline("goref objects --addresses")
    busy.child.expect("0xc0", timeout=GENEROUS)
    busy.child.sendcontrol("c")
    busy.settle()
    out = tmp_path / "objects.txt"
    busy.child.sendline(f"goref objects --addresses --out {out}")
    assert comes(
        lambda: has_file_in(busy.child.pid, tmp_path, 1) or out.exists()
    )
    busy.child.sendcontrol("c")
    busy.child.expect(PROMPT, timeout=GENEROUS)
    text = plain(busy.child.before)
    busy.settle()
    assert "Traceback" not in text
    assert not [p for p in tmp_path.iterdir() if p != out]
    # It may be done before it says so.
    was_written = out.exists()
    assert was_written or "3,000," not in text
    whole = tmp_path / "whole.txt"
    busy.run(f"goref objects --addresses --out {whole}")
    assert not was_written or out.read_bytes() == whole.read_bytes()


def test_interrupt_of_a_scan(terminal, farm):
    """Ctrl-C gives the prompt back, and the next scan is whole."""
    target = farm.target("counter", CENTRAL, args=("3000000",))
    busy = terminal(target.gdb_args)
    for look in 1, 2:
        # Another depth each time: a walk that was finished is kept.
        command = f"goref scan --max-depth {100 + look}"
        assert busy.interrupt_at(look, command)
        busy.child.expect(PROMPT, timeout=GENEROUS)
        text = plain(busy.child.before)
        assert "Traceback" not in text
        assert "PARTIAL" in text or "main.chain" not in text
    assert "main.chain" in busy.run("goref scan --top 5")


def test_interrupt_of_a_live_scan(terminal, farm):
    """The target stays as it was: stopped under gdb, then going on."""
    target = farm.target("counter", CENTRAL, "live", args=("3000000",))
    busy = terminal(target.gdb_args)
    assert busy.interrupt_at(1, "goref scan")
    busy.child.expect(PROMPT, timeout=GENEROUS)
    busy.settle()
    assert "main.chain" in busy.run("goref scan --top 5")
    busy.run("detach")
    for _ in range(3):
        target.process.read_line(timeout=GENEROUS)


def interrupted_in_the_walk(busy, answer):
    """Ctrl-C in the walk; what was printed after the answer."""
    assert busy.interrupt_at(1, "goref scan", is_in_walk=True)
    busy.child.expect(r"\(y or n\) ", timeout=GENEROUS)
    busy.child.sendline(answer)
    busy.child.expect(PROMPT, timeout=GENEROUS)
    return plain(busy.child.before)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_interrupt_offers_what_there_is(terminal, farm, answer):
    target = farm.target("counter", CENTRAL, args=("3000000",))
    busy = terminal(target.gdb_args)
    busy.run("set confirm on")
    text = interrupted_in_the_walk(busy, answer)
    assert "Traceback" not in text
    if answer == "y":
        assert "PARTIAL: interrupted: sizes are lower bounds" in text
        assert "not reached" in text
    else:
        assert "PARTIAL" not in text and "allocated" not in text
    # The next one is whole: no part of a result is kept.
    whole = busy.run("goref scan --top 5")
    assert "PARTIAL" not in whole and "main.chain" in whole
    busy.run("set confirm off")


def test_progress_has_steps_and_time_left(terminal, farm):
    target = farm.target("counter", CENTRAL, args=("3000000",))
    busy = terminal(target.gdb_args)
    busy.run("python import goref.progress as p")
    busy.run("python p._FIRST_S = p._STEP_S = p._SURE_S = 0.001")
    text = busy.run("goref overview")
    found = re.search(
        r"goref: [\d.]+ s, walking the heap, \d+ % of 3\.0 M objects, "
        r"about \d+ s left in this step",
        text,
    )
    assert found, text
    for step in "collecting references", "computing dominators":
        assert re.search(rf"s, {step}, \d+ %", text), text

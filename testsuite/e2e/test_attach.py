# SPDX-License-Identifier: Apache-2.0
"""`goref attach`: it copies, lets go, and refuses what would take too long."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from counters import BUSY, CENTRAL, attach_cli, chain
from counters import too_short, tracer_of, truth_of
from session import run_cli, run_gdb
from targets import attach_reason, skip_if
from toolchains import Variant, variants


@variants("default", "pie", "nodwarf")
def test_attach_copies_and_lets_go(counting, variant):
    """What was copied is one moment of the process, which went on."""
    process, counter = counting(variant, BUSY)
    done = run_cli(["attach", process.pid, "--json", "--why", "main.chain"])
    if variant.flavour != "nodwarf":
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reachable"]
    done = run_cli(["attach", process.pid, "--json"])
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    if variant.flavour == "nodwarf":
        assert report["reached"]["objects"] >= truth_of(process)
    else:
        assert chain(report) == truth_of(process)
    assert re.search(r"about .* to copy, .*memory needed", done.stderr)
    assert re.search(r"stood still for .* and goes on", done.stderr)
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def build_id_of(file):
    notes = subprocess.run(
        ["readelf", "-n", file], capture_output=True, text=True, check=True
    )
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)[1]


def test_no_debug_file_is_read_while_it_stands_still(counting, tmp_path):
    """libc's, if it is installed, is what gdb would take longest to read."""
    process, counter = counting(Variant("go1.24", "external"))
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    libc = re.search(r"/\S*/libc\.so\S*", maps)[0]
    name = build_id_of(libc)
    debug = tmp_path / ".build-id" / name[:2] / f"{name[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", libc, debug], check=True)
    files = "python print(sum(bool(o.owner) for o in gdb.objfiles()))"
    for attach, count in (
        (f"attach {process.pid}", 1),
        (f"python from goref import cli; it = cli.stopped({process.pid}); "
         "it.__enter__()", 0),
    ):  # fmt: skip
        run = run_gdb(
            [], [f"set debug-file-directory {tmp_path}", attach, files]
        )
        assert run.rc == 0, run.stderr
        assert int(run.parts[2].split()[0]) == count, run.stdout
    assert counter.goes_on()


def test_attach_copies_the_same_by_two_threads(counting):
    process, counter = counting(CENTRAL, BUSY)
    chains = []
    for threads in ("1", "2"):
        done = run_cli(["attach", process.pid, "--json", "--threads", threads])
        assert done.returncode == 0, done.stderr
        chains.append(chain(json.loads(done.stdout)))
    assert chains == [truth_of(process)] * 2
    assert counter.goes_on()


def test_attach_refuses_a_bad_number_of_threads(counting):
    process, _ = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--threads", "17"])
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    assert "not a number of threads: 17 (1 to 16)" in done.stderr


def test_attach_refuses_a_long_pause(counting):
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--max-pause", "1"])
    assert done.returncode == 1, done.stdout
    last = done.stderr.splitlines()[-1]
    assert "not attached" in last and "--max-pause 1" in last
    assert not done.stdout
    assert counter.goes_on()


def test_attach_gives_up_when_it_takes_too_long(counting):
    """The estimate was wrong: within a millisecond nothing can be copied."""
    process, counter = counting(CENTRAL, BUSY)
    run = run_gdb([process.exe], [too_short(process.pid), "info inferiors"])
    said = run.stderr + run.stdout
    assert "given up, --max-pause is 1:" in said and "goes on" in said
    assert f"process {process.pid}" not in run.parts[1]
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


# One for the answer, and one for each copy that is searched (scanner/live.c).
MOST_STOPS = 5


@variants("stripped")
def test_attach_to_what_changes_while_it_is_searched(farm, variant, tmp_path):
    """Without debug information the heap and the scheduler are known by what
    must hold of them, and of a busy process it does not at all times."""
    skip_if(attach_reason())
    process = farm.process("churn", variant)
    for _ in range(10):
        done = run_cli(
            ["attach", process.pid, "--json"],
            env={"XDG_CACHE_HOME": str(tmp_path / "none")},
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reached"]["objects"] > 1000
        assert tracer_of(process.pid) == 0
        # What does not fit together is read again, which nearly always
        # helps; else it is copied for the search.
        stops = done.stderr.count("stood still")
        assert 1 <= stops <= MOST_STOPS


# A scan that says of a running process that its runtime was not found yet.
UNSETTLED = """python
import gdb
from goref import cli, live, native
made, events = native.load().Scan, []
class Scan:
    is_new = True
    def __init__(self, **arguments):
        self.scan = made(**arguments)
        self.note("search")
    def note(self, what):
        events.append((what, gdb.selected_inferior().pid))
    def is_unsettled(self):
        is_new, self.is_new = self.is_new, False
        return is_new or self.scan.is_unsettled()
    def copy_searched(self):
        self.note("copy")
        LATE
        self.scan.copy_searched()
    def search_copy(self):
        self.note("search copy")
        self.scan.search_copy()
    def __getattr__(self, name):
        return getattr(self.scan, name)
native.load().Scan = Scan
try:
    live.look(PID, lambda: cli.stopped(PID), LIMIT, None, 1 << 20, None)
finally:
    print("events", events)
"""


def unsettled(process, folder, limit=None, late="pass"):
    """Look at a process with a scan that is not settled at first, then run
    `goref scan'. The code in late runs before the copy."""
    script = folder / "unsettled.gdb"
    text = UNSETTLED.replace("PID", str(process.pid)).replace("LATE", late)
    script.write_text(text.replace("LIMIT", str(limit)) + "end\n")
    return run_gdb(
        [process.exe],
        [f"source {script}", "goref scan --json"],
        env={"XDG_CACHE_HOME": str(folder)},
    )


COPIES_FIRST = "to find the runtime, goref first has to copy"


@variants("stripped")
def test_attach_searches_a_copy(farm, variant, tmp_path):
    """While the process stands still, nothing is searched."""
    skip_if(attach_reason())
    process = farm.process("churn", variant)
    run = unsettled(process, tmp_path)
    assert COPIES_FIRST in run.stderr
    events = ast.literal_eval(run.parts[0].partition("events ")[2])
    assert events[0] == ("search", 0)
    # The next copy has what the search missed in the one before.
    copies = len(events) // 2
    assert 1 <= copies <= 4
    assert events[1:] == [("copy", process.pid), ("search copy", 0)] * copies
    assert run.stderr.count("and goes on") == copies + 1
    assert run.json(1)["reached"]["objects"] > 1000
    assert tracer_of(process.pid) == 0


def test_attach_copies_nothing_for_too_long(counting, tmp_path):
    process, counter = counting(CENTRAL, BUSY)
    run = unsettled(process, tmp_path, limit=1)
    assert COPIES_FIRST in run.stderr
    assert "not attached" in run.stderr and "--max-pause 1" in run.stderr
    assert "events [('search', 0)]" in run.stdout
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_gives_up_a_copy_that_takes_too_long(counting, tmp_path):
    process, counter = counting(CENTRAL, BUSY)
    run = unsettled(process, tmp_path, 600_000, "raise TimeoutError")
    assert "given up" in run.stderr and "and goes on" in run.stderr
    assert "search copy" not in run.stdout
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_refuses_for_want_of_memory(counting):
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--memory-limit", "1M"])
    assert done.returncode == 1, done.stdout
    last = done.stderr.splitlines()[-1]
    assert "not enough memory" in last and "limit is 1.0 MB" in last
    assert counter.goes_on()


# A line of progress at every step.
CHATTY = """python
from goref import cli, live, progress
progress._FIRST_S = progress._PLAIN_STEP_S = 0
said = []
class Chatty(live._Deadline):
    def _amount(self, *_):
        said.append(gdb.selected_inferior().pid)
        return ""
it = live.Look(PID, lambda: cli.stopped(PID), Chatty("on"), None, None)
it.copy()
print("said", set(said))
"""


def test_nothing_is_printed_while_it_stands_still(counting, tmp_path):
    """A terminal that takes nothing (Ctrl-S) would hold the process up."""
    process, counter = counting(CENTRAL, BUSY)
    script = tmp_path / "chatty.gdb"
    script.write_text(CHATTY.replace("PID", str(process.pid)) + "end\n")
    run = run_gdb([process.exe], [f"source {script}"])
    assert "said {0}" in run.stdout, run.stdout + run.stderr
    assert counter.goes_on()


# What is said before is true of a smaller process.
GROWN = """python
from goref import cli, live
capture = live.Look._capture
def grown(self):
    self.scan.set_memory_limit(1 << 20)
    self.filler = b"x" * (64 << 20)
    capture(self)
live.Look._capture = grown
live.look(PID, lambda: cli.stopped(PID), None, 1 << 30, 1 << 20, None)
"""


def test_attach_gives_up_for_want_of_memory(counting, tmp_path):
    process, counter = counting(CENTRAL, BUSY)
    script = tmp_path / "grown.gdb"
    script.write_text(GROWN.replace("PID", str(process.pid)) + "end\n")
    run = run_gdb([process.exe], [f"source {script}"])
    assert "not enough memory: more than" in run.stderr, run.stderr
    assert "the limit is 1.0 MB" in run.stderr
    assert run.stderr.count("and goes on") == 1
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_gives_nodes_for_memory(counting):
    """The tree has fewer nodes before the scan is refused."""
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--memory-limit", "1M"])
    # What the look has itself varies by a huge page or two.
    least = float(re.search(r": ([\d.]+) MB are needed", done.stderr)[1])
    most = float(re.search(r"up to ([\d.]+) MB of memory", done.stderr)[1])
    enough = f"{(least + most) / 2:.1f}M"
    done = run_cli(["attach", process.pid, "--memory-limit", enough, "--json"])
    assert done.returncode == 0, done.stderr
    assert "the tree is limited to" in done.stderr
    assert chain(json.loads(done.stdout)) == truth_of(process)

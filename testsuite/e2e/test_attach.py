# SPDX-License-Identifier: Apache-2.0
"""`goref attach`: it copies, lets go, and refuses what would take too long."""

import ast
import json
import re

import pytest

from counters import BUSY, CENTRAL, TOO_SHORT, chain, tracer_of, truth_of
from hosts import lines_of, run_host
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import variants


@pytest.fixture
def churning(farm):
    """churning(variant): a process that works all the time; it ends with the
    test, and works beside no other."""
    skip_if(attach_reason())
    yield lambda variant: farm.process("churn", variant)
    farm.forget("churn")


@variants("default", "pie", "nodwarf")
def test_attach_copies_and_lets_go(counting, variant):
    """The copy is one moment of the process, which went on."""
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


# Files that are open when the process is to be stopped are all it needs then.
CUT_OFF = """
from goref import live
in_time, added = live.Look._in_time, []
def cut_off(self, work, begin):
    def watch(event, arguments):
        if event == "open" and not str(arguments[0]).startswith("/proc/"):
            added.append(arguments[0])
    sys.addaudithook(lambda *words: begin_s and watch(*words))
    begin_s = True
    before = {os.readlink(f"/proc/self/fd/{n}") for n in files()}
    try:
        return in_time(self, work, begin)
    finally:
        begin_s = False
        now = {os.readlink(f"/proc/self/fd/{n}") for n in files()}
        added.extend(p for p in now - before if not p.startswith("/proc/"))
def files():
    return [n for n in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{n}")]
live.Look._in_time = cut_off
goref.attach(PID)
say(added)
"""


def test_no_file_is_opened_while_it_stands_still(counting):
    """Symbols and debug files are read before: that may take long."""
    process, counter = counting(CENTRAL, BUSY)
    assert lines_of(process.pid, CUT_OFF) == ["[]"]
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
    status, _, said = run_host(process.pid, TOO_SHORT)
    assert status == 1
    assert "given up, --max-pause is 1:" in said and "goes on" in said
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


# One for the answer, and one for each copy that is searched (scan/live.c).
MOST_STOPS = 5


@variants("stripped")
def test_attach_to_what_changes_while_it_is_searched(
    churning, variant, tmp_path
):
    """Without debug information the heap and the scheduler are known by what
    must hold of them, and of a busy process it does not at all times."""
    process = churning(variant)
    for _ in range(10):
        done = run_cli(
            ["attach", process.pid, "--json"],
            env={"XDG_CACHE_HOME": str(tmp_path / "none")},
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reached"]["objects"] > 1000
        assert tracer_of(process.pid) == 0
        # Words that do not fit together are read again, which nearly always
        # helps; else it is copied for the search.
        stops = done.stderr.count("stood still")
        assert 1 <= stops <= MOST_STOPS


# A scan that says of a running process that its runtime was not found yet.
UNSETTLED = """
from goref import native
made, events = native.load().Scan, []
class Scan:
    is_new = True
    def __init__(self, **arguments):
        self.scan = made(**arguments)
        self.note("search")
    def note(self, what):
        events.append((what, bool(tracer())))
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
    heap = goref.attach(PID, max_pause_ms=LIMIT)
    say("objects", sum(1 for _ in heap.objects()))
finally:
    say("events", events)
"""


def unsettled(process, limit=None, late="pass"):
    """Look at a process with a scan that is not settled at first. The code in
    late runs before the copy."""
    code = UNSETTLED.replace("LATE", late).replace("LIMIT", str(limit))
    return run_host(process.pid, code)


COPIES_FIRST = "to find the runtime, goref first has to copy"


@variants("stripped")
def test_attach_searches_a_copy(churning, variant):
    """While the process stands still, nothing is searched."""
    process = churning(variant)
    status, out, err = unsettled(process)
    assert status == 0, err
    assert COPIES_FIRST in err
    objects, events = out.splitlines()
    events = ast.literal_eval(events.partition("events ")[2])
    assert events[0] == ("search", False)
    # The next copy has what the search missed in the one before.
    copies = len(events) // 2
    assert 1 <= copies <= 4
    assert events[1:] == [("copy", True), ("search copy", False)] * copies
    assert err.count("and goes on") == copies + 1
    assert int(objects.split()[1]) > 1000
    assert tracer_of(process.pid) == 0


def test_attach_copies_nothing_for_too_long(counting):
    process, counter = counting(CENTRAL, BUSY)
    status, out, err = unsettled(process, limit=1)
    assert status == 1 and COPIES_FIRST in err
    assert "not attached" in err and "--max-pause 1" in err
    assert "events [('search', False)]" in out
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_gives_up_a_copy_that_takes_too_long(counting):
    process, counter = counting(CENTRAL, BUSY)
    status, out, err = unsettled(process, 600_000, "raise TimeoutError")
    assert status == 1
    assert "given up" in err and "and goes on" in err
    assert "search copy" not in out
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_refuses_for_want_of_memory(counting):
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--memory-limit", "1M"])
    assert done.returncode == 1, done.stdout
    last = done.stderr.splitlines()[-1]
    assert "not enough memory" in last and "limit is 1.0 MiB" in last
    assert counter.goes_on()


# A line of progress at every step.
CHATTY = """
from goref import front, live, progress
front.current.settings["progress"] = "on"
progress._FIRST_S = 0
said = []
class Chatty(live.Deadline):
    def _show(self, *_):
        said.append(bool(tracer()))
live.Deadline = Chatty
goref.attach(PID)
say("said", set(said))
"""


def test_nothing_is_printed_while_it_stands_still(counting):
    """A terminal that takes nothing (Ctrl-S) would hold the process up."""
    process, counter = counting(CENTRAL, BUSY)
    assert lines_of(process.pid, CHATTY) == ["said {False}"]
    assert counter.goes_on()


# The estimate is that of a smaller process.
GROWN = """
from goref import live
capture = live.Look._capture
def grown(self):
    self.scan.set_memory_limit(1 << 20)
    self.filler = b"x" * (64 << 20)
    capture(self)
live.Look._capture = grown
goref.attach(PID)
"""


def test_attach_gives_up_for_want_of_memory(counting):
    process, counter = counting(CENTRAL, BUSY)
    status, _, err = run_host(process.pid, GROWN)
    assert status == 1
    assert "not enough memory: more than" in err, err
    assert "the limit is 1.0 MiB" in err
    assert err.count("and goes on") == 1
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_gives_nodes_for_memory(counting):
    """The tree has fewer nodes before the scan is refused."""
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--memory-limit", "1M"])
    # The memory of the look itself varies by a huge page or two.
    least = float(re.search(r": ([\d.]+) MiB are needed", done.stderr)[1])
    most = float(re.search(r"up to ([\d.]+) MiB of memory", done.stderr)[1])
    enough = f"{(least + most) / 2:.1f}M"
    done = run_cli(["attach", process.pid, "--memory-limit", enough, "--json"])
    assert done.returncode == 0, done.stderr
    assert "the tree is limited to" in done.stderr
    assert chain(json.loads(done.stdout)) == truth_of(process)


def test_not_at_idle_priority_while_it_stands_still(counting):
    """On a busy machine the process would wait as long as we do."""
    process, counter = counting(CENTRAL, BUSY)
    status, out, err = run_host(process.pid, POLICY)
    assert status == 0, err
    assert out.split() == ["5", "0", "5"]
    assert counter.goes_on()


# Only around the stop: on a busy machine, an idle look takes minutes.
POLICY = """
from contextlib import contextmanager
from goref import live
awake, capture = live.awake, live.Look._capture
def noted(self):
    say(os.sched_getscheduler(0))
    capture(self)
@contextmanager
def from_idle():
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    say(os.sched_getscheduler(0))
    with awake():
        yield
    say(os.sched_getscheduler(0))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
live.awake, live.Look._capture = from_idle, noted
goref.attach(PID)
"""

# SPDX-License-Identifier: Apache-2.0
"""Lists of the scheduler that lead to themselves, or that many lead into: a
scan takes about the steps of the whole one, counts a gap, and ends when poll
says so."""

import json
import re

import pytest

import mutate
import mutate_waits
from asking import SCANNER, run_scanner
from test_mutation import with_code
from test_owners import KINDS
from toolchains import RELEASES, Variant

# Only a scan that does not end takes so much processor time.
SECONDS = 300
# The rest of a damaged list, and the clock, in polls.
SPARE_POLLS = 1000
POLL_STEPS = 4096  # between two of them
NEWEST = Variant(RELEASES[-1], "default")


class Craft:
    """A core of the program `hung`, to be changed at its structures."""

    def __init__(self, target, path):
        self.target = target
        self.points = mutate.Points(SCANNER, target.exe, target.core)
        mutate.copy_sparse(target.core, path)
        self.path = path
        self.core = mutate.Core(path)
        self.spare = int(target.places["spare"], 16)
        self.spare_bytes = 4 << 20

    def at(self, name):
        return self.points.layout[name][0]

    def get(self, record, name):
        return self.core.u64(record + self.at(name))

    def put(self, record, name, value, size=8):
        self.core.put(record + self.at(name), value, size)

    def fill(self, word):
        """Nothing but this word in the room to spare."""
        words = word.to_bytes(8, "little") * (self.spare_bytes // 8)
        at = self.core.offset(self.spare)
        self.core.data[at : at + len(words)] = words

    def put_slice(self, slot):
        """A slice of all words there."""
        count = self.spare_bytes // 8
        for i, word in enumerate((self.spare, count, count)):
            self.core.put(slot + 8 * i, word)

    def waiting(self):
        """Each goroutine that waits, with its sudog."""
        for g in self.points.gs:
            sudog = self.get(g, "g.waiting")
            if sudog:
                yield g, sudog


def run(exe, core, *options):
    """Its end, and how often it polled."""
    done = run_scanner("--polls", *options, exe, core, max_seconds=SECONDS)
    polls = re.search(r"^polls: (\d+)$", done.stderr, re.M)
    assert polls, done.stderr
    return done, int(polls[1])


def scan(exe, core):
    """Polls, and what was found."""
    done, polls = run(exe, core)
    assert done.returncode == 0, done.stderr
    return polls, json.loads(done.stdout)


ROWS = {}


def row(what, count, gap):
    """So many goroutines wait for that; the gap that is counted."""

    def add(function):
        ROWS[function.__name__] = (what, count, gap, function)
        return function

    return add


@row("own", 2000, "broken_containers")
def queue_of_itself(craft):
    """Channels' queues whose sudogs lead to themselves. Without a buffer, a
    channel is an object without pointers, which nobody looks into."""
    for _, sudog in craft.waiting():
        craft.put(sudog, "sudog.next", sudog)


@row("select", 2000, "broken_lists")
def cases_of_itself(craft):
    """The cases of a select that lead to the first."""
    for _, sudog in craft.waiting():
        craft.put(sudog, "sudog.waitlink", sudog)


@row("mutex", 2000, "broken_lists")
def defers_of_all(craft):
    """One long list of deferred calls, into which all goroutines lead."""
    size = craft.points.layout["defer"][0]
    records = range(craft.spare, craft.spare + craft.spare_bytes - size, size)
    for record in records:
        craft.core.clear(record, size)
        craft.put(record, "defer.link", record + size)
        craft.put(record, "defer.fn", record)
    craft.put(records[-1], "defer.link", 0)
    for g in craft.points.gs:
        craft.put(g, "g.defer", craft.spare)


@row("mutex", 2000, "goroutines_skipped")
def stack_of_all(craft):
    """One large stack that all goroutines claim."""
    craft.fill(0)
    for g, _ in craft.waiting():
        craft.put(g, "g.stack_lo", craft.spare)
        craft.put(g, "g.stack_hi", craft.spare + craft.spare_bytes)
        craft.put(g, "g.sched_sp", craft.spare)


@row("mutex", 100, "broken_lists")
def threads_in_a_loop(craft):
    for m in craft.points.ms:
        craft.put(m, "m.alllink", m)


@row("mutex", 100, "broken_lists")
def goroutines_again_and_again(craft):
    """Half a million goroutines in allgs that are one."""
    craft.fill(craft.points.gs[-1])
    craft.put_slice(craft.points.variable("allgs"))


HUNG_ROWS = dict(ROWS)
# Only the changed core has leaks. To find these takes a step for each object,
# and how many there are differs from run to run.
LEAKS = {"panics_of_all"}
SEEN = {"panics_of_all": "panic\tpanicking\t\t1024\t"}


def hung_row(what, count):
    """For the questions on goroutines alone, which count no gap."""

    def add(function):
        HUNG_ROWS[function.__name__] = (what, count, None, function)
        return function

    return add


@hung_row("mutex", 2000)
def panics_of_all(craft):
    """One large stack, with a long list of panics on it: their values are slices
    of the same stack."""
    for m in craft.points.ms:
        craft.put(m, "m.dying", 0, 4)  # Nothing has ended the program.
    g, _ = next(craft.waiting())
    size = craft.points.layout["panic"][0]
    craft.fill(craft.spare)
    records = range(craft.spare, craft.spare + craft.spare_bytes - size, size)
    for record, after in zip(records, records[1:]):
        craft.put(record, "panic.link", after)
        for flag in ("panic.recovered", "panic.goexit"):
            craft.put(record, flag, 0, 1)
    craft.put(g, "g.stack_lo", craft.spare)
    craft.put(g, "g.stack_hi", craft.spare + craft.spare_bytes)
    craft.put(g, "g.sched_sp", craft.spare)
    craft.put(g, "g.panic", craft.spare)


@hung_row("mutex", 2000)
def locks_everywhere(craft):
    """A stack on which each word leads to the lock that all wait for."""
    for g, _ in craft.waiting():
        low = craft.get(g, "g.sched_sp") + 512
        for at in range(low, craft.get(g, "g.stack_hi") - 256, 8):
            craft.core.put(at, craft.points.names["main.mutex"])


@hung_row("select", 2000)
def one_channel(craft):
    """All cases of all selects are of the first one's channel, whose queue has
    all sudogs twice over."""
    sudogs = [sudog for _, sudog in craft.waiting()]
    channel = craft.get(sudogs[0], "sudog.chan")
    names = [n for n in ("chan", "chan_truth") if
             f"sudog.{n}" in craft.points.layout]  # fmt: skip
    for one, two in zip(sudogs, sudogs[1:]):
        craft.put(one, "sudog.next", two)
        for name in names:
            craft.put(one, f"sudog.{name}", channel)
    for name in ("hchan.recvq_first", "hchan.sendq_first"):
        craft.put(channel, name, sudogs[0])


@hung_row("mutex", 2000)
def tree_of_all(craft):
    """Every slot of the table of semaphores leads to one tree, whose nodes lead
    to each other."""
    slots = mutate_waits.Points(
        SCANNER, craft.target.exe, craft.target.core
    ).slots
    sudogs = [sudog for _, sudog in craft.waiting()]
    for slot in slots:
        craft.core.put(slot, sudogs[0])
    for i, sudog in enumerate(sudogs):
        craft.put(sudog, "sudog.ticket", 1, 4)
        for name, step in ("prev", 1), ("next", 2), ("waitlink", 3):
            after = sudogs[(i + step) % len(sudogs)]
            craft.put(sudog, f"sudog.{name}", after)


def crafted(farm, rows, name, path):
    """The target, and a copy of its core that is changed."""
    what, count, _, change = rows[name]
    target = farm.target("hung", NEWEST, args=[what, str(count)])
    craft = Craft(target, path)
    change(craft)
    craft.core.close()
    return target, craft


@pytest.mark.parametrize("name", HUNG_ROWS)
def test_answers(farm, tmp_path, name):
    """All that is asked of goroutines takes about the steps of the whole core,
    and ends when poll says so."""
    target, craft = crafted(farm, HUNG_ROWS, name, tmp_path / "core")
    done, whole_polls = run(target.exe, target.core, "--hung")
    assert done.returncode == 0, done.stderr
    done, polls = run(target.exe, craft.path, "--hung")
    assert done.returncode == 0, done.stderr
    assert SEEN.get(name, "") in done.stdout
    most = 3 * whole_polls + SPARE_POLLS
    if name in LEAKS:
        most += craft.path.stat().st_size // 16 // POLL_STEPS
    assert polls < most, (polls, whole_polls)
    for last in {1, polls // 3, polls * 2 // 3, polls * 9 // 10}:
        done, seen = run(target.exe, craft.path, "--hung", "--last-poll", last)
        assert done.returncode == 1, (last, polls)
        assert "poll has ended it" in done.stderr
        assert seen == last


@pytest.mark.parametrize("name", ["main.", "sync.(*Mutex).Lock"])
def test_calls_everywhere(farm, tmp_path, name):
    """Functions that consist of calls alone: of each other, or of Lock."""
    process = farm.process("deadlocks", NEWEST, KINDS["owners"])
    target = with_code(process)
    path = tmp_path / "core"
    points = mutate_waits.Points(SCANNER, target.exe, target.core)
    called = sorted(a for n, a in points.names.items() if n.startswith(name))
    mutate.copy_sparse(target.core, path)
    core = mutate.Core(path)
    count = 0
    for start, end in points.functions:
        for at in range(start, end - 4, 5):
            text = mutate_waits.call(at, called[count % len(called)])
            mutate_waits.put_bytes(core, at, end, text)
            count += 1
    core.close()
    assert count > 5_000
    done, whole_polls = run(target.exe, target.core, "--hung")
    assert done.returncode == 0, done.stderr
    whole = done.stdout
    done, polls = run(target.exe, path, "--hung")
    assert done.returncode == 0, done.stderr
    assert done.stdout != whole, "the code of the core is not looked at"
    assert polls < 3 * whole_polls + SPARE_POLLS, (polls, whole_polls)


@pytest.mark.parametrize("name", ROWS)
def test_crafted(farm, tmp_path, name):
    gap = ROWS[name][2]
    target, craft = crafted(farm, ROWS, name, tmp_path / "core")
    whole_polls, whole = scan(target.exe, target.core)
    polls, found = scan(target.exe, craft.path)
    assert polls < 3 * whole_polls + SPARE_POLLS, (polls, whole_polls)
    assert found["gaps"][gap] > whole["gaps"][gap]
    most = 2 * whole["peak_private_bytes"] + (24 << 20)
    assert found["peak_private_bytes"] < most
    for last in {1, polls // 3, polls * 2 // 3, polls - 1}:
        done, seen = run(target.exe, craft.path, "--last-poll", last)
        assert done.returncode == 1, (last, polls)
        assert "poll has ended it" in done.stderr
        assert seen == last

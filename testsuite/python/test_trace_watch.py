# SPDX-License-Identifier: Apache-2.0
"""The intervals of goref trace, by a clock that is always late."""

import os
from types import SimpleNamespace

import pytest
import rows
from goref.trace import watch
from goref.trace.gathered import Gathered
from goref.trace.helper import Helper, Message


class Progress:
    def __call__(self):
        """Draws nothing."""


class Late:
    """A process that is watched: each look at the clock takes 0.07 s."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(watch.time, "monotonic", self.monotonic)
        cost = SimpleNamespace(events=1, lost={}, bpf_ns=10**7, off_ms=0)
        self.gathered = SimpleNamespace(
            gone="",
            all_events=0,
            take=None,
            tick=lambda: rows.make("GrowthTick"),
            take_cost=lambda: cost,
            forget_cost=lambda: None,
        )
        self.helper = SimpleNamespace(
            read=lambda left: [],
            flush=lambda word, take, poll: None,
        )

    def monotonic(self):
        self.now += 0.07
        return self.now

    def intervals(self, count):
        it = watch.Watch(
            0,
            self.helper,
            self.gathered,
            Progress(),
            SimpleNamespace(has_come=lambda: False),
            from_empty=False,
        )
        it._doing = lambda seconds: ""
        return list(it.intervals(lambda number: number * 1.0, count * 1.0))


def test_each_begins_where_the_one_before_ended(monkeypatch):
    found = Late(monkeypatch).intervals(3)
    ends = [it.end_s for it in found]
    assert [it.begin_s for it in found] == [0.0, *ends[:-1]]
    for number, end in enumerate(ends, 1):
        assert number < end < number + 0.5
    for it in found:
        assert it.overhead == 1 / (it.end_s - it.begin_s)


class Costly:
    """A helper whose probes cost 1 s, were off for 2 s and have lost an event
    before each tick."""

    def flush(self, word, take, poll):
        for name, rest in (("cost", "10 1000000000 0"), ("off", "2000"),
                           ("lost", "ring_full 1")):  # fmt: skip
            take(Message(name, rest))

    def read(self, left):
        return []


class Read(Gathered):
    def tick(self):
        return rows.make("GrowthTick")


@pytest.mark.parametrize(
    "from_empty, forgets, events, off_s",
    # The first tick of a command has its events.
    [(False, True, 20, 2.0), (True, False, 30, 4.0), (False, False, 20, 2.0)],
)
def test_time_before_the_first_interval(from_empty, forgets, events, off_s):
    """The trace does not include its cost. The trace includes its losses only
    if they can concern the growth."""
    mine = Read()
    it = watch.Watch(os.getpid(), Costly(), mine, Progress(), None,
                     from_empty=from_empty, forgets=forgets)  # fmt: skip
    (found,) = it.intervals(lambda number: 0.0, 0.0)
    assert found.off_s == mine.all_off_ms / 1e3 == 2.0
    assert mine.all_bpf_ns == 10**9
    assert found.events == mine.all_events == events
    assert found.lost == mine.all_lost == {"ring_full": events // 10}
    assert mine.early_off_ms / 1e3 == off_s
    it.finish()
    assert (mine.all_off_ms, mine.all_bpf_ns) == (2000, 10**9)


class Hung:
    """A helper that does not answer from a tick on, until nobody waits."""

    def __init__(self, word):
        self.word = word
        self.flushed = []

    def flush(self, word, take, poll):
        self.flushed.append(word)
        if word != self.word:
            return
        assert not poll(0.0)  # a moment is no reason
        for waited_s in range(1, 60):
            if poll(waited_s):
                break
        raise watch.Silent("no answer")

    def read(self, left):
        return []


class Interrupts:
    """Ctrl-C has come so often."""

    def __init__(self, monkeypatch, left):
        self.left = left
        monkeypatch.setattr(watch.signal, "sigtimedwait", self.take)

    def take(self, signals, seconds):
        self.left -= 1

    def has_come(self):
        return self.left > 0

    def check(self):
        if self.left:
            raise KeyboardInterrupt


def hung(word, owned):
    mine, helper = Read(), Hung(word)
    it = watch.Watch(os.getpid(), helper, mine, Progress(), owned,
                     from_empty=False, forgets=True)  # fmt: skip
    return it, helper


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_helper_that_hangs(monkeypatch, count):
    """After a minute, or at the second Ctrl-C, the answer has what there is."""
    owned = Interrupts(monkeypatch, count)
    it, helper = hung("tick 1", owned)
    (found,) = it.intervals(lambda number: 0.0, 10.0)
    assert found.overhead is None
    it.finish()
    assert it.ended == watch.SILENT
    assert owned.left == max(count - 2, 0)
    assert helper.flushed[-1] == "tick 1"


def test_a_helper_that_hangs_before_the_first_interval(monkeypatch):
    """There is nothing to print."""
    for owned, problem in (
        (Interrupts(monkeypatch, 0), watch.Silent),
        (Interrupts(monkeypatch, 1), KeyboardInterrupt),
    ):
        it, _ = hung("tick 0", owned)
        with pytest.raises(problem):
            list(it.intervals(lambda number: 0.0, 10.0))


def test_messages_behind_a_flush(monkeypatch):
    """Messages that come with the answer are not lost: the probes go on."""
    helper = object.__new__(Helper)
    taken = []
    answers = [Message("cost", "1 2 3"), Message("tick", "7"),
               Message("samples", "1", bytes(56)),
               Message("tick", "8")]  # fmt: skip
    monkeypatch.setattr(helper, "_say", lambda lines: None)
    with monkeypatch.context() as patched:
        patched.setattr(helper, "read", lambda seconds: answers)
        helper.flush("tick 7", taken.append, lambda waited_s: False)
    assert taken == answers[:1]
    helper.flush("tick 8", taken.append, lambda waited_s: False)
    assert taken == [answers[0], answers[2]]
